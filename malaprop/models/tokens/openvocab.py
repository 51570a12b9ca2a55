"""OpenVocab: a vocabulary that numbers words it has not met, for models that read words by their characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from malaprop.core.errors import SettingError
from malaprop.core.text import BREAK
from malaprop.core.victim import Fields
from malaprop.models.tokens.vocab import PAD, SEP, UNK, UNKNOWN, Vocab, tokens

# Signs that are no characters: nothing, one the alphabet lacks, both ends of a word, an unknown word, the separator.
NOTHING, OTHER, BEGIN, END, BLANK, BETWEEN = range(6)
_OWN = {PAD: (), UNK: (BEGIN, BLANK, END), SEP: (BEGIN, BETWEEN, END)}

Spelled = npt.NDArray[np.int16]  # [word, char], filled up with NOTHING


def alphabet(words: Sequence[str], most: int) -> list[str]:
    """The characters of these words, by falling number of words that hold them; at most `most`."""
    counts = Counter(char for word in words for char in set(word))
    return sorted(counts, key=lambda char: (-counts[char], char))[:most]


class OpenVocab:
    """The words of `closed` keep their numbers; any other word gets the next one when it is first met.

    `symbols` is how many signs a model tells apart, the six above among them; a word is cut so that it has at most
    `most` signs with both ends. The alphabet follows from `closed` and `symbols` alone, so a checkpoint needs no more
    than its word list. Which number a new word gets says nothing; what it is spelled like does.
    """

    def __init__(self, closed: Vocab, *, symbols: int = 128, most: int = 24) -> None:
        if most <= END or not BETWEEN + 1 < symbols <= np.iinfo(np.int16).max:
            raise SettingError(
                f"an open vocabulary wants most above 3 and symbols from 7 to 32767, got {most}, {symbols}"
            )
        self.closed, self.symbols, self.most = closed, symbols, most
        chars = alphabet(closed.words[len(_OWN) :], symbols - BETWEEN - 1)
        self.alphabet = ("",) * (BETWEEN + 1) + tuple(chars)  # by number; a sign that is no character is empty
        self.sign = {char: number for number, char in enumerate(self.alphabet) if char}
        self.index: dict[str, int] = {}
        self.words: list[str] = []
        self.forgotten = -1
        self.forget()

    def __len__(self) -> int:
        return len(self.words)

    def __deepcopy__(self, memo: object) -> OpenVocab:
        """Itself: copies of a model read the same numbers."""
        return self

    @property
    def size(self) -> int:
        """How many numbers are fixed."""
        return len(self.closed)

    def forget(self) -> None:
        """Drops the words met since; only where no token row made before is read again."""
        self.index, self.words = dict(self.closed.index), list(self.closed.words)
        self.forgotten += 1

    def number(self, token: str) -> int:
        found = self.index.get(token)
        if found is None:
            if token == UNKNOWN:
                return UNK
            found = self.index[token] = len(self.words)
            self.words.append(token)
        return found

    def numbers(self, string: str) -> list[int]:
        return [self.number(token) for token in tokens(string)]

    def cut(self, strings: Sequence[str]) -> list[list[int]]:
        """Token numbers of words, gaps or whole texts alike."""
        return [self.numbers(string) for string in strings]

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        """Token numbers of finished texts, their fields joined by the separator."""
        return [self.numbers(BREAK.join(fields)) for fields in texts]

    def spell(self, number: int) -> tuple[int, ...]:
        """The signs of one word. Character i of a word is sign i + 1."""
        if number in _OWN:
            return _OWN[number]
        get, word = self.sign.get, self.words[number]
        return (BEGIN, *(get(char, OTHER) for char in islice(word, self.most - 2)), END)

    def spelled(self, begin: int = 0) -> Spelled:
        """The signs of all words from number `begin` on."""
        out = np.full((len(self) - begin, self.most), NOTHING, np.int16)
        for line, number in zip(out, range(begin, len(self)), strict=True):
            signs = self.spell(number)
            line[: len(signs)] = signs
        return out
