"""On the robustness of self-attentive models (Hsieh et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.records.attention import AttentionLayer, AttentionModel, AttentionRecord
from malaprop.records.oneword import OneWordRecord
from malaprop.records.summary import Rate
from malaprop.records.translation import TranslationRecord, TranslationRun
from malaprop.reproduce.claim import Claim, Paper, Reading, Step
from malaprop.reproduce.papers.reading import need
from malaprop.reproduce.weigh import above, points, short, sign, worst

_SPELLED = ("random", "list", "asmin-gr", "asmax-gr", "gs-gr", "gs-ec")


def _recurrent(name: str) -> bool:
    return "LSTM" in name


def _success(record: OneWordRecord, model: str, recipe: str) -> Rate:
    cell = record.cell(model, recipe)
    if cell is None or cell.reason:
        raise RecordError(f"the study has no {recipe} on {model}")
    return cell.success


def _percent(record: OneWordRecord, model: str, recipe: str) -> str:
    """Texts broken, of random words the trials that work, which is what the paper counts."""
    broken, cell = _success(record, model, recipe), record.cell(model, recipe)
    if cell is not None and cell.share is not None:
        return f"{100 * cell.share.value:.2g} of the trials"
    return f"{100 * broken.value:.0f}"


def _one_word(folder: str) -> Callable[[Path], Reading]:
    """The LSTM falls more often than self-attention, and the weakest word is worth more than the most attended one."""

    def read(root: Path) -> Reading:
        record = need(OneWordRecord.read, root / folder)
        names = [model.name for model in record.models]
        told = []
        for name in names:
            rates = ", ".join(f"{recipe} {_percent(record, name, recipe)}" for recipe in _SPELLED)
            told.append(f"{name}: {rates}")
        first = next((name for name in names if _recurrent(name)), None)
        others = [name for name in names if not _recurrent(name)]
        if first is None or not others:
            raise RecordError("the study wants an LSTM and a model of self-attention")
        verdicts = [above(_success(record, first, "gs-gr"), _success(record, name, "gs-gr")) for name in others]
        verdicts += [above(_success(record, n, "gs-gr"), _success(record, n, "asmax-gr")) for n in names]
        named = ", ".join(f"{name} {short(_success(record, name, 'gs-gr'))}" for name in names)
        return Reading(ours=f"{'; '.join(told)} (% of {record.texts}); gs-gr: {named}", verdict=worst(verdicts))

    return read


def _nearer(root: Path) -> Reading:
    record = need(OneWordRecord.read, root / "oneword")
    found = [a for a in record.against if (a.first, a.second, a.measure) == ("gs-gr", "gs-ec", "distance")]
    if not found:
        raise RecordError("the study has no distances of gs-gr and gs-ec")
    told = [f"{a.model}: {a.gap.value:+.3g} ({a.gap.low:+.3g} to {a.gap.high:+.3g}) of {a.before:.3g}" for a in found]
    verdicts = [sign(-a.gap.value, -a.gap.high, -a.gap.low) for a in found]
    counts = [abs(_success(record, a.model, "gs-gr").hits - _success(record, a.model, "gs-ec").hits) for a in found]
    if max(counts) > 2:  # of broken texts
        verdicts.append("does not show")
    ours = f"nearest less first in the victim's own vector, {'; '.join(told)}; broken texts differ by {max(counts)}"
    return Reading(ours=ours, verdict=worst(verdicts))


def _translated(root: Path, kind: str) -> tuple[TranslationRun, TranslationRun]:
    """Of the LSTM and of the Transformer."""
    out = []
    for name in ("lstm", "transformer"):
        record = need(TranslationRecord.read, root / "translation" / kind / name)
        out.append(record.runs[0])
    return out[0], out[1]


def _keyword(root: Path) -> Reading:
    lstm, transformer = _translated(root, "keyword")
    ours = f"LSTM {short(lstm.success)}, Transformer {short(transformer.success)}"
    return Reading(ours=ours, verdict=above(lstm.success, transformer.success))


def _typos(root: Path) -> Reading:
    told, falls = [], []
    for name, found in zip(("LSTM", "Transformer"), _translated(root, "typos"), strict=True):
        if found.before is None or found.after is None or found.drop is None:
            raise RecordError("the record has no BLEU before and after")
        told.append(f"{name} {found.before} to {found.after}")
        falls.append(found.drop)
    verdicts = [sign(fall.value, fall.low, fall.high) for fall in falls]
    order = points(falls[0].value > falls[1].value)
    return Reading(ours=f"BLEU, {', '.join(told)}", verdict=worst((*verdicts, order)))


def _sides(root: Path) -> tuple[list[AttentionModel], list[AttentionModel]]:
    """Models under attack: recurrent ones, and those of self-attention."""
    record = need(AttentionRecord.read, root / "attention")
    attacked = [model for model in record.models if model.edits == record.recipe]
    sides = [m for m in attacked if _recurrent(m.name)], [m for m in attacked if not _recurrent(m.name)]
    if not all(sides):
        raise RecordError("the study wants an LSTM and a model of self-attention")
    return sides


def _first(model: AttentionModel) -> AttentionLayer:
    """The first layer; number 0 is what it reads."""
    for layer in model.layers:
        if layer.number == 1:
            return layer
    raise RecordError(f"the study has no first layer of {model.name}")


def _sparse(root: Path) -> Reading:
    lstms, others = _sides(root)
    told = [
        f"{m.name}: R_e {short(m.layered or m.layers[-1].relative)}, "
        f"on other words after layer 1 {short(_first(m).elsewhere)}"
        for m in (*lstms, *others)
    ]
    verdicts = [above(_first(lstms[0]).elsewhere, _first(m).elsewhere) for m in others]
    verdicts += [above(lstms[0].layers[-1].relative, m.layered or m.layers[-1].relative) for m in others]
    return Reading(ours="; ".join(told), verdict=worst(verdicts))


def _theorem(root: Path) -> Reading:
    record = need(AttentionRecord.read, root / "attention")
    if not record.bounds:
        raise RecordError("the study has no simulation of Theorem 1")
    over = [bound for bound in record.bounds if bound.mean > bound.bound]
    tails = sum(tail.share > tail.markov for bound in record.bounds for tail in bound.tails)
    worst_case = max(record.bounds, key=lambda bound: bound.mean / bound.bound)
    ours = (
        f"{len(record.bounds)} settings: the mean is above the bound in {len(over)}, a tail above Markov's in {tails}; "
        f"nearest {worst_case.mean:.3g} of {worst_case.bound:.3g} ({worst_case.where})"
    )
    return Reading(ours=ours, verdict="holds" if not over and not tails else "fails")


def _stays(root: Path) -> Reading:
    lstms, others = _sides(root)
    shifts = [(m.name, _first(m).shift) for m in (*lstms, *others)]
    told = "; ".join(f"{name}: {short(shift)}" for name, shift in shifts)
    first = _first(lstms[0]).shift
    verdicts = [above(first, shift) for m in others if first and (shift := _first(m).shift)]
    return Reading(ours=f"share of attention that moves, first layer: {told}", verdict=worst(verdicts))


_SMALL_WORDS = "--n 40 --vocabulary 300 --trials 100 --jobs {jobs} --out {here}"
_FULL_WORDS = "--n 100 --vocabulary 10000 --trials 5000 --jobs {jobs} --out {here}"
_PAIR = "two translators of Multi30k"
_TRANSLATORS = ("lstm", "transformer")
_TAUGHT = tuple(f"train nmt-{kind} --data multi30k --out {{here}}/{kind}" for kind in _TRANSLATORS)
_ATTACKED = {
    name: tuple(
        f"translate {command} --victim {{root}}/translation/nmt/{kind} --data multi30k --out {{here}}/{kind} --resume"
        for kind in _TRANSLATORS
    )
    for name, command in (("keyword", "attack --keyword Hund --n 200"), ("typos", "typos --n 1000"))
}


ATTENTIVE = Paper(
    letter="S",
    title="On the robustness of self-attentive models",
    steps=(
        Step(
            name="oneword",
            commands={
                "small": (
                    f"study oneword --models BiLSTM-Attention,Transformer-3 --data mr --set epochs=3 {_SMALL_WORDS}",
                ),
                "full": (f"study oneword --models BiLSTM-Attention,BERT,Transformer-3 --data mr-full {_FULL_WORDS}",),
            },
            about={
                "small": "an LSTM and a Transformer of three epochs, packaged reviews, 300 words",
                "full": "an LSTM, a fine-tuned MiniLM and a Transformer on MR, 10,000 words",
            },
        ),
        Step(
            name="entailment",
            commands={
                "small": (
                    "study oneword --models Pair-BiLSTM-Attention,Pair-Transformer --data entailment-synthetic "
                    f"--set epochs=3 {_SMALL_WORDS}",
                ),
                "full": (
                    f"study oneword --models Pair-BiLSTM-Attention,BERT,Pair-Transformer --data mnli {_FULL_WORDS}",
                ),
            },
            about={
                "small": "an LSTM and a Transformer on made pairs, 300 words",
                "full": "an LSTM, a fine-tuned MiniLM and a Transformer on a part of MNLI, 10,000 words",
            },
        ),
        Step(
            name="attention",
            commands={
                "small": (
                    "study attention --models BiLSTM-Attention,Transformer-3 --data mr --n 60 --set vocabulary=200 "
                    "--out {here}",
                ),
                "full": (
                    "study attention --models BiLSTM-Attention,Transformer-3,BERT --data mr-full --n 150 "
                    "--set vocabulary=10000 --out {here}",
                ),
            },
            about={
                "small": "an LSTM and a Transformer, packaged reviews, 200 words",
                "full": "an LSTM, a Transformer and a fine-tuned MiniLM on MR, 10,000 words",
            },
        ),
        Step(name="translation/nmt", commands={"full": _TAUGHT}, about={"full": _PAIR}),
        Step(
            name="translation/keyword",
            commands={"full": _ATTACKED["keyword"]},
            about={"full": _PAIR},
            needs=("translation/nmt",),
        ),
        Step(
            name="translation/typos",
            commands={"full": _ATTACKED["typos"]},
            about={"full": _PAIR},
            needs=("translation/nmt",),
        ),
    ),
    claims=(
        Claim(
            id="S1",
            claim="one changed word: an LSTM falls more often than self-attention; the weakest word is worth most",
            theirs="Yelp, LSTM / BERT / not pre-trained: ASMAX-GR 62/17/35, GS-GR 79/52/53, GS-EC 78/50/53 (%)",
            step="oneword",
            read=_one_word("oneword"),
        ),
        Claim(
            id="S2",
            claim="the same of entailment",
            theirs="MultiNLI, LSTM / BERT: ASMAX-GR 78/54, GS-GR 95/75, GS-EC 95/75 (%)",
            step="entailment",
            read=_one_word("entailment"),
        ),
        Claim(
            id="S3",
            claim="GS-EC is as successful as GS-GR, and closer",
            theirs="readability .55 against 1.0; people right on 64.6% and 68.8%",
            step="oneword",
            read=_nearer,
        ),
        Claim(
            id="S4",
            claim="three words force a keyword into a translation, of an LSTM more often than of a Transformer",
            theirs="27.5% against 10.5%",
            step="translation/keyword",
            read=_keyword,
        ),
        Claim(
            id="S5",
            claim="one typo a sentence lowers BLEU, of an LSTM more",
            theirs="LSTM 25.10 to 13.44, Transformer 34.90 to 26.02",
            step="translation/typos",
            read=_typos,
        ),
        Claim(
            id="S6",
            claim="one changed word moves few states after the first layer of self-attention, all of an LSTM",
            theirs="R_e .83 LSTM, .56 BERT",
            step="attention",
            read=_sparse,
        ),
        Claim(
            id="S7",
            claim="Theorem 1: attention scores move by at most C delta / sqrt(d) on average, with Markov's tail",
            theirs="proved",
            step="attention",
            read=_theorem,
        ),
        Claim(
            id="S8",
            claim="under attack the attention of an LSTM shifts, that of BERT stays",
            theirs="Figures 1 to 3",
            step="attention",
            read=_stays,
        ),
    ),
)
