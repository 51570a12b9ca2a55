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
    """The success rates of one attack at several confidences: probabilities of a wrong label that it must reach.

    At 0 any wrong label is a success.
    """

    attack: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipChange:
    """The edits of one run.

    `share`: how many of the characters each success changed. `operations`: flips, insertions and deletions in
    successes, counted as the shortest edit script from each old to each new word. `picked`: the operations that the
    search really made, also in failures. `most_in_a_word`: the largest number of them in one word, averaged over texts.
    `picked` and `most_in_a_word` are empty if the search does not count them.
    """

    attack: str
    confidence: float
    success: Rate
    share: Spread
    operations: dict[str, int]
    picked: dict[str, int] = field(default_factory=dict)
    most_in_a_word: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """The plain model, or one trained by a method, under the beam search with flips alone.

    `error` is on the whole test part without an attack; `success` is the attack's success rate; `validation` is the
    accuracy on the part held out from training, by which the paper chooses; None in older records.
    """

    name: str
    about: str
    error: Rate
    success: Rate
    epochs: int
    epoch_seconds: float
    validation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestWords:
    """The words nearest to a word's vector before and after an edit."""

    word: str
    edited: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedComparison:
    """Greedy search on the same texts with edits chosen by the gradient's estimate and by the exact loss."""

    success: Rate
    exact_success: Rate
    seconds: float
    exact_seconds: float

    @property
    def ratio(self) -> float | None:
        """Return how many times more successes a second the estimate finds; None if either finds none."""
        if not (self.success.hits and self.exact_success.hits and self.seconds > 0):
            return None
        return (self.success.hits / self.seconds) / (self.exact_success.hits / self.exact_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipRecord(Record):
    """The result of a HotFlip study.

    `moved` counts the edited words of successes whose original is not among the five nearest words any more. `economy`
    compares the speed of estimates and exact losses. `ranked`: greedy search with all three operations on a few texts,
    with edits chosen by the exact loss and by the gradient's estimate. `varied` are variants of the attacks: other
    operations, and other bounds on the edits of a word.
    """

    model: str
    data: str
    texts: int
    curves: tuple[Curve, ...] = ()
    changes: tuple[HotFlipChange, ...] = ()
    hardened: tuple[ModelResult, ...] = ()
    neighbours: tuple[NearestWords, ...] = ()
    moved: Rate = field(default_factory=lambda: Rate(0, 0))
    economy: SpeedComparison | None = None
    ranked: tuple[HotFlipChange, ...] = ()
    varied: tuple[HotFlipChange, ...] = ()


TITLE = "HotFlip study"


def studies(found: Sequence[HotFlipRecord]) -> Markup:
    """Return a card for each study."""
    return join(*(_card(study, number) for number, study in enumerate(found)))


def _card(study: HotFlipRecord, number: int) -> Markup:
    lead = (
        f"{study.model} on {study.data}: attacks that choose character edits by the gradient, {study.texts:,} texts a "
        "run. Rates are over texts that the model classified correctly before, with 95% intervals."
    )
    body: list[Child] = [_figure(study), _changes("Edits of each attack", study.changes), _training(study.hardened)]
    if study.varied:
        body.append(_changes("Variants of the attacks", study.varied))
    if study.economy is not None:
        body.append(_compare_speed(study.economy))
    if study.moved.total:
        body.append(_neighbours(study))
    return card(f"hotflip-{number}", TITLE, lead, *body)


def _figure(study: HotFlipRecord) -> Markup:
    lines = [
        (curve.attack, color, [Mark.of(at, rate) for at, rate in curve.points if rate.total])
        for color, curve in enumerate(study.curves)
    ]
    most = max((at for curve in study.curves for at, _ in curve.points), default=1.0)
    axis = Axis(label="Least probability of the wrong label; 0: any wrong label", low=0, high=most or 1.0, show=percent)
    title = "Attack success rate by the confidence that it must reach"
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


def _training(models: Sequence[ModelResult]) -> Markup:
    rows = [
        (m.name, str(m.error), str(m.success), m.epochs, f"{m.epoch_seconds:.1f}", m.about.partition("Hardened: ")[2])
        for m in models
    ]
    names = ("Training", "Error without attack", "Attack success of flips", "Epochs", "Seconds an epoch", "How")
    note = (
        "The error is on the whole test part; the attack is the beam search with flips alone. Seconds are comparable "
        "only if the models were trained one at a time."
    )
    return table("Before and after training against attacks", names, rows, note)


def _compare_speed(speed: SpeedComparison) -> Markup:
    rows = [
        ("gradient estimate", str(speed.success), f"{speed.seconds:.1f}"),
        ("exact loss", str(speed.exact_success), f"{speed.exact_seconds:.1f}"),
    ]
    ratio = speed.ratio
    note = "" if ratio is None else f"Adversarial texts a second: {ratio:.0f} times as many with the estimate."
    names = ("Greedy search, flips, by", "Attack success", "Seconds")
    return table("Speed: gradient estimate against exact loss", names, rows, note)


def _neighbours(study: HotFlipRecord) -> Markup:
    rows = [_words(line) for line in study.neighbours]
    note = (
        "Nearest words by cosine, at the output of the highway layers. Of the edited words of successes, "
        f"{study.moved} no longer have the original among their five nearest words. The table has examples of those."
    )
    return table(
        "Nearest words before and after an edit", ("Word", "Edited", "Nearest before", "Nearest after"), rows, note
    )


def _words(line: NearestWords) -> tuple[str, str, str, str]:
    return line.word, line.edited, ", ".join(line.before), ", ".join(line.after)


def terminal(study: HotFlipRecord) -> str:
    """Return the table for the terminal: each model's error without an attack, and the success of flips on it."""
    rows = [(m.name, str(m.error), str(m.success)) for m in study.hardened]
    title = f"{study.model} on {study.data}, {study.texts:,} texts a run"
    return lines_of(title, ("training", "error without attack", "success of flips"), rows)


SECTION = Section(rank=60, title=TITLE, body=studies, terminal=terminal)
