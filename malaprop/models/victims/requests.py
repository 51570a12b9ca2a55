"""Requests to a server: their cost, how many run at a time, and the common part of all victims behind an address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Condition, Lock
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from malaprop.core.budget import Meter, find_budget
from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import Fields, Piece, in_fields
from malaprop.models.victims.strings import StringVictim

LETTERS = 4  # of a token, where nobody counts them


def estimate_tokens(letters: int) -> int:
    """Estimate the tokens of a text of so many letters, where nobody counts them."""
    return -(-letters // LETTERS)


@dataclass(slots=True, eq=False)
class RequestMeter:
    """Counts the requests of one victim, also against the budget of a run if there is one. Threads share it."""

    meter: Meter = field(default_factory=Meter)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def counts_tokens(self) -> bool:
        """Return whether a budget limits tokens, so that a request has to estimate them."""
        budget = find_budget()
        return budget is not None and budget.limits.counts_tokens

    def send(self, queries: int) -> None:
        """Count a request about so many texts before it leaves; raise where a limit forbids it."""
        if (budget := find_budget()) is not None:
            budget.draw(queries)
        with self._lock:
            self.meter.queries += queries

    def settle(self, queries: int, tokens_in: int, tokens_out: int) -> None:
        """Count the tokens of a request about so many texts that has ended."""
        with self._lock:
            self.meter.tokens_in += tokens_in
            self.meter.tokens_out += tokens_out
        if (budget := find_budget()) is not None:
            budget.settle(queries, tokens_in, tokens_out, now=True)


@dataclass(slots=True, eq=False)
class CallCost:
    """The cost of one call: a request about `queries` texts, sent as often as it takes to get an answer.

    `guess` are the tokens of a request and of its answer where the server does not say.
    """

    meter: RequestMeter
    queries: int = 1
    guess: tuple[int, int] = (0, 0)
    _open: int = 0  # requests that left and are not settled

    def send(self) -> None:
        """Count a request before it leaves."""
        self.meter.send(self.queries)
        self._open += 1

    def lose(self, status: int | None = None) -> None:
        """Settle the open requests, without a readable answer: at the guess, or with no tokens where refused."""
        refused = status is not None and status >= 400
        self._end(self._open * [(0, 0) if refused else self.guess])

    def settle(self, used: tuple[int, int] | None = None) -> None:
        """Settle the last request at the tokens `used`, else at the guess; earlier open ones count as lost."""
        if self._open:
            self._end([*(self._open - 1) * [self.guess], self.guess if used is None else used])

    def _end(self, costs: Sequence[tuple[int, int]]) -> None:
        self._open = 0
        for tokens in costs:
            self.meter.settle(self.queries, *tokens)


BEGIN = 4  # requests at a time, before anything is known of the server


class Throttle:
    """Limits the requests in flight; the limit doubles each round trip until the server first says that it is too much.

    Then, and each time it says so again (429, or 503 with Retry-After), the limit is halved and nobody asks before the
    moment that the server names; from then on it grows by one a round trip. It changes times alone, never an answer.
    Callers are threads, of which there are as many as the user allows: this can only hold them back.
    """

    def __init__(self, begin: float = BEGIN) -> None:
        self.limit = float(begin)
        self._refused = False
        self._running = 0
        self._not_before = 0.0
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until one more request may be sent; the block counts as a running request."""
        with self._changed:
            while (wait := self._not_before - monotonic()) > 0 or self._running >= max(1, int(self.limit)):
                self._changed.wait(wait if wait > 0 else None)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def rise(self) -> None:
        """Raise the limit, as the server has answered."""
        with self._changed:
            self.limit += 1 / self.limit if self._refused else 1
            self._changed.notify_all()

    def fall(self, wait: float) -> None:
        """Halve the limit and wait as many seconds as the server wants; one burst of refusals counts once."""
        with self._changed:
            now = monotonic()
            if now >= self._not_before:
                self.limit = max(1.0, min(self.limit, self._running) / 2)
            self._refused = True
            self._not_before = max(self._not_before, now + wait)
            self._changed.notify_all()


_KEPT = 1 << 16  # answers of rounds that failed elsewhere


