"""Encode sentences as rows of word numbers, and decode rows to sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from torch import Tensor

from malaprop.core.text import Ints, word_pattern
from malaprop.models.tokens.vocab import PAD, SEP, UNK, Vocab, tokens

MARKS = 2  # marks that a row has room for beyond its words
_CLOSING = re.compile(r" (?=(?:n't|'(?:s|re|ve|ll|d|m))(?:\W|$)|[.,;:!?)\]%])")
_OPENING = re.compile(r"(?<=[(\[$#]) ")


def join_tokens(words: Iterable[str]) -> str:
    """Join tokens to a sentence; contractions and closing marks stand at the word before."""
    return _OPENING.sub("", _CLOSING.sub("", " ".join(words)))


def restore_case(sentence: str, like: str) -> str:
    """Return a lower-cased sentence with a capital letter first where `like` has one."""
    return sentence[:1].upper() + sentence[1:] if like[:1].isupper() else sentence


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """Encodes sentences as rows of one width: `longest` words, two marks, and the end, the separator's number."""

    vocab: Vocab
    longest: int = 10

    @property
    def width(self) -> int:
        return self.longest + MARKS + 1

    def fits(self, string: str) -> bool:
        """Return whether a sentence is neither empty nor too long."""
        words = sum(1 for _ in word_pattern().finditer(string))
        return 0 < words <= self.longest and len(tokens(string)) < self.width

    def unknown(self, string: str) -> tuple[str, ...]:
        """Return the words of a sentence that are not in the vocabulary."""
        return tuple(dict.fromkeys(word for word in tokens(string) if word not in self.vocab.index))

    def rows(self, strings: Sequence[str]) -> Ints:
        """Return word numbers [sentence, width], the end after the last; a sentence that is too long is cut."""
        out = np.full((len(strings), self.width), PAD, np.int64)
        for at, string in enumerate(strings):
            numbers = [n for n in self.vocab.numbers(string) if n != SEP][: self.width - 1]
            out[at, : len(numbers) + 1] = [*numbers, SEP]
        return out

    def strings(self, rows: Ints | Int[Tensor, "batch slot"]) -> list[str]:
        """Return the sentences of rows, each up to its end; equal rows, frequent in searches, are joined once."""
        known: dict[tuple[int, ...], str] = {}
        out = []
        for row in map(tuple, rows.tolist()):
            if (found := known.get(row)) is None:
                cut = next((at for at, n in enumerate(row) if n in (SEP, PAD)), len(row))
                found = known[row] = join_tokens(self.vocab.words[n] for n in row[:cut])
            out.append(found)
        return out


def distinct(strings: Iterable[str], longest: int) -> list[str]:
    """Return the sentences that fit, each once by its tokens, in their order."""
    probe = Codec(Vocab(["<pad>", "<unk>", "<sep>"]), longest)
    seen: dict[tuple[str, ...], str] = {}
    for string in strings:
        if probe.fits(string):
            seen.setdefault(tuple(tokens(string)), string)
    return list(seen.values())


def lengths(rows: Int[Tensor, "batch slot"]) -> Int[Tensor, " batch"]:
    """Count the tokens of each row, the end included."""
    return (rows != PAD).sum(1)


__all__ = ["PAD", "SEP", "UNK", "Codec", "distinct", "join_tokens", "lengths", "restore_case"]
