"""The interface of a translation victim, and the hints that an attack may ask it for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from malaprop.core.score import Floats


@dataclass(frozen=True, slots=True)
class Hint:
    """A question to the model: how likely is a keyword in the translation of each of these texts?

    The answer is the log-probability of all sub-words of the keyword at the best place in `output`, the translation of
    `base`. With `blanks` the texts are `base` with zero vectors for these spans of characters.
    """

    base: str
    output: str
    keyword: str
    sources: tuple[str, ...] = ()
    blanks: tuple[tuple[int, int], ...] = ()


class Translator(Protocol):
    """A translation model under attack; `words` is the vocabulary for sweeps, empty if the model does not know it."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def guides(self) -> bool:
        """Whether the model answers hints and gives its encoder's states."""

    def translate(self, sources: Sequence[str]) -> list[str]: ...

    def too_long(self, source: str) -> str:
        """Return why the model cannot read the whole source; empty if it can."""

    def spells(self, keyword: str) -> bool:
        """Return whether the model's output vocabulary can spell the keyword."""

    def hints(self, asked: Sequence[Hint]) -> list[Floats]: ...

    def states(self, sources: Sequence[str]) -> list[Floats]:
        """Return the mean of the encoder's states for each source."""
