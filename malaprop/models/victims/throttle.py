"""Throttle: how many requests a server gets at a time, learnt from what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic

BEGIN = 4  # requests at a time, before anything is known of the server


class Throttle:
    """Grows with every answer, twice as large a round trip, until the server first says that it is too much.

    Then, and each time it says so again (429, or 503 with Retry-After), the pace is halved and nobody asks before the
    moment that the server names; from then on it grows by one a round trip. It changes times alone, never an answer.
    Callers are threads, of which there are as many as the user allows: this can only hold them back.
    """

    def __init__(self, begin: float = BEGIN) -> None:
        self.limit = float(begin)
        self._refused = False
        self._running = 0
        self._not_before = 0.0
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until one more request may be sent; it counts as running inside."""
        with self._changed:
            while (wait := self._not_before - monotonic()) > 0 or self._running >= max(1, int(self.limit)):
                self._changed.wait(wait if wait > 0 else None)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def rise(self) -> None:
        """The server has answered."""
        with self._changed:
            self.limit += 1 / self.limit if self._refused else 1
            self._changed.notify_all()

    def fall(self, wait: float) -> None:
        """The server says that it is too much, and how many seconds to wait; one burst of refusals counts once."""
        with self._changed:
            now = monotonic()
            if now >= self._not_before:
                self.limit = max(1.0, min(self.limit, self._running) / 2)
            self._refused = True
            self._not_before = max(self._not_before, now + wait)
            self._changed.notify_all()
