"""The summary of a run's outcomes: rates with their intervals, queries, curves, abused words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import fsum, sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from malaprop.core.example import ALL_PROTECTED, NO_WORDS, NOTHING_TO_CHANGE, TARGET_ALREADY
from malaprop.frame.records.outcome import NAMES_NO_LABEL, REJECTS, STATUSES, Outcome

if TYPE_CHECKING:
    from malaprop.frame.records.run import Run

Z95 = 1.959964  # the normal's 97.5% point
LEAST = 20  # attacks that must have ended in a run that a limit stopped, for a rate to be shown


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of a count, with Wilson's 95% interval.

    `units` is for counts whose members are not independent, such as several people's answers about one text: the
    interval then rests on so many units, not on the total. `unfinished` counts further texts whose result is unknown:
    the interval reaches from none of them to all of them. `too_few` means that there is no rate to show.
    """

    hits: int
    total: int
    units: int | None = None
    unfinished: int = field(default=0, kw_only=True)
    too_few: bool = field(default=False, kw_only=True)

    @property
    def shown(self) -> bool:
        """Whether the rate has a value to show: there is something to count, and not too little."""
        return self.total > 0 and not self.too_few

    @property
    def value(self) -> float:
        """The share, between 0 and 1; nan if there is nothing to count, or too little."""
        return self.hits / self.total if self.shown else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        if not self.total:
            return 0.0, 1.0
        if self.unfinished:
            every = self.total + self.unfinished
            return Rate(self.hits, every).interval[0], Rate(self.hits + self.unfinished, every).interval[1]
        n, p, z2 = self.units or self.total, self.hits / self.total, Z95 * Z95
        middle = (p + z2 / (2 * n)) / (1 + z2 / n)
        half = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        if not self.total:
            return "n/a (0/0)"
        if self.too_few:
            return f"- ({self.hits}/{self.total})"
        low, high = self.interval
        return f"{100 * self.value:.1f}% ({self.hits}/{self.total}, {100 * low:.1f}-{100 * high:.1f})"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval
        part = {"unfinished": self.unfinished} if self.unfinished else {}
        counts = {"value": _six(self.value), "hits": self.hits, "total": self.total}
        return {**counts, "low": _six(low), "high": _six(high), **part}


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean and a median; None if there are no numbers."""

    mean: float | None
    median: float | None

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Spread:
        found = list(numbers)
        return cls(fmean(found), float(median(found))) if found else cls(None, None)

    def to_dict(self) -> dict[str, Any]:
        return {"mean": _six(self.mean), "median": _six(self.median)}


def _six(number: float | None) -> float | None:
    return None if number is None or number != number else round(number, 6)


@dataclass(frozen=True, slots=True)
class Validity:
    """How many of the texts whose label an attack flipped keep their meaning, in the eyes of the judge.

    `flipped` counts texts with a success, or with a text that reached the goal and was refused; `kept`, `unsure` and
    `changed` count the judge's verdicts on the best of them.
    """

    flipped: Rate
    kept: Rate
    unsure: Rate
    robust: Rate  # accuracy where only a text that keeps its meaning counts as a success

    @property
    def sentence(self) -> str:
        """The counts as text; empty where no label flipped."""
        if not self.flipped.hits:
            return ""
        doubt = f" and is unsure of {self.unsure.hits:,}" if self.unsure.hits else ""
        many, texts = self.flipped.hits, "text" if self.flipped.hits == 1 else "texts"
        return f"of {many:,} {texts} whose label flipped, the judge calls {self.kept.hits:,} valid{doubt}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        changed = self.flipped.hits - self.kept.hits - self.unsure.hits
        counts = {"kept": self.kept.hits, "unsure": self.unsure.hits, "changed": changed}
        rates = {"success": self.kept.to_dict(), "accuracy_under_attack": self.robust.to_dict()}
        return {**counts, "flipped": self.flipped.to_dict(), **rates}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of one run. Texts that have an attack's target label already count as right. Rates exclude errors,
    but clean accuracy counts those whose unchanged text the victim answered.

    `nothing_to_change` counts failed texts in which the attack found no edit to try: they are among the rates, as they
    are elsewhere, but say nothing about the victim. `no_label` counts texts to which a victim that answers in words
    named no label, before the attack (skipped) or by it (success). `rejected_clean` and `rejected_attacked` count texts
    that a detector rejects: originals, which count as wrong, and texts that held because the detector found the best
    attempt. `majority` is the share of the most common label, `chance` one divided by the number of labels. Queries are
    over attacked examples (success and failed), `to_break` over successes alone. `by` counts successes by the recipe
    that broke the text, where several were tried in turn.

    `seconds` adds up each example's own time in flight; examples driven side by side overlap, so it is not wall time.
    """

    counts: dict[str, int]
    clean: Rate
    under_attack: Rate
    success: Rate
    asked: Spread
    unique: Spread
    forwarded: Spread
    to_break: Spread
    changed_share: Spread
    seconds: float
    measures: dict[str, Spread]
    reasons: dict[str, int]
    nothing_to_change: int = 0
    target_already: int = 0
    no_label: int = 0
    rejected_clean: int = 0
    rejected_attacked: int = 0
    majority: Rate = Rate(0, 0)
    chance: float = 0.0
    by: dict[str, int] = field(default_factory=dict)
    stopped: str = ""  # how a spending limit ended the run, as text
    validity: Validity | None = None  # where a judge of meaning was asked

    @property
    def robust(self) -> Rate:
        """The accuracy under attack that counts: under texts that keep their meaning, where a judge was asked."""
        return self.under_attack if self.validity is None else self.validity.robust

    @property
    def broken(self) -> Rate:
        """The success rate that counts, as `robust` does."""
        return self.success if self.validity is None else self.validity.kept

    def cut_short(self, run: Run) -> Summary:
        """Return the summary with the figures that hold if a spending limit ended this run early.

        Clean accuracy is over all texts, which were classified before any attack. The other rates are over attacks that
        ended; their intervals cover every result of the attacks in progress; fewer than LEAST give no rate.
        """
        done = sum(self.counts.values())
        if run.state != "budget" and (not run.clean or done >= run.n):
            return self
        ended = self.success.total
        how = f"stopped by {run.stopped or 'a spending limit'}" if run.state == "budget" else "under way or killed"
        why = f": {ended} attacks ended, and no rate is shown of fewer than {LEAST}" if ended < LEAST else ""

        def cut(rate: Rate) -> Rate:
            return replace(rate, unfinished=run.cut, too_few=ended < LEAST)

        judged = self.validity and Validity(*(cut(getattr(self.validity, one.name)) for one in fields(Validity)))
        return replace(
            self, clean=Rate(*run.clean) if run.clean else self.clean, under_attack=cut(self.under_attack),
            success=cut(self.success), stopped=f"{how} after {done:,} of {run.n:,} texts{why}", validity=judged,
        )  # fmt: skip

    @property
    def apart(self) -> str:
        """The counts of texts that are reported beside the rates, as text; empty if there are none."""
        parts = (
            (self.nothing_to_change, "nothing to change"),
            (self.target_already, "the target already"),
            (self.no_label, "answered without a label"),
            (self.rejected_clean, "rejected without an attack"),
            (self.rejected_attacked, "rejected under attack"),
        )
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)

    @property
    def breakers(self) -> str:
        """How many texts each recipe broke, as text; empty if only one recipe was tried."""
        return ", ".join(f"{recipe} {count:,}" for recipe, count in self.by.items())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reasons to doubt the rates, one line each."""
        out = []
        bar, answered = min(self.chance, self.majority.value), self.clean.total - self.rejected_clean
        low = self.clean.total > 0 and self.clean.value < bar
        if low and (not answered or self.clean.hits / answered >= bar):
            out.append(
                f"clean accuracy {self.clean} is low because {self.rejected_clean:,} of {self.clean.total:,} texts are "
                "rejected without an attack"
            )
        elif low:
            out.append(
                f"clean accuracy {self.clean} is below chance ({100 * self.chance:.1f}%) and below the most common "
                f"label ({100 * self.majority.value:.1f}%): are the labels in the victim's order? --labels gives it"
            )
        if self.nothing_to_change:
            out.append(
                f"this attack found nothing to change in {self.nothing_to_change:,} of {self.success.total:,} texts; "
                "they count as failed attacks, and say nothing about the victim"
            )
        return tuple(out)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], labels: Sequence[str] = ()) -> Summary:
        """Return the summary of the outcomes, which may be an iterator: none of them is kept."""
        return Totals(outcomes, labels).summary()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a rate or mean of no numbers is null."""
        return {
            "counts": dict(self.counts),
            "clean_accuracy": self.clean.to_dict(),
            "accuracy_under_attack": self.under_attack.to_dict(),
            "success": self.success.to_dict(),
            "robust_accuracy": self.robust.to_dict(),
            "valid_success": self.broken.to_dict(),
            "queries": {
                "asked": self.asked.to_dict(),
                "unique": self.unique.to_dict(),
                "forwarded": self.forwarded.to_dict(),
                "asked_to_break": self.to_break.to_dict(),
            },
            "changed_share": self.changed_share.to_dict(),
            "seconds": self.seconds,
            "measures": {name: spread.to_dict() for name, spread in self.measures.items()},
            "reasons": dict(self.reasons),
            "nothing_to_change": self.nothing_to_change,
            "target_already": self.target_already,
            "no_label": self.no_label,
            "rejected_clean": self.rejected_clean,
            "rejected_attacked": self.rejected_attacked,
            "warnings": list(self.warnings),
            "by": dict(self.by),
            **({"stopped": self.stopped} if self.stopped else {}),
            **({"validity": self.validity.to_dict()} if self.validity is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class Point:
    """The accuracy under attack if the attack may spend at most `at`."""

    at: float
    accuracy: Rate


def _curve(outcomes: Sequence[Outcome], costs: list[float], at: Iterable[float] | None) -> list[Point]:
    """Return a point for each cost in `at`, or, without `at`, for each cost at which a text breaks."""
    counts = Counter(o.status for o in outcomes)
    spared = sum(o.status == "skipped" and o.reason == TARGET_ALREADY for o in outcomes)
    correct, total = counts["success"] + counts["failed"] + spared, sum(counts.values()) - counts["error"]
    costs = sorted(costs)
    points, broken = [], 0
    for limit in sorted(set(costs) if at is None else at):
        while broken < len(costs) and costs[broken] <= limit:
            broken += 1
        points.append(Point(limit, Rate(correct - broken, total)))
    return points


def accuracy_by_queries(outcomes: Sequence[Outcome], budgets: Iterable[float] | None = None) -> list[Point]:
    """Return the accuracy under attack for each limit on the queries of one example."""
    return _curve(outcomes, [o.queries.asked for o in outcomes if o.broken], budgets)


def accuracy_by_change(outcomes: Sequence[Outcome], shares: Iterable[float] | None = None) -> list[Point]:
    """Return the accuracy under attack for each limit on the share of words changed."""
    return _curve(outcomes, [o.changed_share for o in outcomes if o.broken], shares)


def abused_pairs(outcomes: Iterable[Outcome]) -> Counter[tuple[str, str]]:
    """Count how often each word was replaced by each other word, over what is broken; a word's case is ignored."""
    return Counter((e.before.lower(), e.after) for o in outcomes if o.broken for e in o.edits if e.op != "rewrite")


def abused_words(outcomes: Iterable[Outcome]) -> Counter[str]:
    """Count for each word the successes in which it was changed; a word's case is ignored."""
    return Counter(word for o in outcomes if o.broken for word in _list_changed(o))


def _list_changed(outcome: Outcome) -> set[str]:
    """Return the words that an attack changed, in lower case; a rewritten field has none of its own."""
    return {edit.before.lower() for edit in outcome.edits if edit.op != "rewrite"} - {""}


_APART = (
    ("failed", NOTHING_TO_CHANGE),
    ("failed", ALL_PROTECTED),
    ("failed", NO_WORDS),
    ("skipped", TARGET_ALREADY),
    ("skipped", NAMES_NO_LABEL),
    ("success", NAMES_NO_LABEL),
)


class Totals:
    """A summary in progress: `add` each outcome, then call `summary()` at any time."""

    def __init__(self, outcomes: Iterable[Outcome] = (), labels: Sequence[str] = ()) -> None:
        from malaprop.core.victim import NO_LABEL, REJECTED  # here: it loads numpy, which --help must not

        self.named = len(
            [name for name in labels if name not in (NO_LABEL, REJECTED)]
        )  # labels that a guess can name; 0: not known
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()  # by status: skipped for originals, failed for strongest attempts
        self.apart: Counter[str] = Counter()  # by the reasons that are counted beside the rates
        self.by: Counter[str] = Counter()  # successes by the recipe that broke the text, where several were tried
        self.truths: Counter[int] = Counter()
        self.verdicts: Counter[str] = Counter()  # the judge's, on texts whose label flipped
        self.judged = False
        self.width = 0  # labels that the victim scores
        self.spoiled: Counter[bool] = Counter()  # errors after the victim answered the unchanged text, by: was it right
        self.seconds = 0.0
        self._numbers: dict[str, Counter[float]] = {}
        for outcome in outcomes:
            self.add(outcome)

    def add(self, outcome: Outcome) -> None:
        self.counts[outcome.status] += 1
        self.seconds += outcome.seconds
        if outcome.status != "error" or outcome.original.prediction is not None:
            self.truths[outcome.label] += 1
            self.width = max(self.width, len(outcome.original.scores))
        if (outcome.status, outcome.reason) in _APART:
            self.apart[outcome.reason or ""] += 1
        if outcome.reason == REJECTS:
            self.rejected[outcome.status] += 1
        if outcome.status == "error":
            self.reasons[outcome.reason or "no reason given"] += 1
            if outcome.original.prediction is not None:
                self.spoiled[outcome.original.prediction == outcome.label] += 1
        if outcome.status in ("success", "failed"):
            self._note("asked", outcome.queries.asked)
            self._note("unique", outcome.queries.unique)
            self._note("forwarded", outcome.queries.forwarded)
            for name, value in outcome.measures.items():
                self._note(f"measure {name}", value)
        self._judge(outcome)
        if outcome.status == "success":
            self._note("to_break", outcome.queries.asked)
            self._note("changed_share", outcome.changed_share)
            self.by.update([outcome.by] if outcome.by else [])

    def _judge(self, outcome: Outcome) -> None:
        """Count the verdict on a success, or on a text whose every flip the judge refused."""
        if outcome.meaning is not None or outcome.flips:
            self.judged = True
        if outcome.status == "success" and outcome.validity is not None:
            self.verdicts[outcome.validity] += 1
        elif outcome.status == "failed" and outcome.flips:
            self.verdicts["changed"] += 1

    def _note(self, name: str, value: float) -> None:
        self._numbers.setdefault(name, Counter())[value] += 1

    def summary(self) -> Summary:
        broken, held, skipped = (self.counts[status] for status in ("success", "failed", "skipped"))
        spared, every = self.apart[TARGET_ALREADY], broken + held + skipped
        labels = min(self.width, self.named or self.width)
        measures = {name.removeprefix("measure "): name for name in self._numbers if name.startswith("measure ")}
        return Summary(
            counts={status: self.counts[status] for status in STATUSES},
            clean=Rate(broken + held + spared + self.spoiled[True], every + self.spoiled.total()),
            under_attack=Rate(held + spared, every),
            success=Rate(broken, broken + held),
            asked=self._spread("asked"),
            unique=self._spread("unique"),
            forwarded=self._spread("forwarded"),
            to_break=self._spread("to_break"),
            changed_share=self._spread("changed_share"),
            seconds=round(self.seconds, 6),
            measures={short: self._spread(name) for short, name in measures.items()},
            reasons=dict(self.reasons.most_common()),
            nothing_to_change=sum(self.apart[why] for why in (NOTHING_TO_CHANGE, ALL_PROTECTED, NO_WORDS)),
            target_already=spared,
            no_label=self.apart[NAMES_NO_LABEL],
            rejected_clean=self.rejected["skipped"],
            rejected_attacked=self.rejected["failed"],
            majority=Rate(max(self.truths.values(), default=0), self.truths.total()),
            chance=1 / labels if labels else 0.0,
            by=dict(self.by.most_common()),
            validity=self._validity(held + spared, broken, held, every) if self.judged else None,
        )

    def _validity(self, right: int, broken: int, held: int, every: int) -> Validity:
        kept, attacked = self.verdicts["kept"], broken + held
        flipped = Rate(self.verdicts.total(), attacked)
        unsure = Rate(self.verdicts["unsure"], attacked)
        return Validity(flipped, Rate(kept, attacked), unsure, Rate(right + broken - kept, every))

    def _spread(self, name: str) -> Spread:
        counts = self._numbers.get(name)
        if not counts:
            return Spread(None, None)
        total = counts.total()
        return Spread(fsum(value * many for value, many in counts.items()) / total, _median(counts, total))


def _median(counts: Counter[float], total: int) -> float:
    low, high = (total - 1) // 2, total // 2
    found: list[float] = []
    passed = 0
    for value, many in sorted(counts.items()):
        passed += many
        found += [value] * ((passed > low) + (passed > high) - len(found))
        if len(found) == 2:
            break
    return (found[0] + found[1]) / 2
