"""Services: each answers the requests of a round, of all attacks, in one batch, with its own cache and counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from time import perf_counter
from typing import Any, Protocol
from weakref import ref

import numpy as np

from malaprop.core.distinct import find_firsts, sort_distinct
from malaprop.core.errors import VictimError
from malaprop.core.gradient import (
    CharLook,
    CharSeen,
    Gradients,
    MixLook,
    MixSeen,
    SlotLook,
    SlotSeen,
    WordLook,
    WordSeen,
)
from malaprop.core.insight import Apart, Blank, Focus, Toward
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import Victim
from malaprop.engine.cache import LARGEST, Memory, Recent


class Service(Protocol):
    """Answers the requests of one round. `begin` may return before the work is done; `finish` waits for it."""

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any: ...

    def finish(self, pending: Any) -> list[list[Any]]:
        """Return one list of answers a request, in order."""


@dataclass(slots=True)
class Tally:
    """The queries and model calls that one example has cost."""

    keys: list[Ints] = field(default_factory=list)  # of its texts, as they were asked
    forwarded: int = 0

    @property
    def unique(self) -> int:
        """The number of distinct queries."""
        return len(sort_distinct(np.concatenate(self.keys))) if self.keys else 0


@dataclass(slots=True)
class Clock:
    """Seconds spent in the host program and in the victim, with the numbers of rounds and of model calls."""

    host: float = 0.0
    victim: float = 0.0
    rounds: int = 0
    forwarded: int = 0


@dataclass(frozen=True, slots=True)
class _Pending:
    pool: Pool
    keys: Ints  # as signed numbers: a dictionary's hash of them is the number itself
    rows: Ints  # where in the memory each variant's answer lies, -1 where it is not known yet
    wanted: Ints  # one variant for each distinct unknown key
    place: Ints  # for each unknown variant its number in `wanted`
    begun: Any
    sizes: list[tuple[int, int]]  # of each ask its groups, and its guesses
    owners: list[int]
    memory: Memory


class Scoring:
    """Scores variants: merges those that the victim reads alike, reads known answers from memory, batches the rest."""

    def __init__(self, victim: Victim, *, remember: int = 2_000_000) -> None:
        self.victim, self.remember = victim, remember
        self.memory = Memory()
        self.labels = 0  # how many scores a text had so far
        self.tallies: dict[int, Tally] = {}
        self.clock = Clock()
        self._table: Callable[[], Words | None] = lambda: None  # whose ids the keys are made of

    def begin(self, asks: Sequence[Sequence[Variants | Guess]]) -> _Pending:
        started = perf_counter()
        asked = [[item for item in ask if isinstance(item, Variants)] for ask in asks]
        ahead = [item.variants for ask in asks for item in ask if isinstance(item, Guess)]
        pool = Pool([*(group for ask in asked for group in ask), *ahead])
        self._renew(pool.table)
        classes = self.victim.classes(pool.table)
        texts = pool.keys().view(np.int64)
        keys = texts if classes is None else pool.keys(classes).view(np.int64)
        owners = [ask[0].base.owner for ask in asked]
        self._see(asked, owners, texts)
        rows = np.fromiter(map(self.memory.rows.get, keys.tolist(), repeat(-1)), np.int64, pool.size)
        missing = np.flatnonzero(rows < 0)
        first, place = find_firsts(keys[missing])
        wanted = missing[first]
        ready = perf_counter()
        begun = self.victim.begin(pool, wanted) if len(wanted) else None
        self.clock.host += ready - started
        self.clock.victim += perf_counter() - ready
        sizes = [(len(groups), len(ask) - len(groups)) for groups, ask in zip(asked, asks, strict=True)]
        return _Pending(pool, keys, rows, wanted, place, begun, sizes, owners, self.memory)

    def finish(self, pending: _Pending) -> list[list[Floats | None]]:
        started = perf_counter()
        pool, rows, memory = pending.pool, pending.rows, pending.memory
        if pending.begun is not None:
            fresh = _checked(self.victim.finish(pending.begun), len(pending.wanted), self.labels)
            self.labels = fresh.shape[1]
            self.clock.victim += perf_counter() - started
            started = perf_counter()
            first = memory.extend(pending.keys[pending.wanted].tolist(), fresh)
            rows[rows < 0] = first + pending.place
            self._count(pool, pending.wanted)
        answers = memory.values[rows]
        cuts = [*pool.starts.tolist(), pool.size]
        parts: list[Floats | None] = [answers[a:b] for a, b in pairwise(cuts)]
        out, at = [], 0
        for size, guesses in pending.sizes:
            out.append(parts[at : at + size] + [None] * guesses)
            at += size
        self.clock.rounds += 1
        self.clock.host += perf_counter() - started
        return out

    def _renew(self, table: Words) -> None:
        """Start a new memory for another table, or halve one that is too large; work in flight keeps the old one.

        Another table counts its ids and owners anew, so an old key may stand for another text.
        """
        if self._table() is not table:
            self.memory, self.tallies, self._table = Memory(), {}, ref(table)
        elif len(self.memory) > self.remember or self.memory.nbytes > LARGEST:
            self.memory = self.memory.newer_half()

    def know(self, texts: Sequence[Text], scores: Floats) -> None:
        """Add known scores of whole texts to the memory, so that they are not queried again."""
        pool = Pool([Variants.itself(text) for text in texts])
        self._renew(pool.table)
        keys = pool.keys(self.victim.classes(pool.table)).view(np.int64)
        self.labels = scores.shape[1]
        self.memory.extend(keys.tolist(), scores)

    def tally(self, owner: int) -> Tally:
        """Return and remove the counters of an example."""
        return self.tallies.pop(owner, Tally())

    def _see(self, asks: Sequence[Sequence[Variants]], owners: list[int], keys: Ints) -> None:
        at = 0
        for ask, owner in zip(asks, owners, strict=True):
            end = at + sum(group.count for group in ask)
            self.tallies.setdefault(owner, Tally()).keys.append(keys[at:end])
            at = end

    def _count(self, pool: Pool, wanted: Ints) -> None:
        self.clock.forwarded += len(wanted)
        sums = np.bincount(pool.base[wanted], minlength=len(pool.bases)).tolist()
        for base, many in zip(pool.bases, sums, strict=True):
            if many:
                self.tallies.setdefault(base.owner, Tally()).forwarded += many


def _checked(scores: Floats, count: int, labels: int) -> Floats:
    if scores.ndim != 2 or len(scores) != count or scores.shape[1] < 1:
        raise VictimError(f"the victim answered {count} texts with shape {scores.shape}; expected ({count}, labels)")
    if labels and scores.shape[1] != labels:
        raise VictimError(f"the victim gave {scores.shape[1]} scores a text where it gave {labels} before")
    if not np.isfinite(scores).all():
        raise VictimError("the victim answered with scores that are not finite numbers (NaN or infinity)")
    return scores


class UncachedScoring:
    """Scores whole texts with `Victim.predict` and without a cache, to confirm successes."""

    def __init__(self, victim: Victim) -> None:
        self.victim = victim

    def begin(self, asks: Sequence[Sequence[Text]]) -> list[Sequence[Text]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Text]]) -> list[list[Floats]]:
        texts = [text.values() for ask in pending for text in ask]
        scores = iter(_checked(self.victim.predict(texts), len(texts), 0))
        return [[next(scores) for _ in ask] for ask in pending]


class FunctionService:
    """A service made of a function from items to answers; equal items are computed once and cached for a while.

    `key` identifies an item; items are sorted by `size`, so that a batched model pads little.
    """

    def __init__(
        self,
        function: Callable[[list[Any]], Sequence[Any]],
        *,
        key: Callable[[Any], Hashable] = lambda item: item,
        size: Callable[[Any], int] | None = None,
        remember: int = 100_000,
    ) -> None:
        self.function, self.key, self.size = function, key, size
        self.recent = Recent(remember)

    def begin(self, asks: Sequence[Sequence[Any]]) -> list[list[tuple[Hashable, Any]]]:
        return [[(self.key(item), item) for item in ask] for ask in asks]

    def finish(self, pending: list[list[tuple[Hashable, Any]]]) -> list[list[Any]]:
        answers: dict[Hashable, Any] = {}
        fresh: dict[Hashable, Any] = {}
        for key, item in (pair for ask in pending for pair in ask):
            if key in answers or key in fresh:
                continue
            if (found := self.recent.get(key)) is not None:
                answers[key] = found
            else:
                fresh[key] = item
        if fresh:
            keys = sorted(fresh, key=lambda k: self.size(fresh[k])) if self.size else list(fresh)  # type: ignore[misc]
            made = list(self.function([fresh[k] for k in keys]))
            if len(made) != len(keys):
                raise RuntimeError(f"a service answered {len(made)} of {len(keys)} items")
            answers.update(zip(keys, made, strict=True))
            for key, answer in zip(keys, made, strict=True):
                self.recent.put(key, answer)
        return [[answers[key] for key, _ in ask] for ask in pending]


GradientLook = CharLook | WordLook | SlotLook | MixLook
GradientSeen = CharSeen | WordSeen | SlotSeen | MixSeen


class GradientService:
    """Answers requests for gradients; each text counts as a model call in the counters of `scoring`."""

    def __init__(self, gradients: Gradients, scoring: Scoring) -> None:
        self.gradients, self.scoring = gradients, scoring

    def begin(self, asks: Sequence[Sequence[GradientLook]]) -> list[Sequence[GradientLook]]:
        return list(asks)

    def finish(self, pending: list[Sequence[GradientLook]]) -> list[list[GradientSeen]]:
        looks = [look for ask in pending for look in ask]
        seen = self._answer(looks)
        if not all(np.isfinite(one.answer).all() for one in seen):
            raise VictimError("the victim answered with scores that are not finite numbers (NaN or infinity)")
        self._count(looks)
        found = iter(seen)
        return [[next(found) for _ in ask] for ask in pending]

    def _answer(self, looks: Sequence[GradientLook]) -> list[GradientSeen]:
        """Answer the requests of each kind together; a victim need not know kinds that no attack uses."""
        out: dict[int, GradientSeen] = {}
        for kind, name in ((CharLook, "chars"), (WordLook, "words"), (SlotLook, "slots"), (MixLook, "mixes")):
            mine = [i for i, look in enumerate(looks) if isinstance(look, kind)]
            if mine:
                out |= zip(mine, getattr(self.gradients, name)([looks[i] for i in mine]), strict=True)
        return [out[i] for i in range(len(looks))]

    def _count(self, looks: Sequence[GradientLook]) -> None:
        keys = Pool([Variants.itself(look.text) for look in looks]).keys().view(np.int64)
        for at, look in enumerate(looks):
            tally = self.scoring.tallies.setdefault(look.text.owner, Tally())
            tally.keys.append(keys[at : at + 1])
            many = len(look.shares) if isinstance(look, MixLook) else 1
            tally.forwarded += many
            self.scoring.clock.forwarded += many


InsightLook = Focus | Apart | Toward | Blank


class InsightService:
    """Answers requests of one kind with `answer`; each text that the victim reads for it counts as a model call."""

    def __init__(self, answer: Callable[[Sequence[Any]], list[Floats]], scoring: Scoring) -> None:
        self.answer, self.scoring = answer, scoring

    def begin(self, asks: Sequence[Sequence[InsightLook]]) -> list[Sequence[InsightLook]]:
        return list(asks)

    def finish(self, pending: list[Sequence[InsightLook]]) -> list[list[Floats]]:
        looks = [look for ask in pending for look in ask]
        found = self.answer(looks)
        if len(found) != len(looks):
            raise RuntimeError(f"a victim answered {len(found)} of {len(looks)} looks")
        for look in looks:
            self._count(look)
        answers = iter(found)
        return [[next(answers) for _ in ask] for ask in pending]

    def _count(self, look: InsightLook) -> None:
        text = look.origin if isinstance(look, Apart | Toward) else look.text
        tally = self.scoring.tallies.setdefault(text.owner, Tally())
        many = count_texts(look)
        tally.forwarded += many
        self.scoring.clock.forwarded += many


def count_texts(look: InsightLook) -> int:
    """Return how many texts the victim reads for a request."""
    if isinstance(look, Apart | Toward):
        return 1 + look.variants.count
    return len(look.slots) if isinstance(look, Blank) else 1
