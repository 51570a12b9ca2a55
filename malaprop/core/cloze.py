"""What is asked of a masked language model, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from malaprop.core.score import Floats

Vocabulary = Literal["words", "pieces", "tokens", "top"]
MASKED_LM = "masked-lm"  # the service of the packaged model; MASKED_LM:NAME is that of another, by folder or hub name


@dataclass(frozen=True, slots=True)
class Cloze:
    """A place in a text to be filled: its characters from `start` to `end`, none where a word is to be put in between.

    With `hidden` the model does not see what stands there; without, it reads the text as it is and says what else it
    would expect in that place. Where `words` are given, how likely each of them is; else `most` words, of a vocabulary:

    - `words`: tokens that are whole words of letters;
    - `pieces`: the same, but where the model cuts the word that stands there into several pieces, and sees it, words
      put together of the pieces that are likeliest in their places (BERT-Attack);
    - `tokens`: any token of letters and digits, the mark of a piece taken off (as TextAttack's BAE and CLARE have it);
    - `top`: of the `most` likeliest tokens those that are whole words; of a word in several pieces the first `most`
      combinations of the likeliest tokens of each place, in their order (as TextAttack's BERT-Attack has it).
    """

    text: str
    start: int
    end: int
    hidden: bool = True
    most: int = 50
    words: tuple[str, ...] = ()
    vocabulary: Vocabulary = "words"


class Gap(NamedTuple):
    """A word of a text, by its characters, and others that might stand in its place."""

    start: int
    end: int
    words: tuple[str, ...]


class Guesses(NamedTuple):
    """Whole words for a cloze, the likeliest first, and the logarithms of their probabilities."""

    words: tuple[str, ...]
    logs: Floats
