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
from malaprop.papers.claims.claim import ClaimStep, StepCommand, study_command
from malaprop.papers.claims.kept_records import need

# --- the settings, fixed before the run

YELP, PAIRS = "oneword/yelp", "entailment"
FULL: dict[str, Any] = {"n": 100, "vocabulary": 5000, "trials": 1000, "jobs": "{jobs}", "out": "{here}"}
LENGTH = 256  # tokens that every model reads, words or pieces of them
FINE_TUNED = {"epochs": 3, "rate": 2e-5, "frozen": False, "limit": LENGTH}  # all of MiniLM is trained
_SHORT = 64
# Variations of the one-word attacks: other vocabularies, less of each text, and the other field of a pair.
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
# The comparison that fails at full size, at a size for a CPU: an LSTM of four epochs and MiniLM of one. There are so
# few words that the attack does not succeed on nearly all pairs.
SMALLER: dict[str, tuple[str, dict[str, Any]]] = {
    "varied/pairs/words-20": ("20 words", {"vocabulary": 20}),
    "varied/pairs/words-50": ("50 words", {"vocabulary": 50}),
    "varied/pairs/premise": ("50 words in the premise", {"vocabulary": 50, "fields": "premise"}),
}
_TAUGHT, _PAIR_LSTM = "varied/pairs", "Pair-BiLSTM-Attention"
LAST = "oneword/yelp-last"  # footnote 1 of the paper: attention of the last layer
TYPOS = {"translation/typos-2": 2, "translation/typos-4": 4}  # a sentence
NEAREST = "varied/nearest"
_CHOICE = (100, 300)  # sizes of the vocabulary from which GS-EC takes the nearest word
DEPTH = "varied/depth"
_DEPTHS = (1, 3)  # numbers of layers, for both kinds of models
_KINDS = ("BiLSTM-Attention", "Transformer-3")


def _vary(name: str, about: str, needs: tuple[str, ...], *does: StepCommand) -> ClaimStep:
    """Return a diagnostic step that runs these commands, at full size alone."""
    return ClaimStep(name=name, does={"full": does}, about={"full": about}, needs=needs)


def _vary_reviews() -> tuple[ClaimStep, ...]:
    """Return steps that attack the weakest word with other vocabularies, and of models that read less of a text."""
    models = tuple(
        f"{{root}}/{YELP}/{one}" for one in ("models/BiLSTM-Attention", "start/BERT", "models/Transformer-3")
    )
    both: dict[str, Any] = {**FULL, "data": "yelp", "recipes": ("gs-gr",)}
    few, many, less = ONE_WORD[YELP].items()
    steps = [
        _vary(
            name, f"the models of the one-word attacks on Yelp, {said}", (YELP,),
            study_command("study oneword", models=models, **{**both, "vocabulary": words}),
        )
        for (name, said), words in ((few, 500), (many, 20_000))
    ]  # fmt: skip
    tuned = commands.train("BERT", data="yelp", settings={**FINE_TUNED, "limit": _SHORT}, out="{here}/start/BERT")
    names = ("BiLSTM-Attention", "{here}/start/BERT", "Transformer-3")
    study = study_command("study oneword", models=names, set={"limit": _SHORT}, **both)
    last = study_command("study oneword", models=models[1:2], set={"layer": -1}, **{**both, "recipes": ("asmax-ec",)})
    return (
        *steps,
        _vary(less[0], f"models of the same kinds on Yelp, {less[1]}", (), tuned, study),
        _vary(LAST, "MiniLM on Yelp, attention of the last layer", (YELP,), last),
    )


def _vary_pairs() -> tuple[ClaimStep, ...]:
    """Return steps that attack the weakest word of entailment models with smaller vocabularies, and in the premise."""
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
            study_command("study oneword", models=models, **{**both, **one}),
        )
        for (name, said), one in zip(ONE_WORD[PAIRS].items(), given, strict=True)
    )  # fmt: skip


