"""Paid: a victim whose answers cost money or time. They are cached on disk, charged to the budget, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.budget import BudgetClient, Meter, charge_to
from malaprop.core.capability import Capability
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints
from malaprop.core.victim import ANSWERS, Fields, Piece, Piecewise, SelfCharging, Victim, Wrapper, in_fields
from malaprop.engine.cache import Disk, Predict
from malaprop.engine.service import Service

_UNMARKED = "its answers are kept under its name: remove the cache when it changes"
_GUESSED = "they are estimated at four letters a token"
_LETTERS = 4  # letters a token: the estimate where no answer says how many tokens it took
_SLICE = 64  # texts scored, charged and written together, where the victim is not `Piecewise`


class Paid(Wrapper):
    """The victim inside, queried as little as possible.

    With `disk` its answers are written to that file as they come, by whole texts. `predict`, which confirms successes,
    does not read that cache; `again` is a file in which one run keeps those answers, so that a run that was killed and
    resumed repeats no check. With a `purse` every query is charged before it is sent; `LimitReached` is raised where
    the run may send no more. A victim that is `Paying` charges its requests itself.
    """

    def __init__(
        self, victim: Victim, disk: Path | None = None, purse: BudgetClient | None = None, again: Path | None = None
    ) -> None:
        self._victim, self.purse = victim, purse
        self._cached = None if disk is None else Disk(disk, _mark(victim)).wrap(self._pieces)
        self._numbered = None if again is None else _Numbered(again, _mark(victim), self._pieces)
        self._pays = purse is not None and _pays(victim)
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
        """Empty with a cache on disk: gradients and the like would bypass it."""
        return self.inside.parts if self._cached is None else {}

    @property
    def notes(self) -> tuple[str, ...]:
        kept = self._cached is not None and not self.fingerprint
        unmarked = (f"{self.name} has no fingerprint, so {_UNMARKED}",) if kept else ()
        guessed = (f"{self.name} does not count tokens: {_GUESSED}",) if self._estimates else ()
        return (*self.inside.notes, *unmarked, *guessed)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        with charge_to(self.purse):
            if self._cached is not None:
                return self._cached([text.values() for text in pool.texts(wanted)])
            return self._begin(pool, wanted)

    def _begin(self, pool: Pool, wanted: Ints) -> tuple[Any, int, Sequence[Fields]]:
        texts = [text.values() for text in pool.texts(wanted)] if self._estimates and not self._pays else ()
        self._draw(len(wanted))
        try:
            return self.inside.begin(pool, wanted), len(wanted), texts
        except Exception:
            self._settle(len(wanted), texts)
            raise

    def finish(self, begun: Any) -> Floats:
        if self._cached is not None:
            kept: Floats = begun
            return kept
        inner, many, texts = begun
        try:
            with charge_to(self.purse):
                return self.inside.finish(inner)
        finally:
            self._settle(many, texts)

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        with charge_to(self.purse):
            if self._numbered is not None and len(texts):
                return self._numbered.predict(in_fields(texts))
            return self._ask(texts)

    def _pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        """Yield the answers as they come: request by request where the victim is `Piecewise`, else by slices."""
        if isinstance(self.inside, Piecewise):
            self._draw(len(texts))
            yield from self.inside.pieces(texts)
            return
        for a in range(0, len(texts), _SLICE):
            part = texts[a : a + _SLICE]
            yield range(a, a + len(part)), self._ask(part)

    def _ask(self, texts: Sequence[Fields | str]) -> Floats:
        self._draw(len(texts))
        try:
            return self.inside.predict(texts)
        finally:
            self._settle(len(texts), in_fields(texts) if self._estimates else ())

    def _draw(self, queries: int) -> None:
        if self.purse is not None and queries:
            if self._pays:
                self.purse.look_ahead(queries)
            else:
                self.purse.draw(queries)

    def _settle(self, answered: int, texts: Sequence[Fields]) -> None:
        """Report answered or failed queries; their tokens are read from the victim's meter, or estimated."""
        if self.purse is None or self._pays:
            return
        now, before = self.inside.meter, self._seen
        if now is None:
            self.purse.settle(answered, sum(map(_count, texts)))
            return
        self.purse.settle(answered, now.tokens_in - before.tokens_in, now.tokens_out - before.tokens_out)
        self._seen = Meter(now.queries, now.tokens_in, now.tokens_out)


class _Numbered:
    """The confirming answers of one run on disk, each under its number, so that a resumed run reads them again.

    Within one attempt, a text that is checked twice is queried twice.
    """

    def __init__(self, path: Path, mark: str, pieces: Callable[[Sequence[Fields]], Iterator[Piece]]) -> None:
        self._path, self._mark, self._pieces = path, mark, pieces
        self._answer: Predict | None = None
        self._known: Counter[Fields] = Counter()  # how often each text was checked in this attempt

    def predict(self, texts: Sequence[Fields]) -> Floats:
        if self._answer is None:
            self._answer = Disk(self._path, self._mark).wrap(self._ask)
        here: Counter[Fields] = Counter()
        asked = []
        for text in texts:
            here[text] += 1
            asked.append((str(self._known[text] + here[text]), *text))
        scores = self._answer(asked)
        self._known.update(here)  # not before: what fails is checked again
        return scores

    def _ask(self, numbered: Sequence[Fields]) -> Iterator[Piece]:
        return self._pieces([fields[1:] for fields in numbered])


def _pays(victim: Victim) -> bool:
    """Whether the victim, or one that it wraps, charges its requests itself."""
    layer: Victim | None = victim
    while layer is not None and not isinstance(layer, SelfCharging):
        layer = layer.inside
    return layer is not None and layer.pays


def _mark(victim: Victim) -> str:
    return "\x1f".join((victim.fingerprint or victim.name, *victim.label_names))


def _count(fields: Fields) -> int:
    """Estimate the tokens of a text."""
    return sum(-(-len(value) // _LETTERS) for value in fields)


class Counted:
    """Another service that queries the victim, such as gradients, and charges its queries to the budget."""

    def __init__(self, service: Service, purse: BudgetClient, size: Callable[[Any], int] = lambda _: 1) -> None:
        self.service, self.purse, self.size = service, purse, size

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        many = sum(self.size(look) for ask in asks for look in ask)
        self.purse.draw(many)
        return many, self.service.begin(asks)

    def finish(self, pending: Any) -> list[list[Any]]:
        many, begun = pending
        try:
            return self.service.finish(begun)
        finally:
            self.purse.settle(many)


class Charged:
    """Another service whose requests cost money, such as a language model's; they are charged to the run's budget."""

    def __init__(self, service: Service, purse: BudgetClient) -> None:
        self.service, self.purse = service, purse

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        return self.service.begin(asks)

    def finish(self, pending: Any) -> list[list[Any]]:
        with charge_to(self.purse):
            return self.service.finish(pending)
