"""Recording: a victim that keeps what it was asked, so that the same texts can be passed through the model alone."""

from __future__ import annotations

from typing import Any, cast

from malaprop.core.pool import Pool
from malaprop.core.text import Ints
from malaprop.core.victim import Victim


class Recording:
    """Everything but the record is the victim's own; strings are made afterwards, outside of any clock."""

    def __init__(self, inner: Victim) -> None:
        self.inner = inner
        self.asked: list[tuple[Pool, Ints]] = []

    @property
    def victim(self) -> Victim:
        """Itself, as what it passes for."""
        return cast(Victim, self)

    def texts(self) -> tuple[str, ...]:
        """The distinct ones, in the order they came."""
        return tuple(dict.fromkeys(str(text) for pool, wanted in self.asked for text in pool.texts(wanted)))

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        self.asked.append((pool, wanted))
        return self.inner.begin(pool, wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
