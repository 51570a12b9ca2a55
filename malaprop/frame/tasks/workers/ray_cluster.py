"""Actors of a Ray cluster do the tasks, each with its own `WorkerContext`, whose models serve many jobs."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from malaprop.core.budget import Budget, BudgetState, Charge, Meter
from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.frame.tasks.outputs import OwnFolder
from malaprop.frame.tasks.task import Inputs, Share, Task
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers.job import Event, Job, RemoteError, batches, choose, perform
from malaprop.frame.tasks.workers.ray_session import Session, VictimArchive, pack, portable, unpack

PATIENCE = 900.0  # seconds without any worker, after which the cluster counts as full
_STILLBORN = 3  # a slot is given up after so many workers died in it before they answered
_SENT = 16  # tasks, beyond one for each worker, whose inputs stay in the cluster's memory
_SLOWEST = 30.0  # seconds; a slot is filled again after 0.5, 1, 2, 4 ... seconds, at most this


@dataclass(slots=True, eq=False)
class _Slot:
    """A slot for one worker: first starting (`hello`), then free, then at a job (`stream`)."""

    worker: Any = None
    hello: Any = None
    stream: Any = None
    job: Job | None = None
    held: set[str] = field(default_factory=set)
    deaths: int = 0  # workers lost since the last answer
    again: float = 0.0  # not filled before this time
    retired: bool = False

    @property
    def free(self) -> bool:
        return self.worker is not None and self.hello is None and self.job is None

    @property
    def owes(self) -> Any:
        """The Ray reference to wait for; None if the slot is empty or idle."""
        return self.hello if self.hello is not None else self.stream


class RayCluster:
    """Workers that are Ray actors: as many as requested, else one for each GPU or core. Lost ones are replaced."""

    whole = False

    def __init__(
        self, session: Session, place: Place, *, workers: int | None = None, budget: Budget | None = None
    ) -> None:
        wants = place.device
        if wants.startswith("cuda") and not session.gpus:
            raise SettingError(f"device {wants!r}: no machine of the cluster has a GPU; use --device cpu")
        device = ("cuda" if session.gpus else "cpu") if wants == "auto" else wants.partition(":")[0]
        self.many = workers or max(1, session.gpus if device == "cuda" else session.cpus)
        self.gpus = 1 / max(1, -(-self.many // session.gpus)) if device == "cuda" else 0.0  # several may share one
        self.place = replace(place, device=device, threads=1)
        self.shared = session.shared
        self.budget = budget
        self._keeper: Any = None  # the actor that keeps the budget for all workers
        self._read = 0.0  # when it was last read
        self._slots: list[_Slot] = []
        self._next: _Slot | None = None
        self._since = monotonic()
        self._sent: dict[str, Any] = {}  # what all jobs of a task are given, in the cluster's memory
        self._archives: dict[str, Any] = {}

    def __enter__(self) -> RayCluster:
        self._slots, self._since = [_Slot() for _ in range(self.many)], monotonic()
        if self.budget is not None:
            import ray

            sent = replace(self.budget, tell=None)
            self._keeper = ray.remote(BudgetKeeper).options(num_cpus=0).remote(sent, self.budget.minutes * 60)
        return self

    def __exit__(self, *what: object) -> None:
        for slot in self._slots:
            _dismiss(slot)
        if self._keeper is not None:
            import ray

            self._read_budget(0.0)
            with suppress(Exception):  # it may be gone, and Ray with it
                ray.kill(self._keeper)

    def _read_budget(self, every: float = 1.0) -> None:
        """Copy what was spent so far from the actor that keeps the budget."""
        if self._keeper is None or self.budget is None or monotonic() - self._read < every:
            return
        import ray

        with suppress(ray.exceptions.RayError):
            self.budget.spent, self.budget.ended, self.budget.reached = ray.get(self._keeper.read.remote())
            if self.budget.tell is not None:
                self.budget.tell()
        self._read = monotonic()

    @property
    def idle(self) -> bool:
        return any(slot.free for slot in self._slots)

    def pick(self, ready: Sequence[Task]) -> Task | None:
        self._next = next((slot for slot in self._slots if slot.free), None)
        if self._next is None:
            return None
        others = set[str]().union(*(other.held for other in self._slots if other is not self._next))
        return choose(ready, self._next.held, others)

    def start(self, job: Job, inputs: Inputs, before: Any) -> None:
        slot, name = self._next, job.task.name
        assert slot is not None, "pick comes first"
        if name not in self._sent:
            self._sent[name] = self._put(name, (job.task, self._packed(job.task, inputs), before))
            while len(self._sent) > _SENT + self.many:
                del self._sent[next(iter(self._sent))]
        share = None if job.share is None else self._put(name, job.share)
        slot.stream = slot.worker.work.options(num_returns="streaming").remote(self._sent[name], share)
        slot.job = job
        slot.held.update(job.task.holds)

    def events(self) -> Iterator[Event]:
        """Fill empty slots, then yield the events that come within half a second."""
        import ray

        self._fill()
        self._read_budget()
        owed = {id(slot.owes): slot for slot in self._slots if slot.owes is not None}
        if not owed:
            sleep(0.1)
            return
        asked = [slot.owes for slot in owed.values()]
        ready, _ = ray.wait(asked, num_returns=1, timeout=0.5)
        if ready:
            ready, _ = ray.wait(asked, num_returns=len(asked), timeout=0)
        for spoke in ready:
            slot = owed[id(spoke)]
            if slot.hello is not None:
                self._greet(slot)
            else:
                yield self._hear(slot)

    # --- inputs that are sent

    def _put(self, name: str, value: Any) -> Any:
        import ray

        try:
            return ray.put(value)
        except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
            raise SettingError(
                f"{name} cannot be sent to the workers: {plain(error)[:200]}; give folders, names or module:attribute"
            ) from None

    def _packed(self, task: Task, inputs: Inputs) -> Inputs:
        """Make inputs fit for other machines: train zoo victims first, and pack files and folders as archives."""
        named = {name: portable(inputs[name]) for name in task.victims if name in inputs}
        found = {**inputs, **named}
        if self.shared:
            return found
        return {name: self._archives_of(value, name in named) for name, value in found.items()}

    def _archives_of(self, value: Any, victim: bool = False) -> Any:
        """An archive in the place of each file and folder, also of those in a mapping."""
        if isinstance(value, Mapping):
            return {name: self._archives_of(inner) for name, inner in value.items()}
        return self._archive(value) if _is_local(value, victim) else value

    def _archive(self, path: Any) -> Any:
        import ray

        key = os.fspath(path)
        if key not in self._archives:
            self._archives[key] = ray.put(pack(Path(key)))
        return _Sent(self._archives[key])

    # --- workers

    def _fill(self) -> None:
        import ray

        now = monotonic()
        for slot in self._slots:
            if slot.worker is None and not slot.retired and now >= slot.again:
                made = ray.remote(RayWorker).options(num_cpus=1, num_gpus=self.gpus, max_restarts=0)
                slot.worker = made.remote(self.place, self.shared, self._keeper)
                slot.hello = slot.worker.hello.remote()
        if any(slot.worker is not None and slot.hello is None for slot in self._slots):
            self._since = now
        elif now - self._since > PATIENCE:
            wants = f"1 CPU and {self.gpus:.3g} GPU" if self.gpus else "1 CPU"
            raise SettingError(
                f"for {PATIENCE:.0f} s the cluster had no room for a worker of {wants}; free some, or add machines; "
                "what is finished is safe"
            )

    def _greet(self, slot: _Slot) -> None:
        import ray

        try:
            ray.get(slot.hello)
        except ray.exceptions.RayTaskError as error:
            raise VictimError(f"a worker cannot start: {_first_line(error)}") from None
        except ray.exceptions.RayError as error:
            _lose(slot)
            if slot.deaths >= _STILLBORN:
                slot.retired = True
                if all(other.retired for other in self._slots):
                    raise VictimError(f"workers die before they have begun: {_first_line(error)}") from None
            return
        slot.hello = None

    def _hear(self, slot: _Slot) -> Event:
        import ray

        assert slot.job is not None
        number = slot.job.number
        try:
            kind, value = ray.get(next(slot.stream))
        except StopIteration:
            kind, value = "lost", "its answer ended early"
        except ray.exceptions.RayTaskError as error:
            kind, value = "failed", RemoteError("VictimError", f"a worker failed: {_first_line(error)}")
        except ray.exceptions.RayError as error:
            kind, value = "lost", _first_line(error)
        if kind == "lost":
            self._sent.pop(slot.job.task.name, None)  # what was done before has grown
            _lose(slot)
        elif kind != "pieces":
            slot.stream = slot.job = None
            self._read_budget(0.0)  # by which the next group of examples is cut
        slot.deaths = 0 if kind != "lost" else slot.deaths
        return Event(number, kind, value.error() if kind == "failed" else value)


def _lose(slot: _Slot) -> None:
    """Empty the slot of a lost worker, to be filled again after a growing delay."""
    _dismiss(slot)
    slot.deaths += 1
    slot.again = monotonic() + min(_SLOWEST, 0.25 * 2**slot.deaths)


def _dismiss(slot: _Slot) -> None:
    """Kill the worker of a slot, if there is one, and empty the slot."""
    import ray

    if slot.worker is not None:
        with suppress(Exception):  # it may be gone, and Ray with it
            ray.kill(slot.worker)
    slot.worker = slot.hello = slot.stream = slot.job = None
    slot.held = set()


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if type(error).__name__.startswith("RayTaskError") else lines[0])[:200] if lines else "no reason"


def _is_local(value: Any, victim: bool) -> bool:
    """Return whether a value is a file or folder on the driver's disk."""
    return isinstance(value, Path) or (victim and isinstance(value, str) and Path(value).exists())


