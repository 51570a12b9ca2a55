"""Crew: workers that hold one victim, and the driver that gives them shards and hears their outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic, sleep
from types import TracebackType
from typing import Any

from malaprop import __version__
from malaprop.attacks.attack import Attack, Ending
from malaprop.core.capability import check
from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.core.example import Example
from malaprop.core.victim import About
from malaprop.engine.service import Tally
from malaprop.records.outcome import Outcome
from malaprop.runs.cluster.order import Failure, Greeting, Order
from malaprop.runs.cluster.parcel import portable
from malaprop.runs.cluster.session import Session
from malaprop.runs.cluster.shards import Shard, Shards
from malaprop.runs.cluster.slot import Slot
from malaprop.runs.local import outcome as record

PATIENCE = 900.0  # seconds without a single worker, after which the cluster is taken for full
_STILLBORN = 3  # a place whose worker dies so often while it loads the victim is given up
_CARRIED = ("MALAPROP_CACHE", "MALAPROP_DATA")


class Crew:
    """An engine of many processes, inside `with`; `about` says what the workers hold.

    Lost workers are replaced, and what they left undone is done again, as long as outcomes keep coming. An example
    that kills every worker that takes it up ends as `error`.
    """

    def __init__(
        self,
        session: Session,
        thing: Any,
        *,
        workers: int | None = None,
        device: str = "auto",
        options: Mapping[str, Any] | None = None,
        say: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    ) -> None:
        if workers is not None and workers < 1:
            raise SettingError(f"workers must be at least 1, got {workers}")
        self._session, self._thing, self._options, self._say = session, thing, dict(options or {}), say
        self._device = _device(device, session)
        on_gpu = self._device.startswith("cuda")
        self.workers = workers or max(1, session.gpus if on_gpu else session.cpus)
        self.gpu_share = (
            1 / max(1, -(-self.workers // session.gpus)) if on_gpu else 0.0
        )  # several workers may share one
        self._slots: list[Slot] = []
        self._first: Greeting | None = None  # of the first worker that had loaded the victim
        self._notes: tuple[str, ...] = ()
        self._losses = 0  # in a row, without an outcome from anybody
        self._since = monotonic()  # the last moment at which there was a worker
        self._told = False

    @property
    def about(self) -> About:
        assert self._first is not None, "a crew is used inside `with`"
        return replace(self._first.about, notes=self._notes)

    def __enter__(self) -> Crew:
        order = self._sent()
        self._since = monotonic()
        try:
            self._slots = [Slot(partial(self._worker, order)) for _ in range(self.workers)]
            while self._first is None:
                for _ in self._listen(Shards((), 0, 1), 0):
                    pass
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers."""
        for slot in self._slots:
            slot.dismiss()

    def run(
        self, attack: Attack, examples: Iterable[Example], *, seed: int = 0, width: int = 256, many: int = 0
    ) -> Iterator[Outcome]:
        """Outcomes in the order in which they come in; the same ones as in one process. `many`: of them, about."""
        if width < 1:
            raise SettingError(f"width must be at least 1, got {width}")
        check(attack.name, attack.needs, self.about.name, self.about.offers, self.about.withheld)
        sent, shards = _put(attack, f"the attack {attack.name}"), Shards(examples, many, self.workers)
        waiting: Shard | None = None
        self._since = monotonic()
        try:
            while True:
                for slot in self._slots:
                    waiting = waiting or shards.next()
                    if waiting is not None and slot.ready:
                        slot.hand(sent, waiting, seed, width)
                        waiting = None
                if waiting is None and all(slot.work is None for slot in self._slots):
                    break
                yield from self._listen(shards, seed)
            self._take_notes()
        finally:
            for slot in self._slots:
                if slot.work is not None:  # left early: what it does now nobody will hear
                    slot.dismiss()
                    slot.shard = None

    def _sent(self) -> Any:
        """The order, in the cluster's own memory."""
        thing = portable(
            self._thing,
            device="cpu" if self._session.gpus else self._device,
            options=self._options,
            shared=self._session.shared,
        )
        order = Order(
            thing=thing,
            device=self._device,
            options=self._options,
            folder=os.getcwd(),
            surroundings={name: os.environ[name] for name in _CARRIED if name in os.environ},
        )
        return _put(order, f"the victim ({type(self._thing).__name__})")

    def _worker(self, order: Any) -> Any:
        import ray

        from malaprop.runs.cluster.worker import Worker

        remote = ray.remote(Worker).options(num_cpus=1, num_gpus=self.gpu_share, max_restarts=0)
        return remote.remote(order)

    def _listen(self, shards: Shards, seed: int) -> Iterator[Outcome]:
        """Fills empty places and hears whoever speaks within half a second."""
        import ray

        for slot in self._slots:
            slot.fill()
        self._be_patient()
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
            if slot.work is None:
                self._greet(slot)
            else:
                yield from self._hear(slot, shards, seed)

    def _greet(self, slot: Slot) -> None:
        """A worker has loaded the victim, or could not, or was lost over it."""
        import ray

        try:
            said: Greeting | Failure = ray.get(slot.hello)
        except ray.exceptions.RayTaskError as error:
            raise VictimError(f"a worker cannot start: {_first_line(error)}") from None
        except ray.exceptions.RayError as error:
            slot.lose()
            if slot.deaths >= _STILLBORN:
                why = f"{_first_line(error)}); has its machine the memory for it?"
                self._give_up(slot, VictimError(f"a worker dies while it loads {self._called()} ({why}"))
            return
        if isinstance(said, Failure):
            if not said.memory:
                raise said.error()
            slot.dismiss()
            self._give_up(slot, said.error())
            return
        self._check(said)
        slot.hello, slot.known = None, True

    def _check(self, said: Greeting) -> None:
        first = self._first = self._first or said
        if said.version != __version__:
            raise SettingError(f"the worker machine {said.node} has malaprop {said.version}, here it is {__version__}")
        here, there = said.about.fingerprint, first.about.fingerprint
        if here != there:
            raise VictimError(
                f"{said.about.name} is not the same everywhere: {here or 'no fingerprint'} on {said.node}, "
                f"{there or 'no fingerprint'} on {first.node}; give all machines the same model"
            )

    def _give_up(self, slot: Slot, error: VictimError | Any) -> None:
        """Goes on with the others; with nobody left, says why."""
        slot.retired = True
        if all(other.retired for other in self._slots):
            raise error
        self._say(f"{plain(error)}; going on with fewer workers")

    def _hear(self, slot: Slot, shards: Shards, seed: int) -> Iterator[Outcome]:
        """The next outcomes of a worker, or the end of its shard, or its end."""
        import ray

        try:
            said: list[Outcome] | Failure = ray.get(next(slot.work))
        except StopIteration:
            assert not slot.shard, "a worker ended a shard without all its outcomes"
            slot.done()
            return
        except ray.exceptions.RayTaskError as error:
            raise VictimError(f"a worker failed: {_first_line(error)}") from None
        except ray.exceptions.RayError as error:
            yield from self._lost(slot, shards, seed, _first_line(error))
            return
        if isinstance(said, Failure):
            raise said.error()
        for outcome in said:
            assert slot.shard is not None
            if slot.shard.left.pop(outcome.id, None) is not None:
                self._losses = slot.deaths = 0
                yield outcome

    def _lost(self, slot: Slot, shards: Shards, seed: int, why: str) -> Iterator[Outcome]:
        shard = slot.lose()
        self._losses += 1
        if self._losses > 10 + 2 * self.workers:
            raise VictimError(
                f"workers were lost {self._losses} times without an outcome in between ({why}); "
                "what is finished is safe"
            )
        self._say(f"a worker was lost ({why}); it is replaced and its unfinished examples are done again")
        if shard is not None and (guilty := shards.back(shard)) is not None:
            reason = f"its worker died {shard.deaths} times while attacking it: {why}"
            self._losses = 0
            yield record(guilty, Ending("error", None, None, None, None, 0, reason), Tally(), seed, 0.0)

    def _be_patient(self) -> None:
        """A cluster may have to start machines first, or be full; some time is granted."""
        now = monotonic()
        if any(slot.known for slot in self._slots):
            self._since, self._told = now, False
        elif now - self._since > PATIENCE:
            raise SettingError(
                f"for {PATIENCE:.0f} s the cluster had no room for a worker of {self._wants()}; free some, or add "
                "machines; what is finished is safe"
            )
        elif now - self._since > 30 and not self._told:
            self._told = True
            self._say(f"no worker yet: each wants {self._wants()}; waiting for the cluster")

    def _wants(self) -> str:
        return f"1 CPU and {self.gpu_share:.3g} GPU" if self.gpu_share else "1 CPU"

    def _called(self) -> str:
        return str(self._thing) if isinstance(self._thing, (str, os.PathLike)) else type(self._thing).__name__

    def _take_notes(self) -> None:
        import ray

        told: dict[str, None] = {}
        asked = [slot.worker.notes.remote() for slot in self._slots if slot.ready]
        for ref in ray.wait(asked, num_returns=len(asked), timeout=5)[0] if asked else []:
            try:
                told.update(dict.fromkeys(ray.get(ref)))
            except ray.exceptions.RayError:
                continue
        self._notes = tuple(told)


def _device(asked: str, session: Session) -> str:
    if asked == "auto":
        return "cuda" if session.gpus else "cpu"
    if asked.startswith("cuda") and not session.gpus:
        raise SettingError(f"device {asked!r}: no machine of the cluster has a GPU; use --device cpu")
    return "cuda" if asked.startswith("cuda") else asked  # Ray shows each worker one GPU, as its first


def _put(value: Any, what: str) -> Any:
    import ray

    try:
        return ray.put(value)
    except Exception as error:  # noqa: BLE001 - an object's own way of being sent may raise anything
        raise SettingError(
            f"{what} cannot be sent to the workers: {plain(error)[:200]}; give it as a folder, a name or "
            "module:attribute, which they can load themselves"
        ) from None


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if type(error).__name__.startswith("RayTaskError") else lines[0])[:200] if lines else "no reason"
