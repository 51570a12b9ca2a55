"""Finds out how a text model breaks when words and characters change, and makes it harder to break.

import malaprop as mp

victim = mp.victim(predict)  # list of texts -> scores, shape (n, labels)
outcomes = mp.attack("pwws", victim, [("a moving, funny film", 1)], seed=0)
"""

# Written by tools/stubs.py from the settings of the studies.

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Unpack, overload

from malaprop.attacks.attack import Attack as Attack
from malaprop.core.errors import MalapropError as MalapropError
from malaprop.core.example import Example as Example
from malaprop.data.base import load as load
from malaprop.features.audit.attack import attack as attack
from malaprop.features.audit.check import check as check
from malaprop.features.audit.study import audit as audit
from malaprop.features.defending.certify_study import certify as certify
from malaprop.features.defending.detect_study import detect as detect
from malaprop.features.explain.importance import explain as explain
from malaprop.features.hardening.study import harden as harden
from malaprop.features.profile.study import profile as profile
from malaprop.features.training.study import train as train
from malaprop.frame.records.outcome import Outcome as Outcome
from malaprop.frame.records.summary import Summary as Summary
from malaprop.frame.runs.make_attack import recipe as recipe
from malaprop.frame.runs.victims import defend as defend
from malaprop.frame.runs.victims import victim as victim
from malaprop.frame.study.python_api import report as report
from malaprop.frame.study.python_api import run as run
from malaprop.frame.study.study import Result as Result
from malaprop.papers.universal.study import transfer as transfer

__version__: str
__all__: list[str]

class _Settings(TypedDict, total=False):
    """The settings that every study takes.

    Settings:
        data: mr, imdb, entailment-synthetic, a CSV/TSV/JSONL/Parquet file with text,label (or
            premise,hypothesis,label), or hub:NAME.
        split: train, validation, test or all. Of a file auto is the test part where a victim was trained on
            that file, and all of it where none was.
        n: How many examples, drawn by the seed; all (or 0) for all.
        seed: The same seed gives the same outcomes.
        text_column: Name of the text column, if it is not 'text'; two with a comma for pairs.
        label_column: Name of the label column, if it is not 'label'.
        fields: The fields of a text that may change: premise, hypothesis or both; of a pair the hypothesis
            if not given. prompt is the instruction of a language model, changed once for all texts.
        labels: The victim's labels in its order, as the data calls them, with commas; matched by name if
            not given.
        width: How many examples are attacked side by side; changes only the speed.
        device: cpu, cuda or auto.
        precision: fp32, bf16, int8 (CPUs) or auto, for transformers: fewer bits are faster where the device
            is made for them, and what they find is confirmed in fp32; other models compute in fp32.
        jobs: How many processes work side by side; one if not given, on Ray one for each GPU or core.
        engine: local: this machine; ray: a Ray cluster, or one started on this machine.
        address: With --engine ray: HOST:PORT of a cluster's head, or auto for the one running here.
        out: Output folder, made if it is missing. The same folder with the same settings resumes an
            interrupted run.
        resume: Has no effect: every command resumes what is in its --out.
        json: Make the last line of standard output one JSON object.
        quiet: Print no progress and no table.
        track: Send figures, settings and the report to mlflow, wandb or tensorboard, too.
    """

    data: Any
    split: str
    n: int | Literal["all"]
    seed: int
    text_column: str | None
    label_column: str | None
    fields: str | None
    labels: Sequence[str] | str
    width: int
    device: str
    precision: str
    jobs: int | None
    engine: str
    address: str | None
    out: str | PathLike[str] | None
    resume: bool
    json: bool
    quiet: bool
    track: Sequence[str] | str

class _Limited(_Settings, total=False):
    """The settings of a study whose spending has limits.

    Settings:
        max_queries: The most queries in the whole run, over all victims and attacks.
        max_tokens: The most tokens in the whole run, of requests and answers together.
        max_cost: The most money for the whole run, in the currency of the prices.
        max_minutes: The longest time for the whole run, in minutes.
        price_in: Price of a million tokens of requests.
        price_out: Price of a million tokens of answers.
        dry_run: Attack a few texts, print what the whole run would ask and cost, and write nothing.
    """

    max_queries: int | None
    max_tokens: int | None
    max_cost: float | None
    max_minutes: float | None
    price_in: float
    price_out: float
    dry_run: bool

