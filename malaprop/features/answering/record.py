"""The record of attacks on question answering (success, F1 and exact match, a few contexts) and its report section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import grid, lines_of, number, text_of

TITLE = "Question answering"


@dataclass(frozen=True, slots=True)
class Points:
    """A mean in points from 0 to 100, with the 95% interval over redrawn questions."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ({self.low:.1f}-{self.high:.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringRun:
    """The figures of one run. F1 and exact match are over all questions but errors; `lost` is the paired difference."""

    attack: str
    below: float  # an answer is lost where its F1 falls below this
    victim: str
    data: str
    questions: int
    success: Rate
    skipped: int
    errors: int
    failure: str = ""  # how many questions ended in an error, and why
    validity: str = "paper"
    kept: Rate | None = None  # successes that keep the meaning in the eyes of the judge, of the attacked questions
    clean: Points | None = None
    attacked: Points | None = None
    lost: Points | None = None
    exact_clean: float | None = None
    exact_attacked: float | None = None
    asked: float | None = None  # mean of attacked questions


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredExample:
    """One success: the question, the contexts in pieces with a flag on what changed, and the answers."""

    attack: str
    victim: str
    id: str
    question: str
    true: tuple[str, ...]
    before: tuple[tuple[str, bool], ...]
    after: tuple[tuple[str, bool], ...]
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringRecord(Record):
    """All runs on question answering below a folder, and a few of their successes."""

    runs: tuple[AnsweringRun, ...]
    examples: tuple[AnsweredExample, ...] = ()


_NAMES = (
    "Victim", "Attack", "Validity", "F1 clean", "F1 under attack", "Lost", "Exact clean", "Exact under attack",
    "Attack success", "Meaning kept", "F1 below", "Data", "Skipped", "Errors", "Asked, mean",
)  # fmt: skip
_NOTE = (
    "Attack success: of the questions that were answered well enough, those whose answer fell below the bound, which a "
    "fresh query of the question alone confirmed. F1 and exact match are means over all questions, as SQuAD computes "
    "them; of a failed attack the strongest attempt counts. Meaning kept: successes that the judge of meaning lets "
    "pass. Intervals are of 95%, over redrawn questions; the loss is paired."
)


def section(studies: Sequence[AnsweringRecord]) -> Markup:
    """Return a table of all runs, and a few contexts with what changed in them; nothing without runs."""
    runs = dict.fromkeys(run for study in studies for run in study.runs)  # folders may lie in one another
    if not runs:
        return Markup("")
    examples = dict.fromkeys(one for study in studies for one in study.examples)
    body = (
        tag("h2", TITLE, id="answering"),
        tag("p", _NOTE),
        grid("Attacks on question answering", _NAMES, [_row(run) for run in runs]),
        *(tag("p", line) for run in runs for line in _notes(run)),
        *(tag("h3", "Contexts") for _ in list(examples)[:1]),
        *map(figure, examples),
    )
    return tag("section", *body, class_="card", aria_labelledby="answering")


def _row(run: AnsweringRun) -> tuple[str, ...]:
    return (
        run.victim, run.attack, run.validity, *map(text_of, (run.clean, run.attacked, run.lost)),
        number(run.exact_clean, ".1f"), number(run.exact_attacked, ".1f"), str(run.success), text_of(run.kept),
        f"{run.below:g}", run.data, f"{run.skipped:,}", f"{run.errors:,}", number(run.asked),
    )  # fmt: skip


def _notes(run: AnsweringRun) -> Iterator[str]:
    """Yield why questions ended in an error, and that there was nothing to attack."""
    if run.failure:
        yield f"{run.attack}: {run.failure}"
    if run.skipped and not run.success.total:
        yield (
            f"{run.attack}: {run.victim} answers 0 of {run.questions:,} questions well enough, so there is nothing to "
            "attack"
        )


def figure(example: AnsweredExample) -> Markup:
    """Show a question, its context before and after, and the answers to both."""
    lines: tuple[tuple[str, Sequence[Child]], ...] = (
        ("question", [example.question]),
        ("true", [" | ".join(example.true)]),
        ("before", _pieces(example.before)),
        ("answer before", [example.first]),
        ("after", _pieces(example.after)),
        ("answer after", [example.last]),
    )
    return tag(
        "figure",
        tag("figcaption", f"{example.victim}, {example.attack}"),
        *(tag("p", tag("strong", f"{name}: "), *children) for name, children in lines),
        class_="panel",
    )


def _pieces(pieces: Sequence[tuple[str, bool]]) -> list[Child]:
    return [tag("mark", text, class_="new") if changed else text for text, changed in pieces]


def headline(studies: Sequence[AnsweringRecord]) -> Markup | None:
    """Return one sentence on the attack that costs the most F1."""
    runs = [run for study in studies for run in study.runs if run.lost is not None]
    if not runs:
        return join("No question was attacked.")
    top = max(runs, key=lambda run: run.lost.value if run.lost else 0.0)
    return join(tag("strong", top.attack), f" takes {top.lost} points of F1 from ", tag("strong", top.victim), ".")


def terminal(study: AnsweringRecord) -> str:
    """Return a table with a row for each run."""
    names = ("attack", "success", "kept", "errors", "F1 clean", "attacked", "lost", "asked")
    rows = [
        (
            run.attack, _brief(run.success), _brief(run.kept), f"{run.errors}",
            *(number(None if one is None else one.value, ".1f") for one in (run.clean, run.attacked)),
            text_of(run.lost), number(run.asked),
        )
        for run in study.runs
    ]  # fmt: skip
    whole = [f"{run.victim}, F1 below {run.below:g}, validity {run.validity}" for run in study.runs]
    table = lines_of(f"Question answering by {'; '.join(dict.fromkeys(whole))}", names, rows)
    return "\n".join((table, *(line for run in study.runs for line in _notes(run))))


def _brief(rate: Rate | None) -> str:
    return text_of(rate and f"{rate.hits}/{rate.total}")


SECTION = Section(rank=51, title=TITLE, body=section, terminal=terminal, headline=headline)
