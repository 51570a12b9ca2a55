"""What is asked of a masked language model, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from malaprop.core.score import Floats

MASKED_LM = "masked-lm"  # the service of the packaged model; MASKED_LM:NAME is that of another, by folder or hub name


@dataclass(frozen=True, slots=True)
class Cloze:
    """A place in a text to be filled: its characters from `start` to `end`, none where a word is to be put in between.

    With `hidden` the model does not see what stands there; without, it reads the text as it is and says what else it
    would expect in that place. `most` words are wanted; or, where `words` are given, how likely each of these is.
    """

    text: str
    start: int
    end: int
    hidden: bool = True
    most: int = 50
    words: tuple[str, ...] = ()


class Guesses(NamedTuple):
    """Whole words for a cloze, the likeliest first, and the logarithms of their probabilities."""

    words: tuple[str, ...]
    logs: Floats