@overload
def study(
    name: Literal["hotflip"],
    /,
    *,
    model: str = ...,
    methods: Sequence[str] | str = ...,
    confidences: Sequence[float] | str = ...,
    beam: int = ...,
    closes: str = ...,
    vary: Sequence[str] | str = ...,
    exact: int = ...,
    set: Mapping[str, Any] = ...,
    **settings: Unpack[_Limited],
) -> Result:
    """Attack a model that reads characters, harden it in several ways, and write the HotFlip paper's figures.

    The same --out resumes an interrupted run; models and runs that are there are left alone.

    Settings, beside those of `_Limited`:
        model: A model of the zoo that reads characters: see malaprop list models.
        methods: How models are hardened: hotflip, miyato, miyato-virtual, blackbox; hotflip:0.1 flips that
            share of the characters.
        confidences: Confidences in the wrong label that attacks must reach; 0: any confidence.
        beam: Width of the beam search.
        closes: What an edit closes to further ones: word, or character, as the paper's bound can be read;
            with character, hotflip trains with a fifth of the characters flipped, at any place.
        vary: Variants of the attacks to run on the plain model: beam-flip-delete, beam-flip-insert,
            beam-neighbours (an insertion closes both neighbours), beam-two-a-word, beam-flips-two-a-word,
            beam-one-a-word, beam-anchored, beam-wide.
        exact: How many texts compare estimated with exact losses; slow.
        set: A setting of the training or the network, as name=value; may be repeated.
    """

@overload
def study(
    name: Literal["oneword"],
    /,
    *,
    victim: Sequence[Any] | str = ...,
    attack: Sequence[str] | str = ...,
    vocabulary: int = ...,
    words: int = ...,
    trials: int = ...,
    measure: Sequence[str] | str = ...,
    gather: bool = ...,
    set: Mapping[str, Any] = ...,
    **settings: Unpack[_Limited],
) -> Result:
    """Attack models by changing one word, and show the paper's figures beside ours.

    Names of the zoo are trained; the first test texts that every model answers correctly are attacked with each
    recipe. The same --out resumes an interrupted run; models and runs that are there are left alone.

    Settings, beside those of `_Limited`:
        victim: Folders, or names of the zoo, which are trained. Repeat it, or separate several by commas.
        attack: Recipes that change one word. Repeat it, or separate several by commas.
        vocabulary: How many words of the vocabulary may replace a word.
        words: How many words may change.
        trials: Random trials for each text.
        measure: Measures of successes, with commas: similarity, perplexity, grammar.
        gather: Train and attack nothing; compute the figures from what is in --out.
        set: A setting of the training or the network, or layer, direction, probe and near of the attacks,
            as name=value; may be repeated.
    """

@overload
def study(
    name: Literal["attention"],
    /,
    *,
    victim: Sequence[str] | str = ...,
    attack: str = ...,
    set: Mapping[str, Any] = ...,
    draws: int = ...,
    **settings: Unpack[_Limited],
) -> Result:
    """Look into victims: what one changed word does to attention and states, and Theorem 1 against measurements.

    Texts that all victims answer rightly are attacked, and changed at random, and looked into. The same --out
    resumes an interrupted run.

    Settings, beside those of `_Limited`:
        victim: Folders, or names of the zoo, which are trained. Repeat it, or separate several by commas.
        attack: The recipe whose adversarial texts are analysed.
        set: A setting of the recipe, as name=value; may be repeated.
        draws: Draws of each simulation of Theorem 1; 0: none.
    """

