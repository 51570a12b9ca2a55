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
        data: A dataset's name, a file, or hub:NAME. mr, imdb, entailment-synthetic, a CSV/TSV/JSONL/Parquet
            file with text,label (or premise,hypothesis,label), or hub:NAME.
        split: train, validation, test or all. Of a file auto is the test part where a victim was trained on
            that file, and all of it where none was.
        n: How many texts, drawn by the seed. all (or 0) takes all.
        seed: The same seed gives the same outcomes.
        text_column: The text column, if not text. Two names with a comma for pairs.
        label_column: The label column, if not label.
        fields: The fields of a text that may change: premise, hypothesis or both; of a pair the hypothesis
            if not given. prompt is the instruction of a language model, changed once for all texts.
        labels: The victim's labels in its order. By the names that the data has, with commas; matched by
            name if not given.
        width: How many examples are attacked side by side; changes only the speed.
        device: cpu, cuda or auto.
        precision: fp32, bf16, int8 (CPUs) or auto, for transformers: fewer bits are faster where the device
            is made for them, and what they find is confirmed in fp32; other models compute in fp32.
        jobs: How many processes work side by side. One if not given; on Ray one for each GPU or core.
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
        max_queries: The most queries of the whole run. Over all victims and attacks.
        max_tokens: The most tokens in the whole run, of requests and answers together.
        max_cost: The most money for the whole run. In the currency of the prices.
        max_minutes: The longest time for the whole run, in minutes.
        price_in: Price of a million tokens of requests.
        price_out: Price of a million tokens of answers.
        dry_run: Print what the run would ask and cost. Attacks a few texts to find out, and writes nothing.
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

    The same --out resumes an interrupted study: it trains and attacks only what is missing.

    Settings, beside those of `_Limited`:
        model: A zoo model that reads characters. See malaprop list models.
        methods: Training methods to compare, such as hotflip. Also miyato (adversarial training on
            embeddings), miyato-virtual, and blackbox (training on texts with 20% random character changes).
            hotflip:0.1 flips 10% of the characters of each training text.
        confidences: Least probabilities of the wrong label. One run for each value; 0: any wrong label is a
            success.
        beam: Width of the beam search.
        closes: What may not be edited again after an edit. word: the whole word. character: only the edited
            character, which is the other reading of the paper's bound; training with hotflip then flips 20%
            of the characters instead of 10%, also several in one word.
        vary: Further attacks on the plain model. beam-flip-delete and beam-flip-insert use these operations
            alone; beam-neighbours also locks the characters beside an insertion; beam-anchored adds each
            estimate to the text's own loss, not to the estimates before it; beam-wide has width 30. With
            --closes character also beam-one-a-word and beam-two-a-word, which allow that many edits of a
            word, and beam-flips-two-a-word, which does so with flips alone.
        exact: Texts to attack with exact losses as well; slow.
        set: A setting of training or network, name=value. Repeat it for several.
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
    recipe. The same --out resumes an interrupted run; finished models and runs are kept.

    Settings, beside those of `_Limited`:
        victim: Folders, or names of the zoo, which are trained. Repeat it, or separate several by commas.
        attack: Recipes that change one word. Repeat it, or separate several by commas.
        vocabulary: How many words may replace a word.
        words: How many words may change.
        trials: Random trials for each text.
        measure: Measures of successes, with commas: similarity, perplexity, grammar.
        gather: Compute the figures from what is in --out. Trains and attacks nothing.
        set: A setting of the training, as name=value. Or of the network, or layer, direction, probe and
            near of the attacks; may be repeated.
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

    The texts that all victims classify correctly are attacked, and also changed at random to compare. The same --out
    resumes an interrupted run.

    Settings, beside those of `_Limited`:
        victim: Folders, or names of the zoo, which are trained. Repeat it, or separate several by commas.
        attack: Whose adversarial texts are analysed. A recipe.
        set: A setting of the recipe, as name=value. May be repeated.
        draws: Draws of each simulation of Theorem 1. 0: none.
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
    are some and what an answer costs. Compare defences by worst-case accuracy: under the strongest of the attacks.

    The same --out resumes an interrupted run, and takes more defences.

    Settings, beside those of `_Settings`:
        victim: The model: a function, folder, name or address. module:attribute (a function: list of texts
            to scores), a folder written by train, a zoo name (LSTM-W-GloVe-1, BERT ...), an http(s)
            address, a Hugging Face folder or hub name, an ONNX file or folder, an sklearn pipeline
            (.skops), a language model with a prompt (causal:FOLDER, causal:smollm2,
            openai:MODEL@http://host/v1), ensemble:A+B, or any of these behind a defence: five(BERT).
        defence: The defences to test, such as fact or five. Any method of harden (fact, a2t ...), any
            defence around a victim (fuse, five, safer, ranmask, purify:spell ...), twin, none, one around
            another as five(fact), with settings as five:noise=2; see malaprop list defences. Repeat it, or
            separate several by commas.
        attack: Recipes such as pwws or textfooler. See malaprop list recipes. Repeat it, or separate
            several by commas. Certificates and pictures are of the first.
        hardened: A model that is already hardened, as fact=FOLDER. May be repeated.
        premade: Pre-generated adversarial examples. A run folder, or a file with text,label; default: those
            of this test.
        draws: Random draws of the adaptive attack. It averages over them; 0 leaves that attack out.
        fresh: Fresh draws that a success must mostly fool. Of the adaptive attack.
        surrogate: With stateful: the model to search on. The attacker's own; the undefended victim if not
            given.
        samples: Noisy copies for a certificate; 0 for none. Of safer, ranmask or randel.
        alpha: Significance level. The largest chance that a certificate is wrong.
        pictures: Texts that are shown with their neighbourhoods. If a model was hardened.
        layout: With --pictures: the layout, pca or tsne. Of noisy vectors.
        set: A setting of the training, as name=value. For models that are not there yet; may be repeated.
        budget: Query budget: the most queries for one text.
        goal: What counts as success, such as targeted:LABEL. untargeted, label-only (the victim's
            confidence is hidden), targeted:LABEL[,MARGIN], confident:0.9, or moved:0.5 where the victim
            gives a number.
        measure: Measures of every success, separated by commas: similarity, perplexity, grammar, agreement,
            distance.
        keep: What attacks must not change, separated by commas: words, phrases (New York), re:EXPRESSION,
            @FILE with one of these a line; may be repeated.
        validity: Keep the meaning: paper, valid, or strict. paper: the recipe as published. valid:
            constraints (guards) filter the replacements, and only a text that the judge of meaning accepts
            is a success. strict: as valid; the judge must accept the pair in both directions, and the text
            must be fluent and of known words.
        judge: A language model as the judge, or none. openai:MODEL@http://host/v1, causal:FOLDER or
            causal:smollm2, in place of the packaged judge; limits such as --max-queries count its answers
            too. With none, under --validity paper, nobody rates the successes: that takes most of the time
            of a fast attack.
        judge_reference: Models of the task that the judge asks. Separated by commas; if they predict
            another label for a text, the judge lowers its probability. They are given as for --victim.
        quality: paper: as published; strict: replacements keep grammar and meaning better, and fewer
            attacks succeed.
        language: The language of the texts, such as de. Or several, separated by commas. auto detects it;
            in a mixed file, for each text.
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
        victim: The model: a function, folder, name or address. module:attribute (a function: list of texts
            to scores), a folder written by train, a zoo name (LSTM-W-GloVe-1, BERT ...), an http(s)
            address, a Hugging Face folder or hub name, an ONNX file or folder, an sklearn pipeline
            (.skops), a language model with a prompt (causal:FOLDER, causal:smollm2,
            openai:MODEL@http://host/v1), ensemble:A+B, or any of these behind a defence: five(BERT). Repeat
            it, or separate several by commas.
        attack: Recipes such as pwws or textfooler. See malaprop list recipes. Repeat it, or separate
            several by commas.
        validity: Keep the meaning: paper, valid, or strict. paper: the recipe as published. valid:
            constraints (guards) filter the replacements, and only a text that the judge of meaning accepts
            is a success. strict: as valid; the judge must accept the pair in both directions, and the text
            must be fluent and of known words.
        budget: Query budget: the most queries for one text.
    """

@overload
def study(name: str, /, **settings: Any) -> Result: ...
