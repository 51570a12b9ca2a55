"""The record of attacks on taggers (success, entity F1 by class, a few sentences) and its report section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from malaprop.features.tagging.entities import EntityF1, split_tag
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import grid, lines_of, number, text_of

TITLE = "Tagging"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingClass:
    """Entity F1 of one class before and under attack; `there` counts its true entities."""

    name: str
    there: int
    clean: float
    attacked: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRun:
    """The figures of one run. F1 is over all sentences but errors; `lost` is the paired difference."""

    attack: str
    goal: str
    entities: str  # keep or same-class: what became of the words of entities
    victim: str
    data: str
    sentences: int
    success: Rate
    validity: str = "paper"
    kept: Rate | None = None  # successes that keep the meaning in the eyes of the judge, of the attacked sentences
    skipped: int
    errors: int
    failure: str = ""  # how many sentences ended in an error, and why
    clean: EntityF1 | None = None
    attacked: EntityF1 | None = None
    lost: EntityF1 | None = None
    classes: tuple[TaggingClass, ...] = ()
    changed_words: float | None = None  # mean of successes
    asked: float | None = None  # mean of attacked sentences
    seconds: float = 0.0  # summed over the sentences, which overlap where they run side by side


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """One token before and after, with its true tag and the predicted tags."""

    before: str
    after: str
    gold: str
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedExample:
    """One success, token by token."""

    attack: str
    victim: str
    id: str
    tokens: tuple[TaggedToken, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRecord(Record):
    """All runs on taggers below a folder, and a few of their successes."""

    runs: tuple[TaggingRun, ...]
    examples: tuple[TaggedExample, ...] = ()


_NAMES = (
    "Victim", "Attack", "Validity", "F1 clean", "F1 under attack", "Lost", "Attack success", "Meaning kept", "Goal",
    "Entity words", "Data", "Skipped", "Errors", "Words changed, mean", "Asked, mean",
)  # fmt: skip
_NOTE = (
    "Attack success: of the sentences that were attacked, those in which the goal was reached and a fresh query of the "
    "sentence alone confirmed it. Entity F1 counts an entity as right if span and class are exact, over all sentences; "
    "of a failed attack the strongest attempt counts, of a valid one the strongest that the judge lets pass. "
    "Meaning kept: successes that the judge of meaning lets pass. Intervals are of 95%, over redrawn sentences; the "
    "loss is paired."
)


def section(studies: Sequence[TaggingRecord]) -> Markup:
    """Return a table of all runs, one of their classes, and sentences in colour; nothing without runs."""
    runs = dict.fromkeys(run for study in studies for run in study.runs)  # folders may lie in one another
    if not runs:
        return Markup("")
    examples = dict.fromkeys(one for study in studies for one in study.examples)
    body = (
        tag("h2", TITLE, id="tagging"),
        tag("p", _NOTE),
        grid("Attacks on taggers", _NAMES, [_row(run) for run in runs]),
        *(tag("p", line) for line in _failures(runs)),
        tag("h3", "By class"),
        grid("Entity F1 by class", _CLASS_NAMES, [row for run in runs for row in _class_rows(run)]),
        *(tag("h3", "Sentences") for _ in list(examples)[:1]),
        *map(figure, examples),
    )
    return tag("section", *body, class_="card", aria_labelledby="tagging")


def _row(run: TaggingRun) -> tuple[str, ...]:
    return (
        run.victim, run.attack, run.validity, *map(text_of, (run.clean, run.attacked, run.lost)), str(run.success),
        text_of(run.kept), run.goal, run.entities, run.data, f"{run.skipped:,}", f"{run.errors:,}",
        number(run.changed_words, ",.2f"), number(run.asked),
    )  # fmt: skip


def _failures(runs: Iterable[TaggingRun]) -> list[str]:
    """Return why sentences of each run ended in an error."""
    return [f"{run.attack}: {run.failure}" for run in runs if run.failure]


_CLASS_NAMES = ("Victim", "Attack", "Class", "Entities", "F1 clean", "F1 under attack")


def _class_rows(run: TaggingRun) -> list[tuple[str, ...]]:
    return [
        (run.victim, run.attack, one.name, f"{one.there:,}", f"{one.clean:.1f}", f"{one.attacked:.1f}")
        for one in run.classes
    ]


def figure(example: TaggedExample) -> Markup:
    """Show a sentence before and after: entities are underlined in the colour of their class, changed words bold."""
    before = [(one.before, one.first, False) for one in example.tokens]
    after = [(one.after, one.last, one.before != one.after) for one in example.tokens]
    gold = [(one.before, one.gold, False) for one in example.tokens]
    lines = (("true", gold), ("before", before), ("after", after))
    return tag(
        "figure",
        tag("figcaption", f"{example.victim}, {example.attack}"),
        *(tag("p", tag("strong", f"{name}: "), *_sentence(tokens)) for name, tokens in lines),
        class_="panel",
    )


def _sentence(tokens: Sequence[tuple[str, str, bool]]) -> list[Child]:
    out: list[Child] = []
    last = ""
    for word, given, changed in tokens:
        prefix, kind = split_tag(given)
        shown: Child = tag("mark", word, class_="new") if changed else word
        if kind:
            begins = prefix == "B" or kind != last
            label = tag("small", f" {kind}") if begins else None
            shown = tag("span", shown, label, style=f"border-bottom:3px solid {_colour(kind)}", title=kind)
        last = kind
        out += [shown, " "]
    return out


def _colour(kind: str) -> str:
    """Return a colour that depends on the class alone, readable on a light and on a dark page."""
    known = {"PER": 205, "LOC": 130, "ORG": 25, "MISC": 285}
    return f"hsl({known.get(kind, sum(map(ord, kind)) * 47 % 360)} 65% 50%)"


def headline(studies: Sequence[TaggingRecord]) -> Markup | None:
    """Return one sentence on the attack that costs the most F1."""
    runs = [run for study in studies for run in study.runs if run.lost is not None]
    if not runs:
        return join("No sentence was attacked.")
    top = max(runs, key=lambda run: run.lost.value if run.lost else 0.0)
    return join(
        tag("strong", top.attack), f" takes {top.lost} points of entity F1 from ", tag("strong", top.victim), "."
    )


def terminal(study: TaggingRecord) -> str:
    """Return a table with a row for each run, and one with a row for each class."""
    names = ("attack", "success", "kept", "errors", "F1 clean", "attacked", "lost", "asked")
    rows = [
        (
            run.attack, _brief(run.success), _brief(run.kept), f"{run.errors}",
            *(number(None if one is None else one.value, ".1f") for one in (run.clean, run.attacked)),
            text_of(run.lost),
            number(run.asked),
        )
        for run in study.runs
    ]  # fmt: skip
    classes = [row[1:] for run in study.runs for row in _class_rows(run)]
    heads = ("attack", "class", "entities", "F1 clean", "under attack")
    whole = [f"{run.victim}, goal {run.goal}, validity {run.validity}" for run in study.runs]
    title = f"Tagging by {'; '.join(dict.fromkeys(whole))}"
    table = "\n".join((lines_of(title, names, rows), *_failures(study.runs)))
    return "\n\n".join((table, lines_of("By class", heads, classes)))


def _brief(rate: Rate | None) -> str:
    return text_of(rate and f"{rate.hits}/{rate.total}")


SECTION = Section(rank=50, title=TITLE, body=section, terminal=terminal, headline=headline)
