"""Simulate a run on many workers: the real executor writes real files, and a virtual clock stands for the workers.

python -m malaprop_bench.simulated --texts 1000000 --workers 64 --kill-every 60

A text takes a worker 5 ms of virtual time. What the driver does takes the processor time that it really takes, so the
figures do not depend on what else the machine does, or on how many cores it has.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import heappop, heappush
from itertools import count
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any

from malaprop.core.errors import plain
from malaprop.data.stream import open_stream
from malaprop.frame.records.outcome import Edit, Outcome, Queries, Side
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import FILE, EncodedLine
from malaprop.frame.tasks.events import Log, PieceWritten, StudyEvent
from malaprop.frame.tasks.executor import Execution
from malaprop.frame.tasks.outputs import RunFolder
from malaprop.frame.tasks.task import Inputs, Items, Share, Task, plan_of
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers.job import Event, Job, batches, perform

DETECTED = 0.5  # virtual seconds until the driver hears that a worker is lost
RESTART = 10.0  # virtual seconds until another one is in its place


@dataclass(slots=True)
class VirtualClock:
    """Virtual time. While the driver works, it advances by the driver's processor time."""

    now: float = 0.0
    driver: float = 0.0  # processor time of the driver so far
    _since: float = 0.0

    def resume(self) -> None:
        """Let the driver work."""
        self._since = thread_time()

    def pause(self, more: float = 0.0) -> None:
        """Stop the driver, after `more` seconds of work that is not done here."""
        spent = thread_time() - self._since + more
        self.now += spent
        self.driver += spent


@dataclass(slots=True, eq=False)
class _VirtualWorker:
    """A worker: its own time, and the messages of its job, which are made when they are due."""

    seconds: float  # for one text
    time: float = 0.0
    job: int | None = None
    up: bool = True
    life: int = 0  # messages of an earlier life are lost
    messages: Iterator[list[Any]] = field(default_factory=lambda: iter(()))

    def begin(self, job: int, pieces: Iterable[Any], now: float) -> None:
        self.job, self.time = job, max(self.time, now)
        self.messages = batches(self._timed(pieces), lambda: self.time)

    def _timed(self, pieces: Iterable[Any]) -> Iterator[Any]:
        for piece in pieces:
            if isinstance(piece, EncodedLine):
                self.time += self.seconds
            yield piece


class VirtualWorkers:
    """Workers for the executor that exist in virtual time; one is killed every `kill_every` virtual seconds."""

    whole = False

    def __init__(
        self, many: int, place: Place, *, seconds: float, kill_every: float = 0.0, message: float = 0.0, seed: int = 0
    ) -> None:
        self.many, self.place, self.message = many, place, message
        self.clock, self.kills, self.sent = VirtualClock(), 0, 0
        self._workers = [_VirtualWorker(seconds) for _ in range(many)]
        self._due: list[tuple[float, int, str, _VirtualWorker, int, Any]] = []
        self._numbers, self._rng, self._every = count(), random.Random(seed), kill_every
        self._context = WorkerContext(place)

    def __enter__(self) -> VirtualWorkers:
        if self._every:
            self._push(self._every, "kill", self._workers[0])
        self.clock.resume()
        return self

    def __exit__(self, *what: object) -> None:
        self.clock.pause()

    @property
    def idle(self) -> bool:
        return any(one.up and one.job is None for one in self._workers)

    def pick(self, ready: Sequence[Task]) -> Task | None:
        return ready[0] if self.idle else None

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        """Send a job to a free worker: the driver pays for sending the texts."""
        del before
        sent = ForkingPickler.dumps(job.share)
        self.clock.pause(self.message)
        worker = next(one for one in self._workers if one.up and one.job is None)
        worker.begin(job.number, perform(job.task, self._context, inputs, ForkingPickler.loads(sent)), self.clock.now)
        self._next_message(worker)
        self.clock.resume()

    def events(self) -> Iterator[Event]:
        """Go on to the next message, and yield all that have come by then: the driver pays for reading them."""
        self.clock.pause()
        self.clock.now = max(self.clock.now, self._due[0][0])
        while self._due and self._due[0][0] <= self.clock.now:
            at, _, kind, worker, life, sent = heappop(self._due)
            if kind == "kill":
                self._kill(at)
            elif kind == "up":
                worker.up = True
            elif life == worker.life and worker.job is not None:
                job = worker.job
                if kind == "pieces":
                    self._next_message(worker)
                else:
                    worker.job = None
                self.sent += 1
                self.clock.resume()
                yield Event(job, kind, ForkingPickler.loads(sent))
                self.clock.pause(self.message)
        self.clock.resume()

    def _push(self, at: float, kind: str, worker: _VirtualWorker, value: Any = None) -> None:
        heappush(self._due, (at, next(self._numbers), kind, worker, worker.life, ForkingPickler.dumps(value)))

    def _next_message(self, worker: _VirtualWorker) -> None:
        """Let a worker go on to its next message."""
        pieces = next(worker.messages, None)
        self._push(worker.time, "end" if pieces is None else "pieces", worker, pieces)

    def _kill(self, at: float) -> None:
        """Kill a busy worker: what it has not sent is lost, and a new one takes its place later."""
        self._push(at + self._every, "kill", self._workers[0])
        if busy := [one for one in self._workers if one.up and one.job is not None]:
            worker = self._rng.choice(busy)
            worker.life += 1
            worker.up, worker.time, self.kills = False, at + RESTART, self.kills + 1
            self._push(at + DETECTED, "lost", worker, "killed by signal 9")
            self._push(at + RESTART, "up", worker)


