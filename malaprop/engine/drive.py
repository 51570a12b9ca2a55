"""`drive` runs many attacks side by side and pools their requests, so that batches fill across examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import AssetError, LimitReached, RecordError, SettingError, plain
from malaprop.engine.service import Service

T = TypeVar("T")
N = TypeVar("N")

# Errors that no single example causes: every other one would meet them as well.
_FATAL = (AssetError, LimitReached, ModuleNotFoundError, RecordError, SettingError)


# Few attacks end in one round, so the queries that confirm successes would make small batches: they wait for more.
_PATIENT = "verify"
_FEW = 8  # several streams become one where at most an eighth of one stream's attacks are left over all of them


class _Stream(Generic[N, T]):
    """A stream of attacks that advance together; each of them waits for the answers to one request."""

    def __init__(self, patience: int = 1) -> None:
        self.patience = patience
        self.waiting: dict[N, tuple[Steps[T], Ask]] = {}
        self.begun: dict[str, tuple[list[N], list[Sequence[Any]], Any]] = {}

    def advance(self, name: N, steps: Steps[T], reply: list[Any] | ServiceFailed | None) -> Iterator[tuple[N, T]]:
        """Send an attack its answers and keep its next request, or yield its result."""
        try:
            ask = steps.throw(reply) if isinstance(reply, ServiceFailed) else steps.send(reply)  # type: ignore[arg-type]
            while not len(ask.items):
                ask = steps.send([])
            self.waiting[name] = (steps, ask)
        except StopIteration as done:
            self.waiting.pop(name, None)
            yield name, done.value

    def begin(self, services: Mapping[str, Service]) -> None:
        """Start a round of this stream: one call a service, with the requests of all attacks."""
        pooled: dict[str, tuple[list[N], list[Sequence[Any]]]] = {}
        for name, (_, ask) in self.waiting.items():
            names, items = pooled.setdefault(ask.service, ([], []))
            names.append(name)
            items.append(ask.items)
        if _PATIENT in pooled and len(pooled) > 1 and len(pooled[_PATIENT][0]) < self.patience:
            del pooled[_PATIENT]
        for service, (names, items) in pooled.items():
            self.begun[service] = (names, items, _start(services.get(service), items))

    def finish(self, services: Mapping[str, Service]) -> Iterator[tuple[N, T]]:
        """End the round and advance every attack that waited for it."""
        begun, self.begun = self.begun, {}
        for service, (names, items, pending) in begun.items():
            for name, reply in zip(names, _answer(service, services, items, pending), strict=True):
                if isinstance(reply, _Later):
                    continue
                yield from self.advance(name, self.waiting[name][0], reply)


class _Later:
    """Takes the place of an answer: the budget does not cover this request now, so it waits."""


Reply = list[Any] | ServiceFailed | _Later


def _start(service: Service | None, items: list[Sequence[Any]]) -> Any:
    """Start a service's round; return it, or the error that it met."""
    try:
        return None if service is None else service.begin(items)
    except LimitReached as reached:
        return reached
    except _FATAL:
        raise
    except Exception as error:  # noqa: BLE001 - `_isolate` later finds the requests that cause it
        return error


def _collect(service: Service, items: list[Sequence[Any]], pending: Any) -> list[list[Any] | ServiceFailed]:
    answers = service.finish(pending)
    if len(answers) != len(items):
        raise RuntimeError(f"a service answered {len(answers)} of {len(items)} asks")
    return [*answers]


def _answer(name: str, services: Mapping[str, Service], items: list[Sequence[Any]], pending: Any) -> list[Reply]:
    service = services.get(name)
    if service is None:
        return [ServiceFailed(f"nothing here answers to {name!r}") for _ in items]
    if isinstance(pending, LimitReached):
        return _answer_affordable(service, items, pending)
    if not isinstance(pending, Exception):
        try:
            return [*_collect(service, items, pending)]
        except LimitReached as reached:
            return _answer_affordable(service, items, reached)
        except _FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - `_isolate` below finds the requests that cause it
            pending = error
    try:
        return [*_isolate(service, items)]
    except LimitReached as reached:
        raise LimitReached(f"{reached}; before that, {plain(pending)}") from None


def _answer_affordable(service: Service, items: list[Sequence[Any]], reached: LimitReached) -> list[Reply]:
    """Answer as many requests as the budget covers, those of the oldest attacks first, so that these can end.

    Raises `LimitReached` where it does not even cover one.
    """
    many = len(items) // 2
    while many:
        try:
            return [*_isolate(service, items[:many]), *(_Later() for _ in items[many:])]
        except LimitReached:
            many //= 2
    raise reached


def _isolate(service: Service, items: list[Sequence[Any]]) -> list[list[Any] | ServiceFailed]:
    """Answer what can be answered after a failure: halve the round until the requests that fail alone are found."""
    try:
        return _collect(service, items, service.begin(items))
    except _FATAL:
        raise
    except Exception as error:  # noqa: BLE001 - a victim may raise anything; the reason goes into the record
        if len(items) == 1:
            return [ServiceFailed(plain(error))]
    half = len(items) // 2
    return _isolate(service, items[:half]) + _isolate(service, items[half:])


def drive(
    attacks: Iterable[tuple[N, Steps[T]]], services: Mapping[str, Service], *, width: int, lanes: int = 1
) -> Iterator[tuple[N, T]]:
    """Advance up to `width` attacks side by side; yield (name, result) as they end.

    A failure of a service reaches only the attacks whose requests also fail alone; they get ServiceFailed. With two
    `lanes`, one half of the attacks is advanced while the device works for the other half.
    """
    queue = iter(attacks)  # it may be empty now and yield again later, as the playground's does
    many = max(1, min(lanes, width))
    share = max(1, width // many)
    first = list(islice(queue, many * share)) if many > 1 else []  # split evenly, even if they are few
    even = -(-len(first) // many)
    streams = [
        (_Stream[N, T](patience=(even or share) // 2), iter(first[i * even : (i + 1) * even])) for i in range(many)
    ]
    while True:
        for stream, own in tuple(streams):
            yield from stream.finish(services)
            while len(stream.waiting) < share and (job := next(own, None) or next(queue, None)) is not None:
                yield from stream.advance(*job, None)
            if len(streams) > 1 and sum(len(other.waiting) for other, _ in streams) <= even // _FEW:
                streams.remove((stream, own))  # the last few do not fill batches of their own
                streams[0][0].waiting |= stream.waiting
            else:
                stream.begin(services)
        if not any(stream.waiting for stream, _ in streams):
            return
