"""drive: keeps many attacks in flight and pools what they ask, so that batches fill across examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import AssetError, LimitReached, RecordError, SettingError, plain
from malaprop.engine.service import Service

T = TypeVar("T")
N = TypeVar("N")

# no example's fault, and no other example would fare better
_EVERYBODYS = (AssetError, LimitReached, ModuleNotFoundError, RecordError, SettingError)


# Whole forward passes for the few attacks that end in one round would be small batches: they wait for one another.
_PATIENT = "verify"
_FEW = 8  # with less than so much of a lane's share left in all, one lane is enough


class _Lane(Generic[N, T]):
    """Attacks that advance together: each is waiting for the answers to one ask."""

    def __init__(self, patience: int = 1) -> None:
        self.patience = patience
        self.waiting: dict[N, tuple[Steps[T], Ask]] = {}
        self.begun: dict[str, tuple[list[N], list[Sequence[Any]], Any]] = {}

    def advance(self, name: N, steps: Steps[T], reply: list[Any] | ServiceFailed | None) -> Iterator[tuple[N, T]]:
        """Sends an attack its answers and keeps its next ask, or yields its result."""
        try:
            ask = steps.throw(reply) if isinstance(reply, ServiceFailed) else steps.send(reply)  # type: ignore[arg-type]
            while not len(ask.items):
                ask = steps.send([])
            self.waiting[name] = (steps, ask)
        except StopIteration as done:
            self.waiting.pop(name, None)
            yield name, done.value

    def begin(self, services: Mapping[str, Service]) -> None:
        """Starts this lane's round: one call a service, whoever asks."""
        pooled: dict[str, tuple[list[N], list[Sequence[Any]]]] = {}
        for name, (_, ask) in self.waiting.items():
            names, items = pooled.setdefault(ask.service, ([], []))
            names.append(name)
            items.append(ask.items)
        if _PATIENT in pooled and len(pooled) > 1 and len(pooled[_PATIENT][0]) < self.patience:
            del pooled[_PATIENT]
        for service, (names, items) in pooled.items():
            self.begun[service] = (names, items, _begun(services.get(service), items))

    def finish(self, services: Mapping[str, Service]) -> Iterator[tuple[N, T]]:
        """Ends the round and advances every attack that was waiting for it."""
        begun, self.begun = self.begun, {}
        for service, (names, items, pending) in begun.items():
            for name, reply in zip(names, _answers(service, services, items, pending), strict=True):
                if isinstance(reply, _Later):
                    continue
                yield from self.advance(name, self.waiting[name][0], reply)


class _Later:
    """In the place of an answer: this ask waits, for what may be spent does not reach for all."""


Reply = list[Any] | ServiceFailed | _Later


def _begun(service: Service | None, items: list[Sequence[Any]]) -> Any:
    """A round under way, or the error that met it."""
    try:
        return None if service is None else service.begin(items)
    except LimitReached as reached:
        return reached
    except _EVERYBODYS:
        raise
    except Exception as error:  # noqa: BLE001 - found out later, whose fault it is
        return error


def _ended(service: Service, items: list[Sequence[Any]], pending: Any) -> list[list[Any] | ServiceFailed]:
    answers = service.finish(pending)
    if len(answers) != len(items):
        raise RuntimeError(f"a service answered {len(answers)} of {len(items)} asks")
    return [*answers]


def _answers(name: str, services: Mapping[str, Service], items: list[Sequence[Any]], pending: Any) -> list[Reply]:
    service = services.get(name)
    if service is None:
        return [ServiceFailed(f"nothing here answers to {name!r}") for _ in items]
    if isinstance(pending, LimitReached):
        return _afford(service, items, pending)
    if not isinstance(pending, Exception):
        try:
            return [*_ended(service, items, pending)]
        except LimitReached as reached:
            return _afford(service, items, reached)
        except _EVERYBODYS:
            raise
        except Exception as error:  # noqa: BLE001 - found out below, whose fault it is
            pending = error
    try:
        return [*_isolate(service, items)]
    except LimitReached as reached:
        raise LimitReached(f"{reached}; before that, {plain(pending)}") from None


def _afford(service: Service, items: list[Sequence[Any]], reached: LimitReached) -> list[Reply]:
    """Answers as many asks as can still be paid for, those of the oldest attacks first, so that these can end.

    Raises where not even one can.
    """
    many = len(items) // 2
    while many:
        try:
            return [*_isolate(service, items[:many]), *(_Later() for _ in items[many:])]
        except LimitReached:
            many //= 2
    raise reached


def _isolate(service: Service, items: list[Sequence[Any]]) -> list[list[Any] | ServiceFailed]:
    """Answers what can be answered after a failure: halves the round until the asks that fail alone are found."""
    try:
        return _ended(service, items, service.begin(items))
    except _EVERYBODYS:
        raise
    except Exception as error:  # noqa: BLE001 - a victim may raise anything; the reason goes into the record
        if len(items) == 1:
            return [ServiceFailed(plain(error))]
    half = len(items) // 2
    return _isolate(service, items[:half]) + _isolate(service, items[half:])


def drive(
    attacks: Iterable[tuple[N, Steps[T]]], services: Mapping[str, Service], *, width: int, lanes: int = 1
) -> Iterator[tuple[N, T]]:
    """Advances up to `width` attacks side by side; yields (name, result) as they end.

    A failure of a service reaches only the attacks whose asks fail also when asked alone; they get ServiceFailed.
    With two lanes one half of the attacks is advanced while the device works for the other half.
    """
    queue = iter(attacks)  # which may end for now and go on later, as the playground's does
    many = max(1, min(lanes, width))
    share = max(1, width // many)
    first = list(islice(queue, many * share)) if many > 1 else []  # dealt out evenly, few as they may be
    even = -(-len(first) // many)
    crew = [(_Lane[N, T](patience=(even or share) // 2), iter(first[i * even : (i + 1) * even])) for i in range(many)]
    while True:
        for lane, hand in tuple(crew):
            yield from lane.finish(services)
            while len(lane.waiting) < share and (job := next(hand, None) or next(queue, None)) is not None:
                yield from lane.advance(*job, None)
            if len(crew) > 1 and sum(len(other.waiting) for other, _ in crew) <= even // _FEW:
                crew.remove((lane, hand))  # the last few fill no batches apart
                crew[0][0].waiting |= lane.waiting
            else:
                lane.begin(services)
        if not any(lane.waiting for lane, _ in crew):
            return
