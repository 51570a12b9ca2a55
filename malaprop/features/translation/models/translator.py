"""What an attack may ask of a translation model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from malaprop.core.score import Floats


@dataclass(frozen=True, slots=True)
class Hint:
    """Asks how near a keyword is to standing in the translation of each of these texts.

    The answer is the log-probability of the keyword, all its sub-words, at the best place in `output`, what `base` was
    translated to. With `blanks` the texts are `base` itself with a zero vector in place of these characters.
    """

    base: str
    output: str
    keyword: str
    sources: tuple[str, ...] = ()
    blanks: tuple[tuple[int, int], ...] = ()


class Translator(Protocol):
    """`words` are those that an attack may sweep over, none where the model does not say."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def guides(self) -> bool:
        """Whether it answers hints and shows its encoder's states."""

    def translate(self, sources: Sequence[str]) -> list[str]: ...

    def too_long(self, source: str) -> str:
        """Why a source cannot be read whole; empty if it can."""

    def spells(self, keyword: str) -> bool:
        """Whether the keyword can stand in an output at all."""

    def hints(self, asked: Sequence[Hint]) -> list[Floats]: ...

    def states(self, sources: Sequence[str]) -> list[Floats]:
        """The mean of the encoder's states for each source."""
