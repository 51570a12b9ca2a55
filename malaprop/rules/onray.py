"""The same mining on a Ray cluster: shards of texts go out, their sums come back and are added up in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from malaprop.core.errors import VictimError
from malaprop.core.example import Example
from malaprop.engine.service import Service
from malaprop.rules.mine import Gathered, Keeps, Method, Mined, Miner, added_up, need_some, shards
from malaprop.rules.swaps import Swaps, WordNetSwaps
from malaprop.runs.cluster.order import Failure, Order
from malaprop.runs.cluster.parcel import portable
from malaprop.runs.cluster.session import Session

_TRIES = 3  # a shard whose worker is lost is given out so often


class Digger:
    """Made in a process of the cluster; holds the victims and weighs the shards it is given."""

    def __init__(self, method: Method, width: int, swaps: Swaps, labels: tuple[str, ...] = ()) -> None:
        self.method, self.width, self.swaps, self.labels = method, width, swaps, labels
        self.miner: Miner | None = None
        self.services: dict[str, Service] = {}

    def gather(self, examples: Sequence[Example], orders: Sequence[Any]) -> Gathered | Failure:
        """`orders` is a list with a reference to those of the victims, looked at once. Ray could not have it again for
        a constructor when it makes this anew."""
        from malaprop.runs.cluster.worker import failure

        try:
            if self.miner is None:
                self.miner = self._load(orders)
                self.services = self.miner.services()
            return self.miner.gather(examples, self.services)
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver has to hear of it in words
            return failure(error, "rules mine cannot go on")

    def _load(self, sent: Sequence[Any]) -> Miner:
        import ray

        from malaprop.runs.cluster.worker import Worker

        victims = []
        orders: Sequence[Order] = ray.get(sent[0])
        for order in orders:
            worker = Worker(order)
            said = worker.hello()
            if isinstance(said, Failure):
                raise said.error()
            assert worker.victim is not None
            victims.append(worker.victim)
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
    place = "cuda" if gpus else "cpu"
    many = workers or max(1, session.gpus if gpus else session.cpus)
    known = dict(options or {})
    surroundings = {n: os.environ[n] for n in ("MALAPROP_CACHE", "MALAPROP_DATA") if n in os.environ}
    orders = [
        Order(
            thing=portable(spec, device="cpu" if session.gpus else place, options=known, shared=session.shared),
            device=place,
            options=known,
            folder=os.getcwd(),
            surroundings=surroundings,
        )
        for spec in specs
    ]
    sent = ray.put(orders)
    remote = ray.remote(Digger).options(num_cpus=1, num_gpus=gpus, max_restarts=_TRIES, max_task_retries=_TRIES)
    with ExitStack() as stack:
        crew = [remote.remote(method, width, swaps or WordNetSwaps(), labels) for _ in range(many)]
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
        said: Gathered | Failure = ray.get(done)
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())
        raise VictimError(f"a worker was lost more than {_TRIES} times over the same texts: {words[:200]}") from None
    if isinstance(said, Failure):
        raise said.error()
    return said
