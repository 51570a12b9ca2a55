"""FlipBeam: HotFlip's search over character edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from malaprop.attacks.gradient.look import aim, filter_allowed, judge_look, look
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import OPERATIONS, CharLook, CharSeen
from malaprop.core.score import Floats, ranked
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

_ROUNDING = 1e-5  # share of the largest score that batch rounding may change, so that it decides nothing
CLOSES = ("word", "character", "neighbours")  # what an edit closes to further edits
_SIGNS = 100  # about as many characters as may replace one
_SPARE = 54  # edits requested beyond the beam's width, as some give known words and some the same text twice


Closed = Mapping[int, str]  # by slot, which characters of its word are closed


class Member(NamedTuple):
    """A path of the beam: its text, its score, its edits, and the characters that it may not edit again."""

    text: Text
    score: float  # the score of the path that leads to the text
    closed: Closed = MappingProxyType({})
    edits: tuple[tuple[int, str], ...] = ()  # slot and operation of each edit, in order

    def edit(self, slot: int, word: str, score: float, *, closes: str = "", limit: int | None = None) -> Member | None:
        """Return the path with one more edit; None where a closed character is edited, or a word too often.

        `closes` is "character" or "neighbours" where characters are closed; `limit` is the most edits of a word.
        """
        old, closed = self.text.strings[slot], dict(self.closed)
        if limit is not None and sum(at == slot for at, _ in self.edits) >= limit:
            return None
        if closes:
            found = close_character(old, word, self.closed.get(slot, ""), beside=closes == "neighbours")
            if found is None:
                return None
            closed[slot] = found
        return Member(self.text.put(slot, word), score, closed, (*self.edits, (slot, _operation(old, word))))


def _operation(before: str, after: str) -> str:
    """Return which operation made one word of another: one character is replaced, put in or taken out."""
    return "flip" if len(before) == len(after) else "insert" if len(before) < len(after) else "delete"


def close_character(before: str, after: str, closed: str, *, beside: bool = False) -> str | None:
    """Return the marks of the edited word: x for closed characters, . for others; None where a closed one was edited.

    Where the place of an insertion or deletion is ambiguous, as in a double letter, an open place is taken. With
    `beside` an insertion closes the characters on both sides of it too, and both must be open.
    """
    marks = closed or "." * len(before)
    if len(after) == len(before):
        at = next((i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b), None)
        return None if at is None or marks[at] == "x" else f"{marks[:at]}x{marks[at + 1 :]}"
    if len(after) > len(before):
        places = [i for i in range(len(after)) if f"{after[:i]}{after[i + 1 :]}" == before]
        if not beside:
            return f"{marks[: places[0]]}x{marks[places[0] :]}"
        at = next((i for i in places if "x" not in marks[max(0, i - 1) : i + 1]), None)
        if at is None:
            return None
        left, right = marks[:at], marks[at:]
        return f"{left[:-1]}{'x' * bool(left)}x{'x' * bool(right)}{right[1:]}"
    gone = [i for i in range(len(before)) if f"{before[:i]}{before[i + 1 :]}" == after and marks[i] == "."]
    return f"{marks[: gone[0]]}{marks[gone[0] + 1 :]}" if gone else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipBeam:
    """Beam search over character edits by the sum of their derivatives (Ebrahimi et al. 2018, section 3.3).

    Each step keeps the `width` best paths, until one reaches the goal or `share` of the characters are changed.
    `operations` are some of flip, insert, delete. With `new_words` an edited word must not be in the victim's
    vocabulary. With `once` a word is edited once: estimates soon send a character there and back again, which wastes
    the budget; or, with closes="character", as the paper's bound can be read, a character is edited once, and a word as
    often as it has characters, at most `per_word` times; with closes="neighbours" an insertion closes the characters on
    both sides of it too. `odds`: derivatives of log((1 - p) / p), not of the log loss. `anchored`: a path's score is
    the loss of the text itself plus the next derivative, not the path's sum. `exact`: every edit of every member is
    queried instead of estimated, which shows what the gradient saves. The operations that lead to the result are
    counted in the outcome's measures.
    """

    width: int = 10
    share: float = 0.1
    operations: tuple[str, ...] = OPERATIONS
    new_words: bool = True
    once: bool = True
    closes: str = "word"
    per_word: int | None = None
    odds: bool = False
    anchored: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        if self.width < 1 or not 0 < self.share <= 1:
            raise SettingError(f"FlipBeam needs width >= 1 and a share in (0, 1], got {self.width} and {self.share}")
        if self.closes not in CLOSES:
            raise SettingError(f"FlipBeam.closes takes {', '.join(CLOSES[:-1])} or {CLOSES[-1]}, got {self.closes!r}")
        if self.per_word is not None and self.per_word < 1:
            raise SettingError(f"FlipBeam.per_word must be at least 1, got {self.per_word}")
        if not self.operations or any(o not in OPERATIONS for o in self.operations):
            raise SettingError(f"FlipBeam.operations takes some of {', '.join(OPERATIONS)}, got {self.operations}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        beam = [Member(start.text, 0.0)]
        paths: dict[bytes, Member] = {}
        for left in range(budget(trial, self.share), -1, -1):
            looks = [self._look(trial, member, space) for member in beam]
            seen = yield from look(trial, looks)
            ends = [held for _, held in seen if held.reached]
            if ends or not left:
                break
            beam = yield from self._next(trial, beam[: len(seen)], seen)
            paths |= {member.text.parts.tobytes(): member for member in beam}
            if not beam:
                break
        result = trial.held or start
        trial.notes |= _count(paths.get(result.text.parts.tobytes()))
        return result

    def _look(self, trial: Trial, member: Member, space: Space) -> CharLook:
        closed = sum(marks.count("x") for marks in member.closed.values())
        return CharLook(
            text=member.text,
            aim=aim(trial, odds=self.odds),
            slots=self._open(trial, member.text, space),
            most=None if self.exact else self.width + _SPARE + _SIGNS * closed,
            operations=self.operations,
            new_words=self.new_words,
        )

    def _open(self, trial: Trial, text: Text, space: Space) -> Ints:
        if not self.once or self._marks:
            return space.slots
        untouched: Ints = space.slots[text.words[space.slots] == trial.origin.words[space.slots]]
        return untouched

    @property
    def _marks(self) -> bool:
        """Whether paths track their closed characters."""
        return self.once and self.closes != "word"

    def _edit(self, member: Member, slot: int, word: str, score: float) -> Member | None:
        """Return the member with one more edit; None where it is not allowed."""
        return member.edit(slot, word, score, closes=self.closes if self._marks else "", limit=self.per_word)

    def _next(self, trial: Trial, beam: list[Member], seen: list[tuple[CharSeen, Held]]) -> Steps[list[Member]]:
        if self.exact:
            return (yield from self._next_exact(trial, beam, [edits for edits, _ in seen]))
        bases = [self._base(trial, member, held) for member, (_, held) in zip(beam, seen, strict=True)]
        scores = np.concatenate([base + edits.gains for base, (edits, _) in zip(bases, seen, strict=True)])
        which = np.repeat(np.arange(len(beam)), [len(edits) for edits, _ in seen])
        first = np.cumsum([0, *(len(edits) for edits, _ in seen)])
        if not len(scores):
            return []
        made: dict[bytes, Member] = {}
        order = ranked(scores.astype(np.float32), slack=_ROUNDING * float(np.abs(scores).max())).tolist()
        while order and len(made) < self.width:
            fresh: list[Member] = []
            while order and len(made) + len(fresh) < self.width:
                at = order.pop(0)
                edits, edit = seen[which[at]][0], at - int(first[which[at]])
                if word := edits.word(edit):
                    slot, score = int(edits.slots[edit]), float(scores[at])
                    if member := self._edit(beam[which[at]], slot, word, score):
                        fresh.append(member)
            fine = yield from filter_allowed(trial, [member.text for member in fresh])
            kept = {id(text) for text in fine}
            for member in fresh:
                if id(member.text) in kept:
                    made.setdefault(member.text.parts.tobytes(), member)
        return list(made.values())

    def _base(self, trial: Trial, member: Member, held: Held) -> float:
        """Return the value to which the next derivative is added."""
        if not self.anchored:
            return member.score
        here = odds(trial, held.answer)
        if self.odds:
            return here
        sign = 1 if aim(trial, odds=False).away else -1
        return sign * float(np.logaddexp(0, sign * here))  # the log loss, or its opposite for a target

    def _next_exact(self, trial: Trial, beam: list[Member], seen: Sequence[CharSeen]) -> Steps[list[Member]]:
        """Return the next beam by the exact loss of every edit of every member."""
        groups = []
        for member, edits in zip(beam, seen, strict=True):
            table = member.text.table
            pairs = dict.fromkeys(
                (slot, table.id(word))
                for e, slot in enumerate(edits.slots.tolist())
                if (word := edits.word(e)) and self._edit(member, slot, word, 0.0)
            )
            both = np.asarray(list(pairs), np.int64).reshape(-1, 2)
            groups.append(Variants(member.text, both[:, 0], both[:, 1]))
        found = list(zip(beam, (yield from trial.score(groups)), strict=True))
        beam, scored = [m for m, one in found if len(one.values)], [one for _, one in found if len(one.values)]
        if not scored:
            return []
        values = np.concatenate([[odds(trial, row) for row in one.answers] for one in scored]).astype(np.float32)
        which = np.repeat(np.arange(len(scored)), [len(one.values) for one in scored])
        first = np.cumsum([0, *(len(one.values) for one in scored)])
        made: dict[bytes, Member] = {}
        for at in ranked(values).tolist():
            one, variant = scored[which[at]], at - int(first[which[at]])
            text, slot = one.variants.pick(variant), int(one.variants.slots[variant])
            if text.parts.tobytes() not in made and (yield from filter_allowed(trial, [text])):
                kept = self._edit(beam[which[at]], slot, text.strings[slot], float(values[at]))
                assert kept is not None  # it was allowed when it was proposed
                made[text.parts.tobytes()] = kept
                judge_look(trial, text, one.answers[at - int(first[which[at]])])
            if len(made) == self.width:
                break
        return list(made.values())


def _count(member: Member | None) -> dict[str, float]:
    """Return how often a path picked each operation, and the most edits that one word took."""
    edits = member.edits if member is not None else ()
    slots = [slot for slot, _ in edits]
    picked = {f"picked_{name}": float(sum(one == name for _, one in edits)) for name in OPERATIONS}
    return {**picked, "most_in_a_word": float(max(map(slots.count, slots), default=0))}


def odds(trial: Trial, answer: Floats) -> float:
    """Return the log odds against the true label, log((1 - p) / p), or those for the target.

    The score of rejection counts with the true label's. 1 - p is the sum of the other labels' scores, which keeps small
    numbers apart.
    """
    target = aim(trial, odds=True)
    right = [target.label] if target.beside is None else [target.label, target.beside]
    own = float(answer[right].sum())
    rest = float(np.delete(answer, right).sum())
    value = float(np.log(max(rest, 1e-38)) - np.log(max(own, 1e-38)))
    return value if target.away else -value


def budget(trial: Trial, share: float) -> int:
    """Return the number of edits in a share of the characters, white space not counted; at least one."""
    fields = trial.origin.fields
    count = sum(not char.isspace() for name in trial.example.open for char in fields.get(name, ""))
    return max(1, int(share * count + 1e-9))
