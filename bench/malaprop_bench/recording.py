"""A victim that records its queries, so that the same texts can be passed through the model alone."""

from __future__ import annotations

from typing import Any, cast

from malaprop.core.pool import Pool
from malaprop.core.text import Ints
from malaprop.core.victim import Victim


class Recording:
    """A victim that records the pools it scores; strings are built afterwards, outside of measured time."""

    def __init__(self, inner: Victim) -> None:
        self.inner = inner
        self.asked: list[tuple[Pool, Ints]] = []

    @property
    def victim(self) -> Victim:
        """Return this object, typed as a victim."""
        return cast(Victim, self)

    def texts(self) -> tuple[str, ...]:
        """Return the distinct texts in the order of the queries."""
        return tuple(dict.fromkeys(str(text) for pool, wanted in self.asked for text in pool.texts(wanted)))

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        self.asked.append((pool, wanted))
        return self.inner.begin(pool, wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