def _vary_smaller() -> tuple[ClaimStep, ...]:
    """Return steps that attack the weakest word of small entailment models with few words, and in the premise."""
    taught = (
        commands.train(_PAIR_LSTM, data="mnli", settings={"epochs": 4}, out=f"{{here}}/models/{_PAIR_LSTM}"),
        commands.train("BERT", data="mnli", settings={"epochs": 1}, out="{here}/models/BERT"),
    )
    about = "an LSTM of four epochs and MiniLM of one on a part of MNLI"
    models = tuple(f"{{root}}/{_TAUGHT}/models/{name}" for name in (_PAIR_LSTM, "BERT"))
    both: dict[str, Any] = {"data": "mnli", "n": 100, "recipes": ("gs-gr",), "jobs": "{jobs}", "out": "{here}"}
    return _vary(_TAUGHT, about, (), *taught), *(
        _vary(name, f"{about}, {said}", (_TAUGHT,), study_command("study oneword", models=models, **both, **one))
        for name, (said, one) in SMALLER.items()
    )


def _vary_typos(translate: Callable[[str, int], tuple[StepCommand, ...]]) -> tuple[ClaimStep, ...]:
    """Return steps with more typos a sentence, on the same two translators."""
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
    """Return the step that compares small LSTMs and Transformers of equal depth under the same random edits."""
    places = {(kind, depth): f"{{here}}/models/{kind}-{depth}" for depth in _DEPTHS for kind in _KINDS}
    taught = [
        commands.train(kind, data="mr", settings={"epochs": 3, "depth": depth}, out=place)
        for (kind, depth), place in places.items()
    ]
    look = study_command(
        "study attention", models=tuple(places.values()), data="mr", n=60, set={"vocabulary": 50}, draws=0,
        jobs="{jobs}", out="{here}",
    )  # fmt: skip
    sizes = ("small", "full")
    about = dict.fromkeys(sizes, "small models of one and of three layers, packaged reviews")
    return ClaimStep(name=DEPTH, does=dict.fromkeys(sizes, (*taught, look)), about=about)


def _vary_choice() -> ClaimStep:
    """Return the step that runs GS-GR and GS-EC with few and with many words, on the models of the depth step."""
    models = tuple(f"{{root}}/{DEPTH}/models/{name}" for name in ("BiLSTM-Attention-1", "Transformer-3-3"))
    both: dict[str, Any] = {"n": 100, "recipes": ("gs-gr", "gs-ec"), "measure": ("perplexity",), "jobs": "{jobs}"}
    does = (
        study_command("study oneword", models=models, data="mr", vocabulary=many, out=f"{{here}}/words-{many}", **both)
        for many in _CHOICE
    )
    return _vary(NEAREST, "an LSTM and a Transformer of three epochs, packaged reviews", (DEPTH,), *does)


def list_varied(translate: Callable[[str, int], tuple[StepCommand, ...]]) -> tuple[ClaimStep, ...]:
    """Return all diagnostic steps; `translate` gives the commands for a size and a number of typos a sentence."""
    return (
        *_vary_reviews(), *_vary_pairs(), *_vary_smaller(), *_vary_typos(translate), _vary_depth(), _vary_choice(),
    )  # fmt: skip


# --- the readings of their records


def explain_words(root: Path, folders: Sequence[str]) -> str:
    """Give gs-gr's success with other vocabularies and with less of each text; empty if neither was varied."""
    varied = {name: said for base in folders for name, said in ONE_WORD.get(base, {}).items()}
    figures = _list_success(root, varied)
    said = [f"Varied, gs-gr broke with {'. With '.join(figures)}."] if figures else []
    if YELP in folders and (record := OneWordRecord.read(root / LAST)) is not None:
        first = OneWordRecord.read(root / YELP)
        for cell in (cell for model in record.models if (cell := record.cell(model.name, "asmax-ec")) is not None):
            other = None if first is None else first.cell(cell.model, "asmax-ec")
            beside = "" if other is None else f", by that of the first, on other texts, {short(other.success)}"
            said.append(f"By attention of the last layer asmax-ec broke {cell.model} {short(cell.success)}{beside}.")
    if PAIRS in folders and (figures := _list_success(root, {name: one for name, (one, _) in SMALLER.items()})):
        head = "An LSTM of four epochs and MiniLM of one, both on MNLI, had fewer words to choose from."
        said.append(f"{head} There gs-gr broke with {'. With '.join(figures)}.")
    return " ".join(said)


