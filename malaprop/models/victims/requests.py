"""Requests side by side: a crew that asks many texts, and what every victim behind an address has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import Fields, in_fields
from malaprop.models.victims.strings import StringVictim

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
        left = [text for text in whole if text not in known]
        chunks = [left[a : a + self.batch] for a in range(0, len(left), self.batch)]
        jobs = self._send(chunks)
        failed = next((error for job in jobs if (error := job.exception()) is not None), None)
        if failed is not None:
            if keep:
                for chunk, job in zip(chunks, jobs, strict=False):
                    if job.exception() is None:
                        self._keep(dict(zip(chunk, job.result(), strict=True)))
            raise failed
        fresh = [job.result() for job in jobs]
        if not known:
            return np.concatenate(fresh)
        known.update(zip(left, np.concatenate(fresh), strict=True) if fresh else ())
        return np.stack([known[text] for text in whole])

    def _send(self, chunks: Sequence[Sequence[Fields]]) -> list[Future[Floats]]:
        """One ended future a chunk."""
        jobs: list[Future[Floats]] = []
        with ThreadPoolExecutor(min(self.concurrency, max(1, len(chunks)))) as crew:
            try:
                for chunk in chunks:
                    jobs.append(crew.submit(self.ask, chunk))
                    if not self.begun() and jobs[0].exception() is not None:
                        return jobs
                for job in jobs:
                    job.exception()
            except BaseException:  # stopped by the user: what has not begun does not begin
                crew.shutdown(wait=False, cancel_futures=True)
                raise
        return jobs

    def _keep(self, known: Mapping[Fields, Floats]) -> None:
        self._kept.update(known)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]


class RemoteVictim:
    """What victims behind an address share. Theirs are `_one`, which asks and reads one request, `_all`, which answers
    a round, and the crew between the two."""

    __slots__ = ()
    device: ClassVar[str] = "cpu"
    precision: ClassVar[str] = "fp32"
    rounding: ClassVar[float] = 0.0
    lanes: ClassVar[int] = 1
    renews: ClassVar[bool] = False
    inside: ClassVar[None] = None
    _one: StringVictim
    _all: StringVictim
    _crew: RequestCrew

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