def attack_stub(context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
    """Yield the lines of a run that changes the first word of every text."""
    del context, inputs
    yield Run(recipe="stub", victim="stub", data=share.whole.name, n=len(share.whole), seed=0, labels=("a", "b"))
    for one in share.items:
        text = one.fields["text"]
        word, _, rest = text.partition(" ")
        changed = Side({"text": f"{word[::-1]} {rest}"}, 1 - one.label, (0.25, 0.75))
        yield EncodedLine.of(
            Outcome(
                id=one.id, status="success", label=one.label, original=Side({"text": text}, one.label, (0.75, 0.25)),
                adversarial=changed, edits=(Edit("text", 0, "replace", word, word[::-1]),),
                queries=Queries(30, 30, 31), changed_share=0.1, seconds=0.005, seed=0,
            )
        )  # fmt: skip


def write_texts(path: Path, many: int) -> None:
    """Write a CSV file of made-up texts of eight to twelve words."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 8))) for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for number in range(many):
            file.write(f"{number} {' '.join(rng.choices(words, k=rng.randint(7, 11)))},{number % 2}\n")


def digest(folder: Path) -> str:
    """Return a hash of the lines of a run, in any order."""
    total = 0
    with (folder / FILE).open("rb") as file:
        for line in file:
            total += int.from_bytes(sha256(line).digest(), "big")
    return f"{total % 2**256:064x}"[:16]


def resident() -> float:
    """Return the megabytes of memory that this process holds now; 0 where the system does not tell."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
    return 0.0


def simulate(
    items: Items, folder: Path, *, workers: int, seconds: float = 0.005, kill_every: float = 0.0, message: float = 0.0
) -> Mapping[str, Any]:
    """Run all items on virtual workers and write their run folder; return what it took."""
    memory, written = [resident()], count(1)

    def watch(event: StudyEvent) -> None:
        if isinstance(event, PieceWritten) and next(written) % 10_000 == 0:
            memory.append(resident())

    folder.mkdir(parents=True)
    opened = VirtualWorkers(workers, Place(root=folder), seconds=seconds, kill_every=kill_every, message=message)
    task = Task(name="run", work=attack_stub, output=RunFolder(), items=lambda _: items)
    failed = Execution(plan_of([task]), folder, opened, (Log(folder), watch)).run()
    assert not failed, [plain(error) for error in failed.values()]
    many, took = len(items), opened.clock.now
    return {
        "texts": many, "workers": workers, "victim_ms": 1e3 * seconds, "kill_every": kill_every, "kills": opened.kills,
        "seconds": round(took, 2), "efficiency": round(many * seconds / workers / took, 4),
        "driver_us": round(1e6 * opened.clock.driver / many, 2), "messages": opened.sent,
        "message_us": round(1e6 * message, 1), "most_megabytes": round(max(memory), 1),
        "megabytes": [round(one, 1) for one in memory[:: len(memory) // 10 or 1]], "outcomes": digest(folder / "run"),
    }  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.simulated", description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--milliseconds", type=float, default=5.0, help="of a worker for one text")
    parser.add_argument("--kill-every", type=float, default=60.0, help="virtual seconds; 0: never")
    parser.add_argument("--message-us", type=float, default=0.0, help="what a message costs the driver beside reading")
    given = parser.parse_args(words)
    with TemporaryDirectory() as room:
        path = Path(room, "texts.csv")
        write_texts(path, given.texts)
        found = simulate(
            open_stream(path), Path(room, "out"), workers=given.workers, seconds=given.milliseconds / 1e3,
            kill_every=given.kill_every, message=given.message_us / 1e6,
        )  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
