"""A paired comparison of two sets of runs on the same texts: which texts hold under each attack, before and now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import comb
from typing import Literal

from malaprop.core.errors import RecordError
from malaprop.core.example import TARGET_ALREADY
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import LEAST, Rate

Mark = Literal["held", "broken", "flipped", "wrong", "error", "right", "not right"]
UNATTACKED = ("right", "not right")  # the marks of texts that a spending limit left without an attack
Marks = Mapping[str, Mark]  # the mark of each text, by its id
CLEAN, EVERY = "no attack", "every attack"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRun:
    """One attack on one victim, with a mark for each text: held, broken, flipped, wrong already, or error.

    A flipped text has another label now, but the judge of meaning does not find the same meaning in it. `judged` says
    that a judge rated every success, so that such texts count as held. If a spending limit ended the run, a text that
    was not attacked has the mark of its unchanged text: right or not right.
    """

    victim: str
    attack: str
    marks: Marks
    judged: bool = False

    @property
    def complete(self) -> bool:
        """Whether every text was attacked."""
        return not any(one in UNATTACKED for one in self.marks.values())

    @property
    def ended(self) -> int:
        """The number of attacks that ended."""
        return sum(one in ("held", "broken", "flipped") for one in self.marks.values())

    def fates(self, *, judged: bool) -> Iterator[tuple[str, bool | None]]:
        """Yield whether each attacked text is answered rightly; None after an error."""
        for id, one in self.marks.items():
            if one not in UNATTACKED:
                yield id, _read_mark(one, judged=judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTexts:
    """Whether each text holds under every attack; `unfinished` counts texts on which not every attack has ended.

    These are left out whatever the other attacks did to them: to count only those that one attack breaks would make
    a model look worse the more attacks fail to end. A text on which every attack ended in an error is not counted: it
    could not be attacked, and no attack's own rate counts it.
    """

    held: Mapping[str, bool]
    unfinished: int = 0

    @property
    def rate(self) -> Rate:
        """The share of texts that hold; its interval covers every result of the unfinished texts."""
        few = len(self.held) < LEAST and len(self.held) < self.unfinished
        return Rate(sum(self.held.values()), len(self.held), unfinished=self.unfinished, too_few=few)


def hold_under_all(runs: Iterable[Iterable[tuple[str, bool | None]]], texts: int = 0) -> HeldTexts:
    """Return which texts hold under every attack, from each attack's texts: held, broken, or None after an error.

    `texts` is how many there are, where some may not have been attacked yet.
    """
    many, ended, fell, errors = 0, dict[str, int](), set[str](), Counter[str]()
    for run in runs:
        many += 1
        for id, holds in run:
            ended[id] = ended.get(id, 0) + (holds is not None)
            if holds is None:
                errors[id] += 1
            elif not holds:
                fell.add(id)
    held = {id: id not in fell for id in sorted(ended) if ended[id] == many}
    failed = sum(count == many for count in errors.values())
    return HeldTexts(held=held, unfinished=max(texts, len(ended)) - len(held) - failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyBroken:
    """A text that held at the baseline but not now; `adversarial` is empty if it is wrong without an attack."""

    id: str
    text: str
    adversarial: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One victim under one attack. `before`, `lost`, `won` and `p` are over the texts that both sides have.

    `p` is the chance of as many lost among all that changed, if a change were as likely to be a gain (exact McNemar).
    """

    victim: str
    attack: str
    now: Rate
    before: Rate | None = None
    lost: int = 0
    won: int = 0
    p: float = 1.0
    worse: bool = False
    broken: tuple[NewlyBroken, ...] = ()

    @property
    def drop(self) -> float:
        """The net loss of accuracy, from 0 to 1; negative for a gain."""
        return 0.0 if self.before is None or not self.before.total else (self.lost - self.won) / self.before.total


def digest(fields: Mapping[str, str]) -> str:
    """Return a hash of a text's fields."""
    whole = "\x1f".join(f"{name}\x1e{value}" for name, value in fields.items())
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def mark(outcome: Outcome) -> Mark:
    """Return the mark of an outcome: how the model's answer fared under the attack."""
    if outcome.status == "skipped" and outcome.reason == TARGET_ALREADY:
        return "held"
    if outcome.status == "success" and not outcome.broken:
        return "flipped"
    by_status: dict[str, Mark] = {"failed": "held", "success": "broken", "skipped": "wrong", "error": "error"}
    return by_status[outcome.status]


def holds(outcome: Outcome) -> bool | None:
    """Return whether the model's answer is right under this attack; None after an error."""
    return _read_mark(mark(outcome), judged=True)


def _read_mark(one: Mark, *, judged: bool) -> bool | None:
    return None if one == "error" else one == "held" or (judged and one == "flipped")


def are_judged(*sides: Iterable[MarkedRun]) -> bool:
    """Return whether a judge rated every success of all sides; if not, every flipped label counts on each of them."""
    return all(run.judged for side in sides for run in side)


def sign_test(lost: int, won: int) -> float:
    """Return the chance of at least `lost` losses among all changes, if each were a loss with chance 1/2."""
    many = lost + won
    return float(sum(comb(many, k) for k in range(lost, many + 1)) / 2**many)


