"""A paired comparison of two sets of runs on the same texts: which texts hold under each attack, before and now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import comb
from typing import Literal

from malaprop.core.errors import RecordError
from malaprop.core.example import TARGET_ALREADY
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import LEAST, Rate

Mark = Literal["held", "broken", "wrong", "error", "right", "not right"]
UNATTACKED = ("right", "not right")  # the marks of texts that a spending limit left without an attack
Marks = Mapping[str, Mark]  # the mark of each text, by its id
CLEAN, EVERY = "no attack", "every attack"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRun:
    """One attack on one victim, with a mark for each text: held, broken, wrong already, or error.

    If a spending limit ended the run, a text that was not attacked has the mark of its unchanged text: right or not
    right.
    """

    victim: str
    attack: str
    marks: Marks

    @property
    def complete(self) -> bool:
        """Whether every text was attacked."""
        return not any(one in UNATTACKED for one in self.marks.values())

    @property
    def ended(self) -> int:
        """The number of attacks that ended."""
        return sum(one in ("held", "broken") for one in self.marks.values())


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
    by_status: dict[str, Mark] = {"failed": "held", "success": "broken", "skipped": "wrong", "error": "error"}
    return by_status[outcome.status]


def sign_test(lost: int, won: int) -> float:
    """Return the chance of at least `lost` losses among all changes, if each were a loss with chance 1/2."""
    many = lost + won
    return float(sum(comb(many, k) for k in range(lost, many + 1)) / 2**many)


def compare(
    before: Iterable[MarkedRun], now: Sequence[MarkedRun], *, max_drop: float, alpha: float
) -> tuple[CheckRow, ...]:
    """Return a row for each attack, one for the unchanged texts, and one for all attacks together, paired by text.

    A row is worse if its drop is above `max_drop` and not due to chance: the sign test rejects it at `alpha`, by
    Holm's method over all rows, so that the chance of a false alarm is at most `alpha` however many attacks there are.
    """
    old, new = _facts(before), _facts(now)
    rows = [_row(key, old.get(key), found) for key, found in new.items()]
    tested = [row for row in rows if row.before is not None]
    rejected: set[tuple[str, str]] = set()
    for rank, row in enumerate(sorted(tested, key=lambda row: row.p)):
        if row.p >= alpha / (len(tested) - rank):
            break
        rejected.add((row.victim, row.attack))
    judged = (_judge(row, (row.victim, row.attack) in rejected, max_drop) for row in rows)
    return tuple(_hide_few(row, [run for run in now if run.victim == row.victim]) for row in judged)


def compare_groups(
    before: Iterable[MarkedRun], now: Sequence[MarkedRun], groups: Mapping[str, Collection[str]]
) -> tuple[CheckRow, ...]:
    """Return a row for each victim and group of attacks: the texts that hold under all of them. None is tested."""
    old, new = _facts(before), _facts(now)
    rows = []
    for victim in dict.fromkeys(run.victim for run in now):
        for name, attacks in groups.items():
            runs = [run for run in now if run.victim == victim and run.attack in attacks]
            known = all((victim, run.attack) in old for run in runs)
            first = hold_under_all([old[victim, run.attack] for run in runs]) if known else None
            if runs:
                row = _row((victim, name), first, hold_under_all([new[victim, run.attack] for run in runs]))
                rows.append(_hide_few(row, [replace(run, attack=name) for run in runs]))
    return tuple(rows)


def _hide_few(row: CheckRow, runs: Sequence[MarkedRun]) -> CheckRow:
    """Return the row, without its rate if a limit ended one of its runs before LEAST attacks ended."""
    meant = [run for run in runs if row.attack in (run.attack, EVERY)]
    few = any(not run.complete and run.ended < LEAST for run in meant)
    return replace(row, now=replace(row.now, too_few=True)) if few else row


def _judge(row: CheckRow, rejected: bool, max_drop: float) -> CheckRow:
    return replace(row, worse=rejected and row.drop > max_drop)


def _facts(runs: Iterable[MarkedRun]) -> dict[tuple[str, str], dict[str, bool]]:
    """Return, for each victim and attack, whether each text is answered rightly; texts with errors are left out."""
    by_victim: dict[str, list[MarkedRun]] = {}
    for run in runs:
        by_victim.setdefault(run.victim, []).append(run)
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for victim, held in by_victim.items():
        clean: dict[str, bool] = {}
        for run in held:
            clean |= {id: one not in ("wrong", "not right") for id, one in run.marks.items() if one != "error"}
        found[victim, CLEAN] = clean
        for run in held:
            attacked = {id: one for id, one in run.marks.items() if one != "error" and one not in UNATTACKED}
            found[victim, run.attack] = {id: one == "held" for id, one in attacked.items()}
        if len(held) > 1:
            found[victim, EVERY] = hold_under_all([found[victim, run.attack] for run in held])
    return found


def hold_under_all(runs: Collection[Mapping[str, bool]]) -> dict[str, bool]:
    """Return whether each text holds under every attack; texts without all results count only if broken."""
    every = {id for run in runs for id in run}
    return {
        id: all(run.get(id, False) for run in runs)
        for id in sorted(every)
        if all(id in run for run in runs) or any(run.get(id) is False for run in runs)
    }


def _row(key: tuple[str, str], old: Mapping[str, bool] | None, new: Mapping[str, bool]) -> CheckRow:
    victim, attack = key
    now = Rate(sum(new.values()), len(new))
    if old is None:
        return CheckRow(victim=victim, attack=attack, now=now)
    both = [id for id in new if id in old]
    lost = [id for id in both if old[id] and not new[id]]
    won = sum(new[id] and not old[id] for id in both)
    return CheckRow(
        victim=victim, attack=attack, now=Rate(sum(new[id] for id in both), len(both)),
        before=Rate(sum(old[id] for id in both), len(both)), lost=len(lost), won=won, p=sign_test(len(lost), won),
        broken=tuple(NewlyBroken(id=id, text="") for id in lost),
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
