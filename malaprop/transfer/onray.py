"""The tasks of a study on a Ray cluster: each source goes to whichever machine is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.runs.cluster.order import Failure
from malaprop.runs.cluster.parcel import portable
from malaprop.runs.cluster.session import Session
from malaprop.transfer.shelf import Place, Ref, Shelf
from malaprop.transfer.tasks import Task

_DEATHS = 2  # workers that a task may lose before it is given up
_SHELVES: dict[str, Shelf] = {}  # of a worker's process, which Ray uses again for the next task


class OnRay:
    """As many tasks at a time as the cluster has workers for: one a GPU, or one a core."""

    def __init__(self, session: Session, place: Place, *, workers: int | None = None) -> None:
        wants = place.device
        if wants.startswith("cuda") and not session.gpus:
            raise SettingError(f"device {wants!r}: no machine of the cluster has a GPU; use --device cpu")
        device = ("cuda" if session.gpus else "cpu") if wants == "auto" else wants.partition(":")[0]
        self.many = workers or max(1, session.gpus if device == "cuda" else session.cpus)
        self.gpus = 1 / max(1, -(-self.many // session.gpus)) if device == "cuda" else 0.0  # several may share one
        self.place = replace(place, device=device, threads=1)
        self.shared_disk = session.shared

    def __enter__(self) -> OnRay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def all(self, tasks: Sequence[Task], shared: Any = None) -> Iterator[tuple[int, Any]]:
        import ray

        remote = ray.remote(work).options(num_cpus=1, num_gpus=self.gpus, num_returns="streaming", max_retries=0)
        common = ray.put(shared)
        waiting, running = deque(range(len(tasks))), dict[Any, int]()
        deaths = dict.fromkeys(range(len(tasks)), 0)
        try:
            while waiting or running:
                while waiting and len(running) < self.many:
                    number = waiting.popleft()
                    running[self._begin(remote, tasks[number], common)] = number
                ready, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
                for stream in ready:
                    number = running[stream]
                    try:
                        said = ray.get(next(stream))
                    except StopIteration:
                        del running[stream]
                        continue
                    except ray.exceptions.RayError as error:
                        del running[stream]
                        deaths[number] += 1
                        _patient(tasks[number], deaths[number], error)
                        waiting.appendleft(number)
                        continue
                    if isinstance(said, Failure):
                        raise said.error()
                    yield number, said[0]
        finally:
            for stream in running:  # left early: what they do now nobody will hear
                ray.cancel(stream, force=True)

    def _begin(self, remote: Any, task: Task, common: Any) -> Any:
        try:
            return remote.remote(self.place, self._packed(task), common)
        except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
            raise SettingError(
                f"{', '.join(task.parts)} cannot be sent to the workers: {plain(error)[:200]}; give folders or names"
            ) from None

    def _packed(self, task: Any) -> Any:
        """The task with its victims fit for the journey."""
        if hasattr(task, "refs"):
            return replace(task, refs=tuple(map(self._ref, task.refs)))
        return replace(task, ref=self._ref(task.ref))

    def _ref(self, ref: Ref) -> Ref:
        if isinstance(ref.thing, tuple):
            return replace(ref, thing=tuple(map(self._ref, ref.thing)))
        thing = portable(ref.thing, device="cpu", options={}, shared=self.shared_disk)
        return replace(ref, thing=thing)


def _patient(task: Task, deaths: int, error: Exception) -> None:
    if deaths > _DEATHS:
        words = " ".join(str(error).split())[:200]
        raise VictimError(
            f"{', '.join(task.parts)}: its worker was lost {deaths} times ({words}); what is finished is kept"
        )


def work(place: Place, task: Task, shared: Any) -> Iterator[tuple[Any] | Failure]:
    """One task in a worker's process."""
    from malaprop.runs.cluster.worker import failure

    place.settle()
    shelf = _SHELVES.setdefault(f"{place.device} {place.precision} {place.folder}", Shelf(place))
    try:
        for piece in task.pieces(shelf, shared):
            yield (piece,)
    except Exception as error:  # noqa: BLE001 - told to the driver, whatever it is
        yield failure(error, ", ".join(task.parts))
