"""Paid: a victim whose answers are dear. They are kept on disk, or counted against what a run may spend, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.capability import Capability
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.spending import Meter, Purse
from malaprop.core.text import Ints
from malaprop.core.victim import ANSWERS, Around, Fields, Victim, in_fields
from malaprop.engine.cache import Disk
from malaprop.engine.service import Service

_UNMARKED = "its answers are kept under its name: remove the cache when it changes"
_GUESSED = "they are estimated at four letters a token"
_LETTERS = 4  # of a token, where nobody counts tokens


class Paid(Around):
    """The victim inside, asked for as little as can be.

    With `disk` its answers are kept in that file, and it is asked by finished texts; `predict`, for checks, is fresh.
    With a `purse` every query is counted before it is asked; it raises `LimitReached` where the run may ask no more.
    """

    def __init__(self, victim: Victim, disk: Path | None = None, purse: Purse | None = None) -> None:
        self._victim, self.purse = victim, purse
        self._cached = None if disk is None else Disk(disk, _mark(victim)).wrap(self.predict)
        self._estimates = purse is not None and purse.limits.counts_tokens and victim.meter is None
        self._seen = Meter()  # what the victim's meter showed when it was last read

    @property
    def inside(self) -> Victim:
        return self._victim

    @property
    def lanes(self) -> int:
        return self.inside.lanes if self._cached is None else 1

    @property
    def withheld(self) -> str:
        kept = "its answers are kept on disk, and the rest would go past them"
        return self.inside.withheld or ("" if self._cached is None else kept)

    @property
    def offers(self) -> frozenset[Capability]:
        return self.inside.offers if self._cached is None else self.inside.offers & ANSWERS

    @property
    def parts(self) -> Mapping[Capability, Any]:
        """None where answers are kept: gradients and the like would go past them."""
        return self.inside.parts if self._cached is None else {}

    @property
    def notes(self) -> tuple[str, ...]:
        kept = self._cached is not None and not self.fingerprint
        unmarked = (f"{self.name} has no fingerprint, so {_UNMARKED}",) if kept else ()
        guessed = (f"{self.name} does not count tokens: {_GUESSED}",) if self._estimates else ()
        return (*self.inside.notes, *unmarked, *guessed)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        if self._cached is not None:
            return self._cached([text.values() for text in pool.texts(wanted)])
        self._draw(len(wanted))
        begun = self.inside.begin(pool, wanted)
        size = sum(_count(text.values()) for text in pool.texts(wanted)) if self._estimates else 0
        return begun, len(wanted), size

    def finish(self, begun: Any) -> Floats:
        if self._cached is not None:
            kept: Floats = begun
            return kept
        inner, many, size = begun
        scores = self.inside.finish(inner)
        self._settle(many, size)
        return scores

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        self._draw(len(texts))
        scores = self.inside.predict(texts)
        self._settle(len(texts), sum(map(_count, in_fields(texts))) if self._estimates else 0)
        return scores

    def _draw(self, queries: int) -> None:
        if self.purse is not None and queries:
            self.purse.draw(queries)

    def _settle(self, answered: int, guess: int) -> None:
        """Says what came back; of tokens what the victim's own meter shows, where it has one."""
        if self.purse is None:
            return
        now, before = self.inside.meter, self._seen
        if now is None:
            self.purse.settle(answered, guess)
            return
        self.purse.settle(answered, now.tokens_in - before.tokens_in, now.tokens_out - before.tokens_out)
        self._seen = Meter(now.queries, now.tokens_in, now.tokens_out)


def _mark(victim: Victim) -> str:
    return "\x1f".join((victim.fingerprint or victim.name, *victim.label_names))


def _count(fields: Fields) -> int:
    """Tokens of a text, roughly."""
    return sum(-(-len(value) // _LETTERS) for value in fields)


class Counted:
    """Another service that asks the victim, such as gradients: its texts count as queries, too."""

    def __init__(self, service: Service, purse: Purse, size: Callable[[Any], int] = lambda _: 1) -> None:
        self.service, self.purse, self.size = service, purse, size

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        many = sum(self.size(look) for ask in asks for look in ask)
        self.purse.draw(many)
        return many, self.service.begin(asks)

    def finish(self, pending: Any) -> list[list[Any]]:
        many, begun = pending
        answers = self.service.finish(begun)
        self.purse.settle(many)
        return answers
