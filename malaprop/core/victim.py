"""What the engine wants of a model under attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from malaprop.core.capability import Capability
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words

Fields = tuple[str, ...]  # the finished strings of one example, in the order of its fields


class Victim(Protocol):
    """A model under attack. It defines the score of a text *alone*: no neighbour in a batch may change it."""

    @property
    def name(self) -> str: ...

    @property
    def offers(self) -> frozenset[Capability]: ...

    @property
    def labels(self) -> int | None:
        """How many labels it scores; None: not known before the first answer."""

    @property
    def fingerprint(self) -> str:
        """Changes when the answers may change; empty: not known."""

    @property
    def unknown(self) -> str:
        """A word that it reads as unknown."""

    def classes(self, table: Words) -> Ints | None:
        """For each word id a number, equal where the victim cannot tell the words apart; None: it tells all apart."""

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        """Starts scoring the wanted variants; may return before the work is done."""

    def finish(self, begun: Any) -> Floats:
        """Scores [wanted, label], in the order wanted."""

    def predict(self, texts: Sequence[Fields]) -> Floats:
        """Scores [text, label] of finished strings, by the plain road: nothing spliced, merged or remembered."""