def _list_success(root: Path, varied: Mapping[str, str]) -> list[str]:
    """Give for each study with a record gs-gr's success on every model, and the LSTM's lead over each other model."""
    figures = []
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
            figures.append(f"{said}: {rates}; the LSTM less {gaps}")
    return figures


def explain_choice(root: Path) -> str:
    """Compare the perplexity of GS-EC's and GS-GR's texts for few and for many words to choose from."""
    figures = []
    for many in _CHOICE:
        record = OneWordRecord.read(root / NEAREST / f"words-{many}")
        pairs = () if record is None else record.against
        gaps = [a for a in pairs if (a.first, a.second, a.measure) == ("gs-gr", "gs-ec", "perplexity")]
        if gaps:
            rows = (
                f"{a.model} {a.gap.value:+,.0f} ({a.gap.low:+,.0f} to {a.gap.high:+,.0f}), lower in {a.lower}"
                for a in gaps
            )
            figures.append(f"{many} words {', '.join(rows)}")
    if not figures:
        return "How many words there are to choose from has not been varied."
    return (
        "How many words there are to choose from was varied in small models on packaged reviews: the perplexity of "
        f"GS-EC less that of GS-GR is as follows. With {'. With '.join(figures)}."
    )


def explain_typos(root: Path) -> str:
    """Give the BLEU that both translators lose with more typos a sentence."""
    figures = []
    for name, typos in TYPOS.items():
        records = [TranslationRecord.read(root / name / one) for one in translators.NAMES]
        runs = [record.runs[0] for record in records if record is not None]
        falls = [run.drop for run in runs]
        if len(falls) == 2 and falls[0] is not None and falls[1] is not None:
            gap = differ(falls[0], falls[1])
            words = " and ".join(f"{run.changed_words:.1f}" for run in runs if run.changed_words is not None)
            many = f"{typos} ({words} words where BLEU fell)" if words else str(typos)
            figures.append(
                f"{many} the LSTM loses {falls[0]}, the Transformer {falls[1]}, a difference of "
                f"{gap.value:+.2f} ({gap.low:+.2f} to {gap.high:+.2f}): "
                f"{tell_larger(falls[0], falls[1], 'that of the LSTM')}"
            )
    if not figures:
        return "The number of typos has not been varied."
    return f"The number of typos a sentence was varied. With {'. With '.join(figures)}."


def explain_depth(root: Path) -> str:
    """Compare the last layers under the same edits: in the claim's models, then in models of equal depth."""
    record = need(AttentionRecord.read, root / "attention")
    shared = [model for model in record.models if model.edits != record.recipe]
    figures = (
        f"What is changed was varied: with {shared[0].edits} changed {_compare_last_layers(shared)}. " if shared else ""
    )
    varied = AttentionRecord.read(root / DEPTH)
    if varied is None:
        return f"{figures}The number of layers has not been varied."
    by_depth: dict[int, list[AttentionModel]] = {}
    for model in varied.models:
        if model.edits != varied.recipe:
            by_depth.setdefault(model.layers[-1].number, []).append(model)
    layers = ". With ".join(
        f"{depth} {'layers' if depth > 1 else 'layer'} {_compare_last_layers(models)}"
        for depth, models in sorted(by_depth.items())
    )
    return (
        f"{figures}The number of layers was varied in small models of both kinds on {varied.texts} packaged reviews, "
        f"each with {shared[0].edits if shared else 'a word'} changed. With {layers}."
    )


def _compare_last_layers(models: Sequence[AttentionModel]) -> str:
    """Give R_e of each model's last layer, and whether the LSTM's is larger than each other model's."""
    last = {model.name: model.layers[-1].relative for model in models}
    first = next((name for name in last if "LSTM" in name), "")
    rest = [name for name in last if first and name != first]
    beside = [f"beside {name} {tell_larger(last[first], last[name], 'that of the LSTM')}" for name in rest]
    figures = ", ".join(f"{name} {short(mean)}" for name, mean in last.items())
    return (
        f"R_e of the last layer is {figures} ({', '.join(beside)})" if beside else f"R_e of the last layer is {figures}"
    )
