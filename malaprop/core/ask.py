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


class ServiceFailed(Exception):  # noqa: N818 - it is thrown into the asking generator, and is caught by the attack
    """The service could not answer this ask, also when asked alone; the message is the reason."""


def relay(
    steps: Steps[T], answer: Callable[[Ask], Steps[list[Any]]], *, begin: Callable[[Steps[T]], Ask] = next
) -> Steps[T]:
    """The same attack, each of whose asks is answered by `answer`, which may ask for less or for something else.

    `begin` gives its first ask.
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
