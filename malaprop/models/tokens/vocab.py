"""Word vocabularies of the zoo: a text as lower-cased words and single marks, then as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from malaprop.core.errors import VictimError
from malaprop.core.text import BREAK, split_parts
from malaprop.core.victim import Fields

PAD, UNK, SEP = 0, 1, 2
SPECIAL = ("<pad>", "<unk>", "<sep>")
UNKNOWN = "unk"  # never in a vocabulary, so that a slot which holds it reads as unknown
# As the Penn Treebank, and so GloVe, divides them: does n't, film 's, they 're.
_CONTRACTED = re.compile(r"(.+)(n't|'(?:s|re|ve|ll|d|m))")


@lru_cache(maxsize=1 << 16)
def _pieces(word: str) -> tuple[str, ...]:
    """The tokens of one word: parts between hyphens, each less its contraction."""
    out: list[str] = []
    for part in word.lower().replace("\u2019", "'").split("-"):
        if found := _CONTRACTED.fullmatch(part):
            out += found.groups()
        elif part:
            out.append(part)
    return tuple(out)


@lru_cache(maxsize=1 << 14)
def _marks(gap: str) -> tuple[str, ...]:
    return tuple(SPECIAL[SEP] if mark == BREAK else mark for mark in gap if not mark.isspace())


def tokens(string: str) -> list[str]:
    """Words and marks of a string.

    No token reaches over the border between a word and a gap, so the tokens of a text are those of its parts, joined.
    """
    first, *rest = split_parts(string)
    out = [*_marks(first)]
    for word, gap in zip(rest[::2], rest[1::2], strict=True):
        out += _pieces(word)
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
    def build(cls, strings: Iterable[str], *, least: int = 1, most: int = 50_000, also: Iterable[str] = ()) -> Vocab:
        """Words seen at least `least` times, the most frequent first, then words from `also`; `most` in all."""
        counts = Counter(token for string in strings for token in tokens(string))
        ordered = sorted((word for word, n in counts.items() if n >= least), key=lambda w: (-counts[w], w))
        kept = dict.fromkeys((*SPECIAL, *(w for w in (*ordered, *also) if w != UNKNOWN and w not in SPECIAL)))
        return cls(list(kept)[:most])

    def numbers(self, string: str) -> list[int]:
        get = self.index.get
        return [get(token, UNK) for token in tokens(string)]

    def cut(self, strings: Sequence[str]) -> list[list[int]]:
        """Token numbers of words, gaps or whole texts alike; letters alone, as most words are, are one token."""
        get, numbers = self.index.get, self.numbers
        return [[get(s.lower(), UNK)] if s.isalpha() else [] if s == " " else numbers(s) for s in strings]

    def encode(self, texts: Sequence[Fields]) -> list[list[int]]:
        """Token numbers of finished texts, their fields joined by the separator."""
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
                f"{path} is no vocabulary: expected one word a line, each once, after {', '.join(SPECIAL)}"
            )
        return cls(words)
