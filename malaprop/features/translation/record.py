"""The record of attacks on translation (success, BLEU, attention of a few successes) and its report section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.maps import ShadeTable, tables
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import grid, lines_of, number, text_of

FILE = "translation.json"


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU with its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRun:
    """The figures of one run: `before` and `after` are BLEU of the attacked sentences, `drop` the paired difference.

    `reasons` are the most frequent ones of the errors, with their counts; older records have none.
    """

    attack: str
    kind: str  # keyword, bleu, typos or probe
    victim: str
    data: str
    success: Rate
    skipped: int
    errors: int
    before: Bleu | None = None
    after: Bleu | None = None
    drop: Bleu | None = None
    changed_words: float | None = None  # mean of successes
    asked: float | None = None  # mean of attacked sentences
    distance: float | None = None  # mean of successes
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationMap:
    """The attention of a translation: a row an output word, a column a source word."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if [len(row) for row in self.weights] != [len(self.source)] * len(self.output):
            raise ValueError("the attention map's weights do not have a row an output word and a column a source word")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationExample:
    """The attention of one success before and after; `changed` are the places of the source words that differ."""

    attack: str
    victim: str
    before: TranslationMap
    after: TranslationMap
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TranslationExamples:
    """The attention of a few successes of one run, stored beside the run until the record is computed."""

    found: tuple[TranslationExample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRecord(Record):
    """All translation runs below a folder, and the attention of a few of their successes."""

    runs: tuple[TranslationRun, ...]
    sights: tuple[TranslationExample, ...] = ()


TITLE = "Translation"
_NAMES = (
    "Victim",
    "Attack",
    "Data",
    "Attack success",
    "Skipped",
    "Errors",
    "BLEU before",
    "BLEU after",
    "Drop",
    "Words changed, mean",
    "Asked, mean",
    "State distance, mean",
)


def translations(studies: Sequence[TranslationRecord]) -> Markup:
    """Return a table of all runs with their figures; nothing without runs."""
    runs = dict.fromkeys(run for study in studies for run in study.runs)  # folders may lie in one another
    if not runs:
        return Markup("")
    note = (
        "Attack success: of the sentences that were attacked, those on which the goal was reached and a fresh "
        "translation confirmed it. Skipped: it was reached without an attack, or there was nothing to change. BLEU as "
        "sacrebleu computes it by default, over the attacked sentences, with 95% of redrawn sets; the drop is paired."
    )
    figures = _figures([sight for study in studies for sight in study.sights])
    table = grid("Attacks on translation", _NAMES, [_row(run) for run in runs])
    body = (tag("h2", TITLE, id="translation"), tag("p", note), table, *figures)
    return tag("section", *body, class_="card", aria_labelledby="translation")


def _figures(sights: Sequence[TranslationExample]) -> list[Markup]:
    return [
        tag("figure", tag("figcaption", f"{sight.victim}, {sight.attack}"), figure(sight), class_="panel scroll")
        for sight in sights
    ]


def figure(sight: TranslationExample) -> Markup:
    """Draw attention before and after, side by side."""
    about = (
        "Each row is a word of the translation, each column a word of the source; a shade is the weight it is given."
    )
    both = [
        ShadeTable(
            title=f"{when}: a row looks at columns",
            rows=found.output,
            columns=found.source,
            values=found.weights,
            marked=sight.changed,
            whole=True,
            cell=24,
            row=19,
        )
        for when, found in (("before", sight.before), ("after", sight.after))
    ]
    return tables("Attention of a translation before and after", about, [both])


def _row(run: TranslationRun) -> tuple[Child, ...]:
    return (
        run.victim,
        run.attack,
        run.data,
        str(run.success),
        f"{run.skipped:,}",
        f"{run.errors:,}",
        *map(text_of, (run.before, run.after, run.drop)),
        number(run.changed_words, ",.2f"),
        number(run.asked),
        number(run.distance, ",.4f"),
    )


def headline(studies: Sequence[TranslationRecord]) -> Markup | None:
    """Return one sentence on the strongest attack."""
    runs = [run for study in studies for run in study.runs if run.success.total]
    if not runs:
        return join("No sentence was attacked.")
    top = max(runs, key=lambda run: run.success.value)
    return join(
        tag("strong", top.attack),
        f" reached its goal on {top.success} of the sentences that ",
        tag("strong", top.victim),
        " translates.",
    )


def terminal(study: TranslationRecord) -> str:
    """Return a table with a row for each run."""
    names = ("victim", "attack", "success", "skipped", "errors", "BLEU before", "BLEU after", "asked")
    rows = []
    for run in study.runs:
        bleu = ("-" if found is None else str(found) for found in (run.before, run.after))
        asked = "-" if run.asked is None else f"{run.asked:,.0f}"
        rows.append((run.victim, run.attack, str(run.success), str(run.skipped), str(run.errors), *bleu, asked))
    return lines_of("", names, rows)


SECTION = Section(rank=50, title=TITLE, body=translations, terminal=terminal, headline=headline)
