"""Requests side by side: a crew that asks many texts, and what every victim behind an address has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import Fields, Piece, in_fields
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.toll import Toll

_KEPT = 1 << 16  # answers of rounds that failed elsewhere


@dataclass(slots=True, eq=False, kw_only=True)
class RequestCrew:
    """`ask` answers the texts of one request; `batch` texts go into one, `concurrency` requests at a time.

    Before anything was ever answered (`begun` says so) the first request goes alone: all may be in vain.
    """

    ask: Callable[[Sequence[Fields]], Floats]
    begun: Callable[[], bool]
    batch: int
    concurrency: int
    _kept: dict[Fields, Floats] = field(default_factory=dict, init=False, repr=False)

    def answer(self, texts: Sequence[Fields | str], keep: bool = False) -> Floats:
        """The scores of all texts. With `keep`, answers survive the failure of another request of the same round."""
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
        """The answers of each request as it ends. Behind all others raises the first failure, if there is one."""
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
        """The number of each chunk with its future, when that has ended.

        The next one is sent when whoever asks has dealt with that, so a kill loses no more than is in flight.
        """
        left, jobs = iter(enumerate(chunks)), dict[Future[Floats], int]()
        with ThreadPoolExecutor(min(self.concurrency, max(1, len(chunks)))) as crew:
            try:
                while True:
                    for number, chunk in islice(left, (self.concurrency if self.begun() else 1) - len(jobs)):
                        jobs[crew.submit(copy_context().run, self.ask, chunk)] = number  # the context says who pays
                    if not jobs:
                        return
                    for job in wait(jobs, return_when=FIRST_COMPLETED).done:
                        yield jobs.pop(job), job
                    if not self.begun():
                        return
            except BaseException:  # stopped by the user: what has not begun does not begin
                crew.shutdown(wait=False, cancel_futures=True)
                raise

    def _keep(self, known: Mapping[Fields, Floats]) -> None:
        self._kept.update(known)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]


class RemoteVictim:
    """What victims behind an address share. Theirs are `_one`, which asks and reads one request, `_all`, which answers
    a round, the crew between the two, and the toll that counts what is sent."""

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
    _crew: RequestCrew
    _toll: Toll

    def __reduce__(self) -> tuple[Any, ...]:
        """Settings alone travel to another process: connections and answers do not."""
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
        return self._crew.answer(whole) if whole else np.empty((0, self.labels or 0), np.float32)

    def pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        return self._crew.pieces(texts)
