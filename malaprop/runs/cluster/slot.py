"""Slot: one worker's place in a crew, whoever fills it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from malaprop.runs.cluster.shards import Shard

_SLOWEST = 30.0  # seconds; a place is filled again after 0.5, 1, 2, 4 ... of them


@dataclass(slots=True, eq=False)
class Slot:
    """A worker is asked for (`hello`), then ready, then has a shard (`work`); when it is lost, the place is empty."""

    make: Any  # () -> a new worker
    worker: Any = None
    hello: Any = None  # the answer it owes while it loads the victim
    work: Any = None  # the stream of its outcomes
    shard: Shard | None = None
    deaths: int = 0  # in a row, without an outcome
    again: float = 0.0  # not before this moment
    retired: bool = False
    known: bool = False  # its worker has loaded the victim

    @property
    def ready(self) -> bool:
        """It could take a shard."""
        return self.known and self.work is None

    @property
    def owes(self) -> Any:
        """What to wait for; None where there is nobody."""
        return self.work if self.work is not None else self.hello

    def fill(self) -> None:
        """Asks for a worker, if the place is empty and its time has come."""
        if self.worker is None and not self.retired and monotonic() >= self.again:
            self.worker = self.make()
            self.hello = self.worker.hello.remote()

    def hand(self, attack: Any, shard: Shard, seed: int, width: int) -> None:
        self.shard = shard
        examples = list(shard.left.values())
        self.work = self.worker.attack.options(num_returns="streaming").remote(attack, examples, seed, width)

    def done(self) -> None:
        """The shard is finished; the worker stays."""
        self.work = self.shard = None

    def lose(self) -> Shard | None:
        """Empties the place for a while; gives the shard that was not finished."""
        self.dismiss()
        self.deaths += 1
        self.again = monotonic() + min(_SLOWEST, 0.25 * 2**self.deaths)
        shard, self.shard = self.shard, None
        return shard

    def dismiss(self) -> None:
        """Ends the worker, dead or alive."""
        import ray

        if self.worker is not None:
            with suppress(Exception):  # it may be gone, and Ray with it
                ray.kill(self.worker)
        self.worker = self.hello = self.work = None
        self.known = False