@dataclass(frozen=True, slots=True)
class _Sent:
    """An archive that lies in the cluster's memory."""

    archive: Any


class BudgetKeeper:
    """An actor that keeps the run's budget for all workers of a cluster."""

    def __init__(self, budget: Budget, seconds: float) -> None:
        self.budget = replace(budget, seconds=seconds, began=monotonic())  # this machine's clock is another one

    def draw(self, charge: Charge) -> BudgetState:
        return self.budget.draw(Charge(*charge))

    def read(self) -> tuple[Meter, int, str]:
        return self.budget.spent, self.budget.ended, self.budget.reached


class RayWorker:
    """The actor that does jobs in a process of the cluster."""

    def __init__(self, place: Place, shared: bool, keeper: Any = None) -> None:
        self.place, self.shared = place, shared
        self.context = WorkerContext(place)
        if keeper is not None:
            import ray

            self.context.charge_through(lambda charge: ray.get(keeper.draw.remote(charge)))
        self._folders = ExitStack()
        self._unpacked: dict[Any, Path] = {}

    def hello(self) -> str:
        """Apply the driver's environment; return the name of this machine."""
        self.place.apply()
        return socket.gethostname()

    def work(self, given: tuple[Task, Inputs, Any], share: Share | None) -> Iterator[tuple[str, Any]]:
        """Yield ("pieces", list) while the job runs, then ("end", None) or ("failed", RemoteError)."""
        task, inputs, before = given
        try:
            own = not self.shared and isinstance(task.output, OwnFolder)
            folder = self._room(task.name) if own else None
            self.context.begin(task, before, folder)
            for pieces in batches(perform(task, self.context, self._opened(inputs), share)):
                yield "pieces", pieces
            if folder is not None:
                yield "pieces", [pack(folder)]
            yield "end", None
        except Exception as error:  # noqa: BLE001 - the driver decides what an error means
            yield "failed", RemoteError.of(error, task.name, socket.gethostname())

    def _room(self, name: str) -> Path:
        from tempfile import TemporaryDirectory

        return Path(self._folders.enter_context(TemporaryDirectory(prefix="malaprop-"))) / Path(name).name

    def _opened(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Archives unpacked as folders of this machine, kept while the worker lives."""
        return {name: self._open(value) for name, value in inputs.items()}

    def _open(self, sent: Any) -> Any:
        import ray

        if isinstance(sent, Mapping):
            return self._opened(sent)
        if not isinstance(sent, _Sent):
            return sent
        if sent.archive not in self._unpacked:
            archive: VictimArchive = ray.get(sent.archive)
            self._unpacked[sent.archive] = Path(self._folders.enter_context(unpack(archive)))
        return self._unpacked[sent.archive]
