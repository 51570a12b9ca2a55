"""Word vocabularies of the zoo: a text as lower-cased words and single marks, then as numbers; closed or growing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.text import BREAK, is_unspaced, split_parts
from malaprop.core.victim import Fields

PAD, UNK, SEP = 0, 1, 2
SPECIAL = ("<pad>", "<unk>", "<sep>")
UNKNOWN = "unk"  # never in a vocabulary, so that a slot which holds it reads as unknown
# As the Penn Treebank, and so GloVe, divides them: does n't, film 's, they 're.
_CONTRACTED = re.compile(r"(.+)(n't|'(?:s|re|ve|ll|d|m))")


@lru_cache(maxsize=1 << 16)
def _pieces(word: str, cased: bool = False) -> tuple[str, ...]:
    """Return the tokens of one word: its parts between hyphens, contractions split off."""
    out: list[str] = []
    for part in (word if cased else word.lower()).replace("\u2019", "'").split("-"):
        if found := _CONTRACTED.fullmatch(part):
            out += found.groups()
        elif part:
            out.append(part)
    return tuple(out)


@lru_cache(maxsize=1 << 14)
def _marks(gap: str) -> tuple[str, ...]:
    return tuple(SPECIAL[SEP] if mark == BREAK else mark for mark in gap if not mark.isspace())


def tokens(string: str, cased: bool = False) -> list[str]:
    """Return the words and marks of a string, in lower case unless `cased`.

    No token reaches over the border between a word and a gap, so the tokens of a text are those of its parts, joined.
    """
    first, *rest = split_parts(string)
    out = [*_marks(first)]
    for word, gap in zip(rest[::2], rest[1::2], strict=True):
        out += _pieces(word, cased)
        if gap != " ":
            out += _marks(gap)
    return out


class Vocab:
    """Words to numbers: 0 is padding, 1 any unknown word, 2 stands between two fields."""

    def __init__(self, words: Sequence[str]) -> None:
        assert tuple(words[: len(SPECIAL)]) == SPECIAL, "a vocabulary begins with its special words"
        self.words = list(words)
        self.index = {word: i for i, word in enumerate(self.words)}
        assert len(self.index) == len(self.words), "a word has one number"

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def build(
        cls,
        strings: Iterable[str],
        *,
        least: int = 1,
        most: int = 50_000,
        also: Iterable[str] = (),
        cased: bool = False,
    ) -> Vocab:
        """Build a vocabulary of words seen `least` times or more, most frequent first, then `also`; `most` in all."""
        counts = Counter(token for string in strings for token in tokens(string, cased))
        ordered = sorted((word for word, n in counts.items() if n >= least), key=lambda w: (-counts[w], w))
        kept = dict.fromkeys((*SPECIAL, *(w for w in (*ordered, *also) if w != UNKNOWN and w not in SPECIAL)))
        return cls(list(kept)[:most])

    def numbers(self, string: str) -> list[int]:
        get = self.index.get
        return [get(token, UNK) for token in tokens(string)]

    def cut(self, strings: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of words, gaps or whole texts; a string of letters alone is one token.

        In scripts without spaces between words each character is one.
        """
        get, numbers = self.index.get, self.numbers
        return [
            [get(s.lower(), UNK)] if s.isalpha() and not is_unspaced(s) else [] if s == " " else numbers(s)
            for s in strings
        ]

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        """Return the token numbers of finished texts, their fields joined by the separator."""
        return [self.numbers(BREAK.join(fields)) for fields in texts]

    def save(self, path: Path) -> None:
        path.write_text("\n".join(self.words) + "\n", encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> Vocab:
        try:
            words = path.read_text(encoding="utf-8").split("\n")[:-1]
        except (OSError, UnicodeDecodeError) as error:
            raise VictimError(f"{path} cannot be read as a vocabulary: {error}") from None
        if tuple(words[: len(SPECIAL)]) != SPECIAL or len(set(words)) != len(words):
            raise VictimError(
                f"{path} is not a vocabulary: expected one word a line, each once, after {', '.join(SPECIAL)}"
            )
        return cls(words)


# Signs that are no characters: nothing, one the alphabet lacks, both ends of a word, an unknown word, the separator.
NOTHING, OTHER, BEGIN, END, BLANK, BETWEEN = range(6)
_OWN = {PAD: (), UNK: (BEGIN, BLANK, END), SEP: (BEGIN, BETWEEN, END)}

Spelled = npt.NDArray[np.int16]  # [word, char], filled up with NOTHING


def alphabet(words: Sequence[str], most: int) -> list[str]:
    """Return the characters of these words, by falling number of words that hold them; at most `most`."""
    counts = Counter(char for word in words for char in set(word))
    return sorted(counts, key=lambda char: (-counts[char], char))[:most]


class OpenVocab:
    """The words of `closed` keep their numbers; any other word gets the next one when it is first met.

    `symbols` is how many signs a model tells apart, the six above among them; a word is cut so that it has at most
    `most` signs with both ends. With `cased` capitals are signs of their own. The alphabet follows from `closed` and
    `symbols` alone, so a checkpoint needs no more than its word list. Which number a new word gets says nothing; what
    it is spelled like does.
    """

    def __init__(self, closed: Vocab, *, symbols: int = 128, most: int = 24, cased: bool = False) -> None:
        if most <= END or not BETWEEN + 1 < symbols <= np.iinfo(np.int16).max:
            raise SettingError(
                f"an open vocabulary needs most above 3 and symbols from 7 to 32767, got {most}, {symbols}"
            )
        self.closed, self.symbols, self.most, self.cased = closed, symbols, most, cased
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
        """Return the vocabulary itself: copies of a model read the same numbers."""
        return self

    @property
    def size(self) -> int:
        """Return how many numbers are fixed: those of the closed vocabulary."""
        return len(self.closed)

    def forget(self) -> None:
        """Drop the words met since loading; call it only where no earlier token row is read again."""
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
        return [self.number(token) for token in tokens(string, self.cased)]

    def cut(self, strings: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of words, gaps or whole texts."""
        return [self.numbers(string) for string in strings]

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        """Return the token numbers of finished texts, their fields joined by the separator."""
        return [self.numbers(BREAK.join(fields)) for fields in texts]

    def spell(self, number: int) -> tuple[int, ...]:
        """Return the signs of one word. Character i of a word is sign i + 1."""
        if number in _OWN:
            return _OWN[number]
        get, word = self.sign.get, self.words[number]
        return (BEGIN, *(get(char, OTHER) for char in islice(word, self.most - 2)), END)

    def spelled(self, begin: int = 0) -> Spelled:
        """Return the signs of all words from number `begin` on."""
        out = np.full((len(self) - begin, self.most), NOTHING, np.int16)
        for line, number in zip(out, range(begin, len(self)), strict=True):
            signs = self.spell(number)
            line[: len(signs)] = signs
        return out
