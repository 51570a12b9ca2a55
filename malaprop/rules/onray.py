"""The same mining on a Ray cluster: shards of texts go out, their sums come back and are added up in order."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from malaprop.core.errors import VictimError
from malaprop.core.example import Example
from malaprop.engine.service import Service
from malaprop.rules.mine import Gathered, Keeps, Method, Mined, Miner, added_up, need_some, shards
from malaprop.rules.swaps import Swaps, WordNetSwaps
from malaprop.tasks.desk import Desk, Place
from malaprop.tasks.workers.parcel import Parcel, portable, unpack
from malaprop.tasks.workers.session import Session
from malaprop.tasks.workers.trouble import Trouble

_TRIES = 3  # a shard whose worker is lost is given out so often


class Digger:
    """Made in a process of the cluster; holds the victims and weighs the shards it is given."""

    def __init__(self, place: Place, method: Method, width: int, swaps: Swaps, labels: tuple[str, ...] = ()) -> None:
        self.place, self.method, self.width, self.swaps, self.labels = place, method, width, swaps, labels
        self.miner: Miner | None = None
        self.services: dict[str, Service] = {}

    def gather(self, examples: Sequence[Example], sent: Sequence[Any]) -> Gathered | Trouble:
        """`sent` is a list with a reference to the victims, looked at once. Ray could not have it again for a
        constructor when it makes this anew."""
        try:
            if self.miner is None:
                self.miner = self._load(sent)
                self.services = self.miner.services()
            return self.miner.gather(examples, self.services)
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver has to hear of it in words
            return Trouble.of(error, "rules mine cannot go on", socket.gethostname())

    def _load(self, sent: Sequence[Any]) -> Miner:
        import ray

        self.place.settle()
        desk, victims = Desk(self.place), []
        for thing in ray.get(sent[0]):
            with unpack(thing) if isinstance(thing, Parcel) else nullcontext(thing) as found:
                victims.append(desk.victim(found))
        return Miner(victims=tuple(victims), method=self.method, width=self.width, swaps=self.swaps, labels=self.labels)


def mine_on(
    session: Session,
    specs: Sequence[Any],
    examples: Iterable[Example],
    *,
    method: Method = "exact",
    width: int = 128,
    swaps: Swaps | None = None,
    labels: tuple[str, ...] = (),
    workers: int | None = None,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
    seen: Callable[[int], None] = lambda texts: None,  # noqa: ARG005
    keeps: Keeps | None = None,
) -> Mined:
    """What `mine` gives, from as many processes as there are cores or GPUs, or `workers`."""
    import ray

    gpus = 1 if session.gpus and device != "cpu" else 0
    many = workers or max(1, session.gpus if gpus else session.cpus)
    known = dict(options or {})
    place = Place(
        root=Path.cwd(),
        device="cuda" if gpus else "cpu",
        precision=known.get("precision", "auto"),
        quiet=known.get("quiet", True),
        threads=1,
    )
    trainer = "cpu" if session.gpus else place.device
    sent = ray.put([portable(spec, device=trainer, options=known, shared=session.shared) for spec in specs])
    remote = ray.remote(Digger).options(num_cpus=1, num_gpus=gpus, max_restarts=_TRIES, max_task_retries=_TRIES)
    with ExitStack() as stack:
        crew = [remote.remote(place, method, width, swaps or WordNetSwaps(), labels) for _ in range(many)]
        for actor in crew:
            stack.callback(ray.kill, actor)
        return need_some(added_up(_in_order(crew, [sent], examples, seen, keeps)))


def _in_order(
    crew: Sequence[Any],
    orders: Sequence[Any],
    examples: Iterable[Example],
    seen: Callable[[int], None],
    keeps: Keeps | None,
) -> Iterator[Gathered]:
    """Shards in their own order, whoever is done first; two a worker are out at a time."""
    import ray

    out: dict[Any, tuple[int, Any]] = {}
    ready: dict[int, Gathered] = {}
    due = 0

    def left() -> Iterator[tuple[int, list[Example]]]:
        for number, shard in enumerate(shards(examples)):
            if keeps is not None and (held := keeps.get(number)) is not None:
                ready[number] = held
                seen(held.texts)
            else:
                yield number, shard

    rest = left()

    def hand(actor: Any) -> None:
        job = next(rest, None)
        if job is not None:
            out[actor.gather.remote(job[1], orders)] = (job[0], actor)

    for actor in [*crew, *crew]:
        hand(actor)
    while out:
        (done,), _ = ray.wait(list(out), num_returns=1)
        number, actor = out.pop(done)
        ready[number] = _heard(done)
        if keeps is not None:
            keeps.put(number, ready[number])
        seen(ready[number].texts)
        hand(actor)
        while due in ready:
            yield ready.pop(due)
            due += 1
    while due in ready:  # what was kept from before, behind the last that was mined now
        yield ready.pop(due)
        due += 1


def _heard(done: Any) -> Gathered:
    import ray

    try:
        said: Gathered | Trouble = ray.get(done)
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())
        raise VictimError(f"a worker was lost more than {_TRIES} times over the same texts: {words[:200]}") from None
    if isinstance(said, Trouble):
        raise said.error()
    return said
