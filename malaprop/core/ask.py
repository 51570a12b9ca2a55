"""How an attack requests work: it yields an Ask and is sent the answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a named service; the answer is a list, one entry an item.

    For a victim the items are Variants, also of different bases, and each answer is a float array [variant, label].
    An ask without items is answered at once with [].
    """

    service: str
    items: Sequence[Any]  # each service says what it takes


Steps = Generator[Ask, list[Any], T]  # an attack on one example, or a part of one


class ServiceFailed(Exception):  # noqa: N818 - it is thrown into the generator that asked, and the attack catches it
    """A service failed on this request, also when the request was sent alone; the message is the reason."""


def relay(
    steps: Steps[T], answer: Callable[[Ask], Steps[list[Any]]], *, begin: Callable[[Steps[T]], Ask] = next
) -> Steps[T]:
    """Run an attack with `answer` in place of the services: it answers each request, and may send others for it.

    `begin` starts the attack and returns its first request.
    """
    try:
        ask = begin(steps)
        while True:
            try:
                reply = yield from answer(ask)
            except ServiceFailed as failure:
                ask = steps.throw(failure)
            else:
                ask = steps.send(reply)
    except StopIteration as done:
        ended: T = done.value
        return ended
    finally:
        steps.close()
