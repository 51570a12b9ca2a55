"""The record of a study of one-word attacks, and its report section with the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Z95, Rate, Spread
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, card, number, table
from malaprop.frame.report.tables import markdown as as_markdown

FILE = "oneword.json"


@dataclass(frozen=True, slots=True)
class OneWordMean:
    """A mean over `count` texts with its 95% interval, by the normal's points; of one text the interval is the mean."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, numbers: Iterable[float]) -> OneWordMean | None:
        """Return the mean with its interval; None for no numbers."""
        found = list(numbers)
        if not found:
            return None
        middle = fmean(found)
        half = Z95 * stdev(found) / sqrt(len(found)) if len(found) > 1 else 0.0
        return cls(middle, middle - half, middle + half, len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordModel:
    """One model: its accuracy on the examined test texts; `kin` is what the paper calls a model of its kind."""

    name: str
    accuracy: Rate
    kin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordCell:
    """The result of one recipe on one model.

    `share` is the mean share of successful trials, for `random`. `halves` are the success rates on the shorter or less
    confident half of the texts (by `length`, by `confidence`) and on the other half. `reason` says why it did not run.
    """

    model: str
    recipe: str
    success: Rate
    share: OneWordMean | None = None
    asked: Spread = field(default_factory=lambda: Spread(None, None))
    distance: OneWordMean | None = None
    measures: Mapping[str, OneWordMean] | None = None
    halves: Mapping[str, tuple[Rate, Rate]] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The comparison of two recipes by one measure, on the texts where both succeed.

    `gap` is the mean of the second minus the first.
    """

    model: str
    first: str
    second: str
    measure: str
    before: float
    after: float
    gap: OneWordMean
    lower: Rate  # texts where the second is lower


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceCurve:
    """The success of a recipe within each distance (L1, in the vector that the victim's classifier reads).

    The distances are the deciles of those of the first of two recipes, so that both can be compared.
    """

    model: str
    recipe: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordRecord(Record):
    """The result of a one-word study: a cell for each recipe and model, and how recipes compare.

    All models classified `examined` test texts; `common` is how many all of them have right; `texts` were attacked.
    """

    data: str
    task: str  # sentiment (single texts) or entailment (pairs), as the paper's tables are called
    examined: int
    common: int
    texts: int
    vocabulary: int
    words: int
    trials: int
    seed: int
    models: tuple[OneWordModel, ...]
    cells: tuple[OneWordCell, ...]
    against: tuple[Against, ...] = ()
    curves: tuple[DistanceCurve, ...] = ()

    @property
    def recipes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.recipe for cell in self.cells))

    def cell(self, model: str, recipe: str) -> OneWordCell | None:
        return next((c for c in self.cells if (c.model, c.recipe) == (model, recipe)), None)


BEST = "best of attention"
ATTENTION = ("asmin-gr", "asmax-gr", "asmin-ec", "asmax-ec")
TITLE = "One-word attacks"

# Hsieh et al. 2019, tables 1 and 5, in percent: LSTM, BERT, BERT without pre-training.
PAPER: dict[str, dict[str, dict[str, float]]] = {
    "sentiment": {
        "LSTM": {
            "random": 1.1, "list": 27, "asmin-gr": 16, "asmax-gr": 62, "asmin-ec": 16, "asmax-ec": 62,
            BEST: 62, "gs-gr": 79, "gs-ec": 78,
        },
        "BERT": {
            "random": 0.8, "list": 6, "asmin-gr": 11, "asmax-gr": 17, "asmin-ec": 10, "asmax-ec": 17,
            BEST: 17, "gs-gr": 52, "gs-ec": 50,
        },
        "BERT without pre-training": {
            "random": 1, "list": 15, "asmin-gr": 32, "asmax-gr": 35, "asmin-ec": 32, "asmax-ec": 35,
            BEST: 35, "gs-gr": 53, "gs-ec": 53,
        },
    },
    "entailment": {
        "LSTM": {
            "random": 17.8, "list": 63, "asmin-gr": 57, "asmax-gr": 78, "asmin-ec": 55, "asmax-ec": 78,
            BEST: 78, "gs-gr": 95, "gs-ec": 95,
        },
        "BERT": {
            "random": 9.2, "list": 56, "asmin-gr": 53, "asmax-gr": 54, "asmin-ec": 52, "asmax-ec": 51,
            BEST: 54, "gs-gr": 75, "gs-ec": 75,
        },
    },
}  # fmt: skip
ACCURACY = {  # on the paper's own test parts, in percent
    "sentiment": {"LSTM": 90.7, "BERT": 93.7, "BERT without pre-training": 87.3},
    "entailment": {"LSTM": 76.0, "BERT": 83.5},
}

Rows = list[tuple[str, ...]]


def one_word(found: Sequence[OneWordRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(study, number) for number, study in enumerate(found)))


def _card(study: OneWordRecord, place: int) -> Markup:
    shown = (table(title, names, rows, note) for title, note, names, rows in tables(study))
    return card(f"oneword-{place}", TITLE, lead(study), *shown)


def markdown(study: OneWordRecord) -> str:
    """Return the tables as Markdown."""
    out = [lead(study), ""]
    for title, note, names, rows in tables(study):
        out += [f"**{title}.** {note}", "", *as_markdown(names, rows), ""]
    return "\n".join(out)


def lead(study: OneWordRecord) -> str:
    words = "one word" if study.words == 1 else f"at most {study.words} words"
    return (
        f"{study.data}: of {study.examined:,} test texts all models answer {study.common:,} correctly; "
        f"{study.texts:,} of those were attacked, with {words} changed, from a vocabulary of {study.vocabulary:,}. "
        f"Seed {study.seed}; intervals are 95%."
    )


def tables(study: OneWordRecord) -> list[tuple[str, str, Sequence[str], Rows]]:
    """Return title, note, head and rows of each table of the study."""
    made = [_rates(study), _models(study)]
    if study.against:
        made.append(_against(study.against))
    made.append(_costs(study))
    return made


def _rates(study: OneWordRecord) -> tuple[str, str, Sequence[str], Rows]:
    paper = PAPER.get(study.task, {})
    names = ["Attack"]
    for model in study.models:
        names += [model.name, f"paper, {model.kin}"] if model.kin in paper else [model.name]
    rows: Rows = []
    for recipe in _in_order(study.recipes):
        row = [recipe]
        for model in study.models:
            row.append(_best(study, model.name) if recipe == BEST else _rate(study.cell(model.name, recipe)))
            if model.kin in paper:
                row.append(f"{paper[model.kin][recipe]:g}%" if recipe in paper[model.kin] else DASH)
        rows.append(tuple(row))
    note = (
        f"Attack success rates. For random: the mean share of {study.trials:,} trials that work, as in the paper, and "
        "then the texts that at least one trial breaks."
    )
    return "Success of one-word attacks", note, names, rows


def _in_order(recipes: Sequence[str]) -> list[str]:
    """Sort recipes as in the paper's tables, others last."""
    known = [BEST] if set(recipes) & set(ATTENTION) else []
    order = list(PAPER["sentiment"]["LSTM"])
    return sorted([*recipes, *known], key=lambda name: order.index(name) if name in order else len(order))


def _rate(cell: OneWordCell | None) -> str:
    if cell is None:
        return DASH
    if cell.reason:
        return cell.reason
    if cell.share is not None:
        return f"{_percent(cell.share)}; any: {cell.success}"
    return str(cell.success)


def _percent(mean: OneWordMean) -> str:
    return f"{100 * mean.value:.2f}% ({100 * max(0, mean.low):.2f}-{100 * mean.high:.2f})"


def _best(study: OneWordRecord, model: str) -> str:
    found = [cell for cell in study.cells if cell.model == model and cell.recipe in ATTENTION and not cell.reason]
    if not found:
        return DASH
    return str(max((cell.success for cell in found), key=lambda rate: rate.value if rate.total else -1.0))


def _models(study: OneWordRecord) -> tuple[str, str, Sequence[str], Rows]:
    told = ACCURACY.get(study.task, {})
    rows: Rows = [
        (m.name, str(m.accuracy), m.kin or DASH, f"{told[m.kin]:g}%" if m.kin in told else DASH) for m in study.models
    ]
    note = "On the test texts that were looked at, before any attack."
    return "Accuracy", note, ("Model", "Accuracy", "In the paper", "Its accuracy"), rows


def _against(found: Sequence[Against]) -> tuple[str, str, Sequence[str], Rows]:
    names = ("Model", "Measure", "Texts", "First", "Second", "Second less first", "Second is lower")
    rows: Rows = []
    for one in found:
        pair = f"{one.measure}: {one.first}, {one.second}"
        gap = f"{one.gap.value:.3g} ({one.gap.low:.3g} to {one.gap.high:.3g})"
        numbers = (f"{one.before:.3g}", f"{one.after:.3g}", gap, str(one.lower))
        rows.append((one.model, pair, f"{one.gap.count:,}", *numbers))
    note = (
        "Means over the texts that both attacks broke. Distance is L1, in the vector that the model's own classifier "
        "reads: it compares attacks on one model, not models."
    )
    return "What the embedding constraint does", note, names, rows


def _costs(study: OneWordRecord) -> tuple[str, str, Sequence[str], Rows]:
    extra = sorted({name for cell in study.cells for name in cell.measures or {}})
    names = ("Model", "Attack", "Asked, median", "Asked, mean", "L1 distance", *(e.replace("_", " ") for e in extra))
    rows: Rows = []
    for cell in study.cells:
        if cell.reason:
            continue
        spent = (number(cell.asked.median), number(cell.asked.mean))
        taken = (_short((cell.measures or {}).get(name)) for name in extra)
        rows.append((cell.model, cell.recipe, *spent, _short(cell.distance), *taken))
    return "Queries and quality", "Measures are means over the texts that an attack broke.", names, rows


def _short(mean: OneWordMean | None) -> str:
    return DASH if mean is None else f"{mean.value:.3g} ({mean.low:.3g}-{mean.high:.3g})"


SECTION = Section(rank=61, title=TITLE, body=one_word, terminal=markdown)
