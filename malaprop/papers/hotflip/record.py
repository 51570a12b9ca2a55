"""The record of a HotFlip study (success curves, operations, hardening, speed) and its section of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread
from malaprop.frame.report.figures import Axis, Mark, legend, percent, rate_chart
from malaprop.frame.report.markup import Child, Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import card, lines_of, panel, panels, share, table

FILE = "hotflip.json"
GREEDY_FLIPS = "greedy-flips"  # greedy search by flips alone: the counterpart of Key*, which flips alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The success of one attack by the confidence that it must reach; 0 requires a wrong label alone."""

    attack: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipChange:
    """The edits of one run: of its successes the share of characters changed and the fewest operations that do so.

    `picked` counts the operations that the search picked, in successes and failures; `most_in_a_word` is the mean over
    texts of how many of them one word took. Both are empty where the search does not count them.
    """

    attack: str
    confidence: float
    success: Rate
    share: Spread
    operations: dict[str, int]
    picked: dict[str, int] = field(default_factory=dict)
    most_in_a_word: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardened:
    """One model under the attack by flips alone; `error` is on the whole test part, without an attack."""

    name: str
    about: str
    error: Rate
    success: Rate
    epochs: int
    epoch_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestWords:
    """The words nearest to a word's vector before and after an edit."""

    word: str
    edited: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Economy:
    """The greedy attack by derivatives and by exact losses, on the same texts."""

    success: Rate
    exact_success: Rate
    seconds: float
    exact_seconds: float

    @property
    def ratio(self) -> float | None:
        """Return how many times faster derivatives find successes than exact losses; None where either finds none."""
        if not (self.success.hits and self.exact_success.hits and self.seconds > 0):
            return None
        return (self.success.hits / self.seconds) / (self.exact_success.hits / self.exact_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipRecord(Record):
    """The result of a HotFlip study.

    `moved` counts the edited words of successes whose original is not among the five nearest words any more. `ranked`
    are flips, insertions and deletions on a few texts, ranked by derivatives and by exact losses. `varied` are variants
    of the attacks: other operations, and other bounds on the edits of a word.
    """

    model: str
    data: str
    texts: int
    curves: tuple[Curve, ...] = ()
    changes: tuple[HotFlipChange, ...] = ()
    hardened: tuple[Hardened, ...] = ()
    neighbours: tuple[NearestWords, ...] = ()
    moved: Rate = field(default_factory=lambda: Rate(0, 0))
    economy: Economy | None = None
    ranked: tuple[HotFlipChange, ...] = ()
    varied: tuple[HotFlipChange, ...] = ()


TITLE = "HotFlip study"


def studies(found: Sequence[HotFlipRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(study, number) for number, study in enumerate(found)))


def _card(study: HotFlipRecord, number: int) -> Markup:
    lead = (
        f"{study.model} on {study.data}: attacks by derivatives of character edits, {study.texts:,} texts a run. "
        "Rates are over texts that were right before, with 95% intervals."
    )
    body: list[Child] = [_figure(study), _changes("What was changed", study.changes), _training(study.hardened)]
    if study.varied:
        body.append(_changes("Variants of the attacks", study.varied))
    if study.economy is not None:
        body.append(_economy(study.economy))
    if study.moved.total:
        body.append(_neighbours(study))
    return card(f"hotflip-{number}", TITLE, lead, *body)


def _figure(study: HotFlipRecord) -> Markup:
    lines = [
        (curve.attack, color, [Mark.of(at, rate) for at, rate in curve.points if rate.total])
        for color, curve in enumerate(study.curves)
    ]
    most = max((at for curve in study.curves for at, _ in curve.points), default=1.0)
    axis = Axis(label="Confidence asked for, 0: a wrong label alone", low=0, high=most or 1.0, show=percent)
    title = "Success against the confidence of the wrong answer"
    key = legend([(name, color) for name, color, _ in lines])
    chart = rate_chart(title, "Success", lines, axis)
    return panels(panel(title, chart, key))


def _changes(title: str, changes: Sequence[HotFlipChange]) -> Markup:
    rows = []
    for change in changes:
        total = sum(change.operations.values())
        parts = [share(count / total if total else None, 2) for count in change.operations.values()]
        asked = "none" if not change.confidence else f"{change.confidence:g}"
        rows.append((change.attack, asked, str(change.success), share(change.share.mean, 2), *parts, f"{total:,}"))
    operations = [name.capitalize() for name in changes[0].operations] if changes else []
    names = ("Attack", "Confidence", "Attack success", "Characters changed, mean", *operations, "Operations")
    return table(title, names, rows)


def _training(models: Sequence[Hardened]) -> Markup:
    rows = [
        (m.name, str(m.error), str(m.success), m.epochs, f"{m.epoch_seconds:.1f}", m.about.partition("Hardened: ")[2])
        for m in models
    ]
    names = ("Training", "Error without attack", "Attack success of flips", "Epochs", "Seconds an epoch", "How")
    note = (
        "The error is on the whole test part; the attack is the beam search with flips alone. Seconds compare only "
        "where models were trained one at a time."
    )
    return table("Before and after training against attacks", names, rows, note)


def _economy(economy: Economy) -> Markup:
    rows = [
        ("by derivatives", str(economy.success), f"{economy.seconds:.1f}"),
        ("by exact losses", str(economy.exact_success), f"{economy.exact_seconds:.1f}"),
    ]
    ratio = economy.ratio
    note = "" if ratio is None else f"Adversarial texts a second: {ratio:.0f} times as many by derivatives."
    return table("What the gradient saves", ("Greedy search, flips", "Attack success", "Seconds"), rows, note)


def _neighbours(study: HotFlipRecord) -> Markup:
    rows = [_words(line) for line in study.neighbours]
    note = (
        "Nearest words by cosine, at the output of the highways. Of the edited words of successes, "
        f"{study.moved} no longer have the original among their five nearest; some of those:"
    )
    return table("What an edited word is taken for", ("Word", "Edited", "Nearest before", "Nearest after"), rows, note)


def _words(line: NearestWords) -> tuple[str, str, str, str]:
    return line.word, line.edited, ", ".join(line.before), ", ".join(line.after)


def terminal(study: HotFlipRecord) -> str:
    """Return the table for the terminal: each model under the attack by flips, and without an attack."""
    rows = [(m.name, str(m.error), str(m.success)) for m in study.hardened]
    title = f"{study.model} on {study.data}, {study.texts:,} texts a run"
    return lines_of(title, ("training", "error without attack", "success of flips"), rows)


SECTION = Section(rank=60, title=TITLE, body=studies, terminal=terminal)