def compare(
    before: Sequence[MarkedRun], now: Sequence[MarkedRun], *, max_drop: float, alpha: float
) -> tuple[CheckRow, ...]:
    """Return a row for each attack, one for the unchanged texts, and one for all attacks together, paired by text.

    A row is worse if its drop is above `max_drop` and not due to chance: the sign test rejects it at `alpha`, by
    Holm's method over all rows, so that the chance of a false alarm is at most `alpha` however many attacks there are.
    """
    judged = are_judged(before, now)
    old, new = (_facts(side, judged=judged) for side in (before, now))
    rows = [_row(key, old.get(key), found) for key, found in new.items()]
    tested = [row for row in rows if row.before is not None]
    rejected: set[tuple[str, str]] = set()
    for rank, row in enumerate(sorted(tested, key=lambda row: row.p)):
        if row.p >= alpha / (len(tested) - rank):
            break
        rejected.add((row.victim, row.attack))
    tried = (_judge(row, (row.victim, row.attack) in rejected, max_drop) for row in rows)
    return tuple(_hide_few(row, [run for run in now if run.victim == row.victim]) for row in tried)


def compare_groups(
    before: Sequence[MarkedRun], now: Sequence[MarkedRun], groups: Mapping[str, Collection[str]]
) -> tuple[CheckRow, ...]:
    """Return a row for each victim and group of attacks: the texts that hold under all of them. None is tested."""
    judged = are_judged(before, now)
    rows = []
    for victim in dict.fromkeys(run.victim for run in now):
        for name, attacks in groups.items():
            new = [run for run in now if run.victim == victim and run.attack in attacks]
            named = {run.attack for run in new}
            old = [run for run in before if run.victim == victim and run.attack in named]
            if new:
                known = len(old) == len(new)
                first, second = (hold_under_all(run.fates(judged=judged) for run in side) for side in (old, new))
                row = _row((victim, name), first if known else None, second)
                rows.append(_hide_few(row, [replace(run, attack=name) for run in new]))
    return tuple(rows)


def _hide_few(row: CheckRow, runs: Sequence[MarkedRun]) -> CheckRow:
    """Return the row, without its rate if a limit ended one of its runs before LEAST attacks ended."""
    meant = [run for run in runs if row.attack in (run.attack, EVERY)]
    few = any(not run.complete and run.ended < LEAST for run in meant)
    return replace(row, now=replace(row.now, too_few=True)) if few else row


def _judge(row: CheckRow, rejected: bool, max_drop: float) -> CheckRow:
    return replace(row, worse=rejected and row.drop > max_drop)


def _facts(runs: Iterable[MarkedRun], *, judged: bool) -> dict[tuple[str, str], HeldTexts]:
    """Return, for each victim and attack, whether each text is answered rightly; texts with errors are left out."""
    by_victim: dict[str, list[MarkedRun]] = {}
    for run in runs:
        by_victim.setdefault(run.victim, []).append(run)
    found: dict[tuple[str, str], HeldTexts] = {}
    for victim, held in by_victim.items():
        clean: dict[str, bool] = {}
        for run in held:
            clean |= {id: one not in ("wrong", "not right") for id, one in run.marks.items() if one != "error"}
        found[victim, CLEAN] = HeldTexts(held=clean)
        for run in held:
            fates = run.fates(judged=judged)
            found[victim, run.attack] = HeldTexts(held={id: holds for id, holds in fates if holds is not None})
        if len(held) > 1:
            found[victim, EVERY] = hold_under_all(run.fates(judged=judged) for run in held)
    return found


def _row(key: tuple[str, str], old: HeldTexts | None, new: HeldTexts) -> CheckRow:
    """Return the row of the texts that both sides have; without such texts it compares nothing."""
    victim, attack = key
    both = [id for id in new.held if id in old.held] if old is not None else []
    if old is None or not both:
        return CheckRow(victim=victim, attack=attack, now=new.rate)
    now, before = ({id: side.held[id] for id in both} for side in (new, old))
    lost = [id for id in both if before[id] and not now[id]]
    won = sum(now[id] and not before[id] for id in both)
    return CheckRow(
        victim=victim, attack=attack, now=HeldTexts(held=now, unfinished=new.unfinished).rate,
        before=HeldTexts(held=before, unfinished=old.unfinished).rate, lost=len(lost), won=won,
        p=sign_test(len(lost), won), broken=tuple(NewlyBroken(id=id, text="") for id in lost),
    )  # fmt: skip


# --- the victim's answers to the unchanged texts, which a run with a spending limit stores before its attacks


FILE = "clean.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswer:
    """A victim's scores for one unchanged text. `right` is None for a regression, which has no right answer."""

    id: str
    text: str  # the hash of the text and the victim
    scores: tuple[float, ...]
    right: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanAnswers:
    """The answers of one victim: scores by text id, and `counts`, (right, all), empty for a regression."""

    scores: Mapping[str, tuple[float, ...]]
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[CleanAnswer]) -> CleanAnswers:
        judged = [row.right for row in rows if row.right is not None]
        return cls(scores={row.id: row.scores for row in rows}, counts=(sum(judged), len(judged)) if judged else ())


def mark_text(victim: str, fields: Mapping[str, str]) -> str:
    """Return a hash that identifies one victim's answer to one text."""
    return digest({"": victim, **fields})


def check_same(rows: Sequence[CleanAnswer], marks: Mapping[str, str]) -> None:
    """Raise if answers of an earlier attempt are for other texts or from another victim."""
    if any(marks.get(row.id, row.text) != row.text for row in rows):
        raise RecordError(f"{FILE} holds answers of another victim or for other texts; choose another --out")
