"""Find why claims on self-attention hold or fail: steps that vary one setting at a time, and their readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.features.explain.record import AttentionModel, AttentionRecord
from malaprop.features.translation.record import TranslationRecord
from malaprop.frame.records.intervals import differ, gap_text, short, tell_larger
from malaprop.papers.attentive.oneword_record import OneWordRecord
from malaprop.papers.claims.by_paper import commands, translators
from malaprop.papers.claims.claim import ClaimStep, Doing, order
from malaprop.papers.claims.kept_records import need

# --- the settings, fixed before the run

YELP, PAIRS = "oneword/yelp", "entailment"
FULL: dict[str, Any] = {"n": 100, "vocabulary": 5000, "trials": 1000, "jobs": "{jobs}", "out": "{here}"}
LENGTH = 256  # tokens that every model reads, words or pieces of them
FINE_TUNED = {"epochs": 3, "rate": 2e-5, "frozen": False, "limit": LENGTH}  # nothing of MiniLM is held
_SHORT = 64
# Of the one-word attacks: other vocabularies, less of each text, and the other field of a pair.
ONE_WORD = {
    YELP: {
        "oneword/yelp-500": "500 words",
        "oneword/yelp-20000": "20,000 words",
        "oneword/yelp-64": f"{_SHORT} tokens of each text",
    },
    PAIRS: {
        "entailment/words-50": "50 words",
        "entailment/words-500": "500 words",
        "entailment/premise": "500 words in the premise",
    },
}
# The same question at a size for a CPU, with so few words that not nearly all pairs break: an LSTM of four epochs and
# MiniLM of one, which is what fails at full size.
SMALLER: dict[str, tuple[str, dict[str, Any]]] = {
    "varied/pairs/words-20": ("20 words", {"vocabulary": 20}),
    "varied/pairs/words-50": ("50 words", {"vocabulary": 50}),
    "varied/pairs/premise": ("50 words in the premise", {"vocabulary": 50, "fields": "premise"}),
}
_TAUGHT, _PAIR_LSTM = "varied/pairs", "Pair-BiLSTM-Attention"
TYPOS = {"translation/typos-2": 2, "translation/typos-4": 4}  # a sentence
NEAREST = "varied/nearest"
_CHOICE = (100, 300)  # words among which GS-EC takes the nearest
DEPTH = "varied/depth"
_DEPTHS = (1, 3)  # layers, of both kinds
_KINDS = ("BiLSTM-Attention", "Transformer-3")


def _vary(name: str, about: str, needs: tuple[str, ...], *does: Doing) -> ClaimStep:
    return ClaimStep(name=name, does={"full": does}, about={"full": about}, needs=needs)


def _vary_reviews() -> tuple[ClaimStep, ...]:
    """The weakest word of the same models with other vocabularies, and of models that read less."""
    models = tuple(
        f"{{root}}/{YELP}/{one}" for one in ("models/BiLSTM-Attention", "start/BERT", "models/Transformer-3")
    )
    both: dict[str, Any] = {**FULL, "data": "yelp", "recipes": ("gs-gr",)}
    few, many, less = ONE_WORD[YELP].items()
    steps = [
        _vary(
            name, f"the models of the one-word attacks on Yelp, {said}", (YELP,),
            order("study oneword", models=models, **{**both, "vocabulary": words}),
        )
        for (name, said), words in ((few, 500), (many, 20_000))
    ]  # fmt: skip
    tuned = commands.train("BERT", data="yelp", settings={**FINE_TUNED, "limit": _SHORT}, out="{here}/start/BERT")
    names = ("BiLSTM-Attention", "{here}/start/BERT", "Transformer-3")
    study = order("study oneword", models=names, set={"limit": _SHORT}, **both)
    return (*steps, _vary(less[0], f"models of the same kinds on Yelp, {less[1]}", (), tuned, study))


def _vary_pairs() -> tuple[ClaimStep, ...]:
    """The weakest word of the same models of entailment with fewer words to put in, and in the premise."""
    models = tuple(
        f"{{root}}/{PAIRS}/{one}" for one in ("models/Pair-BiLSTM-Attention", "start/BERT", "models/Pair-Transformer")
    )
    both: dict[str, Any] = {**FULL, "data": "mnli", "recipes": ("gs-gr",)}
    given: tuple[dict[str, Any], ...] = (
        {"vocabulary": 50},
        {"vocabulary": 500},
        {"vocabulary": 500, "fields": "premise"},
    )
    return tuple(
        _vary(
            name, f"the models of the one-word attacks on MNLI, {said}", (PAIRS,),
            order("study oneword", models=models, **{**both, **one}),
        )
        for (name, said), one in zip(ONE_WORD[PAIRS].items(), given, strict=True)
    )  # fmt: skip


def _vary_smaller() -> tuple[ClaimStep, ...]:
    """The weakest word of small models of entailment, in few words and in the premise."""
    taught = (
        commands.train(_PAIR_LSTM, data="mnli", settings={"epochs": 4}, out=f"{{here}}/models/{_PAIR_LSTM}"),
        commands.train("BERT", data="mnli", settings={"epochs": 1}, out="{here}/models/BERT"),
    )
    about = "an LSTM of four epochs and MiniLM of one on a part of MNLI"
    models = tuple(f"{{root}}/{_TAUGHT}/models/{name}" for name in (_PAIR_LSTM, "BERT"))
    both: dict[str, Any] = {"data": "mnli", "n": 100, "recipes": ("gs-gr",), "jobs": "{jobs}", "out": "{here}"}
    return _vary(_TAUGHT, about, (), *taught), *(
        _vary(name, f"{about}, {said}", (_TAUGHT,), order("study oneword", models=models, **both, **one))
        for name, (said, one) in SMALLER.items()
    )


def _vary_typos(translate: Callable[[str, int], tuple[Doing, ...]]) -> tuple[ClaimStep, ...]:
    return tuple(
        ClaimStep(
            name=name,
            does={size: translate(size, typos) for size in translators.PAIRS},
            about=translators.ABOUT,
            needs=tuple(map(translators.step, translators.NAMES)),
        )
        for name, typos in TYPOS.items()
    )


def _vary_depth() -> ClaimStep:
    """Small models of both kinds with as many layers as each other, under the same random edits."""
    places = {(kind, depth): f"{{here}}/models/{kind}-{depth}" for depth in _DEPTHS for kind in _KINDS}
    taught = [
        commands.train(kind, data="mr", settings={"epochs": 3, "depth": depth}, out=place)
        for (kind, depth), place in places.items()
    ]
    look = order(
        "study attention", models=tuple(places.values()), data="mr", n=60, set={"vocabulary": 50}, draws=0,
        jobs="{jobs}", out="{here}",
    )  # fmt: skip
    sizes = ("small", "full")
    about = dict.fromkeys(sizes, "small models of one and of three layers, packaged reviews")
    return ClaimStep(name=DEPTH, does=dict.fromkeys(sizes, (*taught, look)), about=about)


def _vary_choice() -> ClaimStep:
    """GS-GR and GS-EC with few and with many words to choose from, on the small models of the depths."""
    models = tuple(f"{{root}}/{DEPTH}/models/{name}" for name in ("BiLSTM-Attention-1", "Transformer-3-3"))
    both: dict[str, Any] = {"n": 100, "recipes": ("gs-gr", "gs-ec"), "measure": ("perplexity",), "jobs": "{jobs}"}
    does = (
        order("study oneword", models=models, data="mr", vocabulary=many, out=f"{{here}}/words-{many}", **both)
        for many in _CHOICE
    )
    return _vary(NEAREST, "an LSTM and a Transformer of three epochs, packaged reviews", (DEPTH,), *does)


def list_varied(translate: Callable[[str, int], tuple[Doing, ...]]) -> tuple[ClaimStep, ...]:
    """All steps that decide nothing; `translate` gives the commands of a size with so many typos a sentence."""
    return (
        *_vary_reviews(), *_vary_pairs(), *_vary_smaller(), *_vary_typos(translate), _vary_depth(), _vary_choice(),
    )  # fmt: skip


# --- what they say


def explain_words(root: Path, folders: Sequence[str]) -> str:
    """The weakest word with other vocabularies and with less of each text, where that was tried."""
    varied = {name: said for base in folders for name, said in ONE_WORD.get(base, {}).items()}
    told = _list_broken(root, varied)
    said = [f"Varied, gs-gr broke with {'. With '.join(told)}."] if told else []
    if PAIRS in folders and (told := _list_broken(root, {name: one for name, (one, _) in SMALLER.items()})):
        head = "An LSTM of four epochs and MiniLM of one, both on MNLI, had fewer words to choose from."
        said.append(f"{head} There gs-gr broke with {'. With '.join(told)}.")
    return " ".join(said)


def _list_broken(root: Path, varied: Mapping[str, str]) -> list[str]:
    """Of each study that is there, what gs-gr broke, and the LSTM beside each of the others."""
    told = []
    for name, said in varied.items():
        record = OneWordRecord.read(root / name)
        cells = [] if record is None else [record.cell(model.name, "gs-gr") for model in record.models]
        found = [cell for cell in cells if cell is not None and not cell.reason]
        if found:
            first = next((cell for cell in found if "LSTM" in cell.model), found[0])
            rates = ", ".join(f"{cell.model} {short(cell.success)}" for cell in found)
            gaps = ", ".join(
                f"{cell.model} {gap_text(first.success, cell.success)}" for cell in found if cell is not first
            )
            told.append(f"{said}: {rates}; the LSTM less {gaps}")
    return told


def explain_choice(root: Path) -> str:
    """How GS-EC's texts read beside GS-GR's with few and with many words to choose from, where that was tried."""
    told = []
    for many in _CHOICE:
        record = OneWordRecord.read(root / NEAREST / f"words-{many}")
        pairs = () if record is None else record.against
        gaps = [a for a in pairs if (a.first, a.second, a.measure) == ("gs-gr", "gs-ec", "perplexity")]
        if gaps:
            rows = (
                f"{a.model} {a.gap.value:+,.0f} ({a.gap.low:+,.0f} to {a.gap.high:+,.0f}), lower in {a.lower}"
                for a in gaps
            )
            told.append(f"{many} words {', '.join(rows)}")
    if not told:
        return "How many words there are to choose from has not been varied."
    return (
        "How many words there are to choose from was varied in small models on packaged reviews: the perplexity of "
        f"GS-EC less that of GS-GR is as follows. With {'. With '.join(told)}."
    )


def explain_typos(root: Path) -> str:
    """What both translators lose with more typos a sentence, where that was tried."""
    told = []
    for name, typos in TYPOS.items():
        records = [TranslationRecord.read(root / name / one) for one in translators.NAMES]
        runs = [record.runs[0] for record in records if record is not None]
        falls = [run.drop for run in runs]
        if len(falls) == 2 and falls[0] is not None and falls[1] is not None:
            gap = differ(falls[0], falls[1])
            words = " and ".join(f"{run.changed_words:.1f}" for run in runs if run.changed_words is not None)
            many = f"{typos} ({words} words where BLEU fell)" if words else str(typos)
            told.append(
                f"{many} the LSTM loses {falls[0]}, the Transformer {falls[1]}, a difference of "
                f"{gap.value:+.2f} ({gap.low:+.2f} to {gap.high:+.2f}): "
                f"{tell_larger(falls[0], falls[1], 'that of the LSTM')}"
            )
    if not told:
        return "The number of typos has not been varied."
    return f"The number of typos a sentence was varied. With {'. With '.join(told)}."


def explain_depth(root: Path) -> str:
    """The same edits in models of the same number of layers; first, in the models that the claim is read from."""
    record = need(AttentionRecord.read, root / "attention")
    shared = [model for model in record.models if model.edits != record.recipe]
    told = f"What is changed was varied: with {shared[0].edits} changed {_list_last(shared)}. " if shared else ""
    varied = AttentionRecord.read(root / DEPTH)
    if varied is None:
        return f"{told}The number of layers has not been varied."
    by_depth: dict[int, list[AttentionModel]] = {}
    for model in varied.models:
        if model.edits != varied.recipe:
            by_depth.setdefault(model.layers[-1].number, []).append(model)
    layers = ". With ".join(
        f"{depth} {'layers' if depth > 1 else 'layer'} {_list_last(models)}"
        for depth, models in sorted(by_depth.items())
    )
    return (
        f"{told}The number of layers was varied in small models of both kinds on {varied.texts} packaged reviews, each "
        f"with {shared[0].edits if shared else 'a word'} changed. With {layers}."
    )


def _list_last(models: Sequence[AttentionModel]) -> str:
    """What all of them have in their last layer, and whether the LSTM has more than each of the others."""
    last = {model.name: model.layers[-1].relative for model in models}
    first = next((name for name in last if "LSTM" in name), "")
    rest = [name for name in last if first and name != first]
    beside = [f"beside {name} {tell_larger(last[first], last[name], 'that of the LSTM')}" for name in rest]
    told = ", ".join(f"{name} {short(mean)}" for name, mean in last.items())
    return f"R_e of the last layer is {told} ({', '.join(beside)})" if beside else f"R_e of the last layer is {told}"
