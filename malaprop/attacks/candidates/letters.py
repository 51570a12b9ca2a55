"""Letters put into a word or in the place of its own, in the order of strings; each is made when it is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OTHERS = len(LETTERS) - 1


class LetterEdits(Sequence[str]):
    """The words that one letter makes of a word: `instead` of the one at a place from `first` to `last`, or before it.

    All of these places hold letters from a to z of one case, which the new one has too. Each word comes once, in the
    order of strings: a letter below the one that it meets makes the word smaller, and the more so the earlier it
    stands; one above it makes it larger. A letter put before its like is the same word as behind it: of these there is
    one that no other letter makes, at the last place, between those that are smaller and those that are larger.
    """

    def __init__(self, word: str, first: int, last: int, *, instead: bool) -> None:
        self.word, self.first, self.instead = word, first, instead
        part = word[first : last + 1]
        self.letters = LETTERS.upper() if part.isupper() else LETTERS
        self._low = [ord(here) - ord(self.letters[0]) for here in part]  # letters below each

    @staticmethod
    def fit(word: str, first: int, last: int) -> bool:
        """Whether the places of the word hold plain letters of one case."""
        part = word[first : last + 1]
        return part.isascii() and part.isalpha() and (part.islower() or part.isupper())

    def __len__(self) -> int:
        return _OTHERS * len(self._low) + (not self.instead and len(self._low) > 0)

    def _put(self, at: int, letter: int) -> str:
        place = self.first + at
        return self.word[:place] + self.letters[letter] + self.word[place + self.instead :]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        left = index + len(self) if index < 0 else index
        if not 0 <= left < len(self):
            raise IndexError(f"word {index} of {len(self)}")
        for at, low in enumerate(self._low):
            if left < low:
                return self._put(at, left)
            left -= low
        if not self.instead:
            if not left:
                return self._put(len(self._low) - 1, self._low[-1])
            left -= 1
        for at in range(len(self._low) - 1, -1, -1):
            low = self._low[at]
            if left < _OTHERS - low:
                return self._put(at, low + 1 + left)
            left -= _OTHERS - low
        raise AssertionError("the counts of letters do not add up")

    def __iter__(self) -> Iterator[str]:
        """In any order: those who want all of them sort them with others."""
        for at, low in enumerate(self._low):
            place = self.first + at
            before, after = self.word[:place], self.word[place + self.instead :]
            last = not self.instead and at + 1 == len(self._low)
            yield from [before + c + after for i, c in enumerate(self.letters) if i != low or last]