@overload
def study(
    name: Literal["defences"],
    /,
    *,
    victim: Sequence[str] | str = ...,
    defence: Sequence[str] | str,
    attack: Sequence[Any] | str = ...,
    hardened: Mapping[str, Any] = ...,
    premade: str | PathLike[str] | None = ...,
    draws: int = ...,
    fresh: int = ...,
    surrogate: str | None = ...,
    samples: int = ...,
    alpha: float = ...,
    pictures: int = ...,
    layout: str = ...,
    set: Mapping[str, Any] = ...,
    budget: int | None = ...,
    goal: Any = ...,
    measure: Sequence[str] | str | None = ...,
    keep: Sequence[str] | str | None = ...,
    validity: str = ...,
    judge: str = ...,
    judge_reference: Sequence[str] | str = ...,
    quality: str | None = ...,
    language: str = ...,
    cache: str | PathLike[str] | None = ...,
    **settings: Unpack[_Settings],
) -> Result:
    """Test defences of one victim under attacks: plain, knowing the defence, and transferred from no defence.

    Hardened models (every method of harden), votes and purification stand side by side, with certificates where there
    are some and what an answer costs. What is left under the worst of the attacks is what a defence is worth.

    The same --out resumes an interrupted run, and takes more defences.

    Settings, beside those of `_Settings`:
        victim: A folder written by train, a zoo name (LSTM-W-GloVe-1, BERT ...), module:attribute (a
            function: list of texts to scores), an http(s) address, a Hugging Face folder or hub name, an
            ONNX file or folder, an sklearn pipeline (.skops), a language model with a prompt
            (causal:FOLDER, causal:smollm2, openai:MODEL@http://host/v1), ensemble:A+B, or any of these
            behind a defence: five(BERT).
        defence: What is tested: any method of harden (fact, a2t ...), any defence around a victim (fuse,
            five, safer, ranmask, purify:spell ...), twin, none, one around another as five(fact), with
            settings as five:noise=2; see malaprop list defences. Repeat it, or separate several by commas.
        attack: pwws, textfooler, genetic, deepwordbug ...: see malaprop list recipes. Repeat it, or
            separate several by commas. Certificates and pictures are of the first.
        hardened: A model that is there already, as fact=FOLDER; may be repeated.
        premade: Pre-generated adversarial examples, a run folder or a file with text,label; if not given,
            those of this test.
        draws: Random draws that the attack that knows a defence averages over; 0 leaves that attack out.
        fresh: Such an attack succeeds if it fools most of this many fresh draws.
        surrogate: With stateful: the model of the attacker's own to search on; the undefended victim if not
            given.
        samples: Noisy copies for a certificate of safer, ranmask or randel; 0 for none.
        alpha: Significance level: the largest chance that a certificate is wrong.
        pictures: If a model was hardened: how many texts are shown with their neighbourhoods.
        layout: With --pictures: noisy vectors are laid out by pca or tsne.
        set: A setting of the training of models that are not there yet, as name=value; may be repeated.
        budget: Query budget: the most queries an attack may ask about one example.
        goal: untargeted, label-only (the victim's confidence is hidden), targeted:LABEL[,MARGIN],
            confident:0.9, or moved:0.5 where the victim gives a number.
        measure: Measures of every success, separated by commas: similarity, perplexity, grammar, agreement,
            distance.
        keep: What must stay as it is, separated by commas: words, phrases (New York), re:EXPRESSION, @FILE
            with one of these a line; may be repeated.
        validity: valid: guards keep the meaning of words, and only a text that the judge of meaning lets
            pass is a success; strict: likewise, both ways, fluent and of known words; paper: the recipe as
            published.
        judge: Another judge of meaning than the packaged one: a language model,
            openai:MODEL@http://host/v1, causal:FOLDER or causal:smollm2; limits such as --max-queries count
            its answers too.
        judge_reference: Other models of the task, as --victim takes them, separated by commas: where they
            see a text lose its label, the judge of meaning gives it a lower number.
        quality: paper: as the recipe has it; strict: replacements keep grammar and meaning better, and
            fewer attacks succeed.
        language: The language of the texts, such as de, or several, separated by commas; auto: as the texts
            seem to be, each of a mixed file by its own.
        cache: A file that keeps the victim's answers, one a victim version; if not given, one of malaprop's
            own for victims that are paid for (prices, openai:). none: no answers are kept.
    """

@overload
def study(
    name: Literal["leaderboard"],
    /,
    *,
    victim: Sequence[Any] | str = ...,
    attack: Sequence[str] | str = ...,
    validity: str = ...,
    budget: int | None = ...,
    **settings: Unpack[_Limited],
) -> Result:
    """Rank victims by their accuracy under all attacks: a text counts if no attack succeeded on it.

    The same --out resumes an interrupted run, and with more attacks.

    Settings, beside those of `_Limited`:
        victim: A folder written by train, a zoo name (LSTM-W-GloVe-1, BERT ...), module:attribute (a
            function: list of texts to scores), an http(s) address, a Hugging Face folder or hub name, an
            ONNX file or folder, an sklearn pipeline (.skops), a language model with a prompt
            (causal:FOLDER, causal:smollm2, openai:MODEL@http://host/v1), ensemble:A+B, or any of these
            behind a defence: five(BERT). Repeat it, or separate several by commas.
        attack: pwws, textfooler, genetic, deepwordbug ...: see malaprop list recipes. Repeat it, or
            separate several by commas.
        validity: valid: guards keep the meaning of words, and only a text that the judge of meaning lets
            pass is a success; strict: likewise, both ways, fluent and of known words; paper: the recipe as
            published.
        budget: Query budget: the most queries an attack may ask about one example.
    """

@overload
def study(name: str, /, **settings: Any) -> Result: ...