@dataclass(slots=True, eq=False, kw_only=True)
class RequestPool:
    """`ask` answers the texts of one request; `batch` texts go into one, `concurrency` requests at a time.

    Before anything was ever answered (`begun` says so) the first request goes alone: all may be in vain.
    """

    ask: Callable[[Sequence[Fields]], Floats]
    begun: Callable[[], bool]
    batch: int
    concurrency: int
    _kept: dict[Fields, Floats] = field(default_factory=dict, init=False, repr=False)

    def answer(self, texts: Sequence[Fields | str], keep: bool = False) -> Floats:
        """Return the scores of all texts; with `keep`, answers survive the failure of a request of the same round."""
        whole = in_fields(texts)
        known = {text: self._kept[text] for text in whole if text in self._kept} if keep else {}
        rows = {place: known[text] for place, text in enumerate(whole) if text in known}
        left = [place for place in range(len(whole)) if place not in rows]
        try:
            for places, scores in self.pieces([whole[place] for place in left]):
                rows.update(zip((left[place] for place in places), scores, strict=True))
        except MalapropError:
            if keep:
                self._keep({whole[place]: row for place, row in rows.items()})
            raise
        return np.stack([rows[place] for place in range(len(whole))])

    def pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        """Yield the answers of each request as it ends; raise the first failure, if there is one, behind them."""
        places = [range(a, min(a + self.batch, len(texts))) for a in range(0, len(texts), self.batch)]
        failed: dict[int, BaseException] = {}
        for number, job in self._send([texts[one.start : one.stop] for one in places]):
            if (error := job.exception()) is None:
                yield places[number], job.result()
            else:
                failed[number] = error
        if failed:
            raise failed[min(failed)]

    def _send(self, chunks: Sequence[Sequence[Fields]]) -> Iterator[tuple[int, Future[Floats]]]:
        """Yield the number of each chunk with its future, once that has ended.

        The next one is sent when whoever asks has dealt with that, so a kill loses no more than is in flight.
        """
        left, ended, running = iter(enumerate(chunks)), SimpleQueue[tuple[int, Future[Floats]]](), 0
        with ThreadPoolExecutor(min(self.concurrency, max(1, len(chunks)))) as executor:
            try:
                while True:
                    for number, chunk in islice(left, (self.concurrency if self.begun() else 1) - running):
                        job = executor.submit(copy_context().run, self.ask, chunk)  # the context says who pays
                        job.add_done_callback(partial(_report, ended, number))
                        running += 1
                    if not running:
                        return
                    yield ended.get()
                    running -= 1
                    if not self.begun():
                        return
            except BaseException:  # stopped by the user: what has not begun does not begin
                executor.shutdown(wait=False, cancel_futures=True)
                raise

    def _keep(self, known: Mapping[Fields, Floats]) -> None:
        self._kept.update(known)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]


def _report(ended: SimpleQueue[tuple[int, Future[Floats]]], number: int, job: Future[Floats]) -> None:
    ended.put((number, job))


class RemoteVictim:
    """The common part of victims behind an address.

    Such a victim sets `_one`, which sends and reads one request, `_all`, which answers a round, `_requests`, the
    pool between the two, and `_request_meter`, which counts the requests sent.
    """

    __slots__ = ()
    device: ClassVar[str] = "cpu"
    precision: ClassVar[str] = "fp32"
    rounding: ClassVar[float] = 0.0
    lanes: ClassVar[int] = 1
    renews: ClassVar[bool] = False
    inside: ClassVar[None] = None
    pays: ClassVar[bool] = True
    _one: StringVictim
    _all: StringVictim
    _requests: RequestPool
    _request_meter: RequestMeter

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings alone: connections and answers do not travel to another process."""
        known = fields(self)  # type: ignore[arg-type]
        given = {f.name: getattr(self, f.name) for f in known if f.init and f.name != "say"}
        return partial(type(self), **given), ()

    @property
    def labels(self) -> int | None:
        return self._one.labels

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        return self._one.notes

    def classes(self, table: Words) -> Ints | None:
        return self._all.classes(table)

    def begin(self, pool: Pool, wanted: Ints) -> Floats:
        return self._all.begin(pool, wanted)

    def finish(self, begun: Floats) -> Floats:
        return self._all.finish(begun)

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        whole = in_fields(texts)
        return self._requests.answer(whole) if whole else np.empty((0, self.labels or 0), np.float32)

    def pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        return self._requests.pieces(texts)
