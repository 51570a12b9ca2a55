"""Replacements that differ from a word in a character or two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args, overload

import numpy as np

from malaprop.assets.languages import CHINESE, ENGLISH, open_language
from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, is_unspaced, word_pattern

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


Kind = Literal["swap", "drop", "insert", "substitute", "keyboard", "homoglyph", "digit", "space", "homophone", "parts"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_WIDE = 1.65  # key widths: with these also the keys that touch at a corner are neighbours, as TextAttack has it
_PLACES = 64  # of a word, at most, where edits are tried: those of a token of 5,000 letters would fill 650 MB


@cache
def _keyboard(code: str, wide: bool = False) -> Mapping[str, tuple[str, ...]]:
    return open_language(code).keyboard(reach=_WIDE) if wide else open_language(code).keyboard()


@cache
def _letters(code: str) -> str:
    return LETTERS if code == ENGLISH else open_language(code).letters()


@cache
def _digits() -> dict[str, tuple[str, ...]]:
    from malaprop.assets.lexicon import digits_alike

    return digits_alike()


@cache
def _homoglyphs(code: str) -> Mapping[str, tuple[str, ...]]:
    return open_language(code).homoglyphs()


@cache
def _homophones(code: str) -> Mapping[str, tuple[str, ...]]:
    return open_language(code).homophones()


@cache
def _splits(code: str) -> Mapping[str, tuple[str, ...]]:
    return open_language(code).splits()


def _like(letter: str, near: str) -> str:
    return letter.upper() if near.isupper() else letter


def _places(first: int, last: int) -> list[int]:
    """Return the places from first to last; of more than `_PLACES` an even sample."""
    many = last + 1 - first
    return [first + i * many // _PLACES for i in range(_PLACES)] if many > _PLACES else [*range(first, last + 1)]


def edits(
    word: str, kind: Kind, first: int, last: int, *, wide: bool = False, code: str = ENGLISH
) -> Iterator[tuple[int, str]]:
    """Yield every word that is one edit of this kind away, with the edit's place, from character `first` to `last`.

    Of a word longer than any that people write, edits are tried at places spread over it. `wide`: keys that touch at a
    corner are neighbours too. Letters and keys are those of the language with this code.
    """
    places = _places(first, last)
    if kind == "swap":
        apart = [i for i in places if i < last and word[i] != word[i + 1]]
        yield from [(i, word[:i] + word[i + 1] + word[i] + word[i + 2 :]) for i in apart]
        return
    if kind == "drop":
        yield from [(i, word[:i] + word[i + 1 :]) for i in places]
        return
    for i in places:
        here, before, after = word[i], word[:i], word[i + 1 :]
        if kind == "insert":
            yield from ((i, before + _like(c, here) + here + after) for c in _letters(code))
        elif kind == "substitute":
            yield from ((i, before + _like(c, here) + after) for c in _letters(code) if c != here.lower())
            yield from ((i, before + c + after) for c in _homophones(code).get(here, ()))
        elif kind == "keyboard":
            yield from ((i, before + _like(c, here) + after) for c in _keyboard(code, wide).get(here.lower(), ()))
        elif kind == "digit":
            yield from ((i, before + c + after) for c in _digits().get(here.lower(), ()))
        elif kind == "space" and i:
            yield i, f"{before} {here}{after}"
        elif kind == "homoglyph":
            yield from ((i, before + c + after) for c in _homoglyphs(code).get(here, ()))
        elif kind == "homophone":
            yield from ((i, before + c + after) for c in _homophones(code).get(here, ()))
        elif kind == "parts":
            yield from ((i, before + c + after) for c in _splits(code).get(here, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class CharEdits:
    """Words that are one character edit away.

    Of each kind all edits are offered, or `each` of them at random by the example's seed. `inner` keeps the first and
    the last character, on which readers rely, but not in scripts without spaces, whose words are too short. Edits that
    would split a word are dropped, unless they insert a space. `wide`: keys that touch at a corner are neighbours too.
    `single`: at each place one random letter is inserted, in either case, instead of each letter of the alphabet.
    """

    kinds: tuple[Kind, ...] = ("swap", "drop", "insert", "substitute")
    each: int | None = None
    inner: bool = False
    wide: bool = False
    single: bool = False

    def __post_init__(self) -> None:
        if not self.kinds or any(k not in _KINDS for k in self.kinds):
            raise SettingError(f"CharEdits.kinds takes some of {', '.join(_KINDS)}, got {self.kinds}")
        if self.each is not None and self.each < 1:
            raise SettingError(f"CharEdits.each must be at least 1, got {self.each}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings, code = trial.origin.table, trial.origin.strings, trial.language.code
        out = []
        for slot in slots.tolist():
            word = strings[slot]
            if self.each is None and not self.single:
                make = lambda w=word: self.of(w, code)  # noqa: E731
                out.append(remembered(table, ("chars", self, word, code), word, make, cased=False))
            else:
                drawn = self._drawn(word, trial.generator("chars", str(slot)), code)
                out.append(table.ids(sorted({w for w in drawn if w != word})))
        return out

    def of(self, word: str, code: str = ENGLISH) -> Iterator[str]:
        """Yield all edits of a word, with the letters and keys of a language."""
        for kind in self.kinds:
            yield from self._all(word, kind, code)

    def _all(self, word: str, kind: Kind, code: str = ENGLISH) -> Sequence[str]:
        return _find_edits(word, kind, *self._ends(word), self.wide, code)

    def _ends(self, word: str) -> tuple[int, int]:
        return (1, len(word) - 2) if self.inner and not is_unspaced(word) else (0, len(word) - 1)

    def _drawn(self, word: str, rng: np.random.Generator, code: str) -> Iterator[str]:
        letters = _letters(code) + _letters(code).upper()
        for kind in self.kinds:
            if self.single and kind == "insert":
                places = _places(*self._ends(word))
                places = places if letters else []
                drawn = [letters[i] for i in rng.integers(max(1, len(letters)), size=len(places))]
                made: Sequence[str] = sorted({word[:i] + c + word[i:] for i, c in zip(places, drawn, strict=True)})
            else:
                made = _sort_edits(word, kind, *self._ends(word), self.wide, code)
            yield from made if self.each is None else draw(made, self.each, rng)


def find_slips(trial: Trial, slots: Ints) -> list[Ints]:
    """Return the slips to a neighbouring key inside the words, on the keyboard of the text's language.

    In Chinese characters of the same sound, which is what people mistype there.
    """
    table, strings, code = trial.origin.table, trial.origin.strings, trial.language.code
    slips = CharEdits(kinds=("homophone",) if code == CHINESE else ("keyboard", "swap"), inner=True)
    return [
        remembered(table, ("slips", w, code), w, lambda w=w: slips.of(w, code), cased=False)  # type: ignore[misc]
        for w in (strings[s] for s in slots.tolist())
    ]


def draw(made: Sequence[str], many: int, rng: np.random.Generator) -> Iterator[str]:
    """Sample that many of these words, in their order; all of them where there are no more."""
    if len(made) <= many:
        return iter(made)
    if many == 1:  # the same number as `choice` gives, in a fifth of the time
        return iter((made[int(rng.integers(len(made)))],))
    return (made[i] for i in sorted(rng.choice(len(made), many, replace=False).tolist()))


def _find_edits(
    word: str, kind: Kind, first: int, last: int, wide: bool, code: str = ENGLISH
) -> LetterEdits | list[str]:
    """Return the edits of a word that are one word themselves, or hold a space."""
    plain = code == ENGLISH and kind in ("insert", "substitute")
    if plain and len(word) <= _PLACES and LetterEdits.fit(word, first, last):
        return LetterEdits(word, first, last, instead=kind == "substitute")
    made = [made for _, made in edits(word, kind, first, last, wide=wide, code=code) if made]
    if kind == "space" or (kind in ("swap", "drop", "insert", "substitute") and word.isascii() and word.isalpha()):
        return made
    return [*filter(word_pattern().fullmatch, made)]


@lru_cache(maxsize=1 << 12)
def _sort_edits(word: str, kind: Kind, first: int, last: int, wide: bool, code: str = ENGLISH) -> Sequence[str]:
    """Return the edits, each once and sorted; cached, as texts share many words."""
    found = _find_edits(word, kind, first, last, wide, code)
    return found if isinstance(found, LetterEdits) else sorted(set(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Homoglyphs:
    """Replace letters by look-alikes of other alphabets: one letter of the word, or every one that has a look-alike."""

    whole: bool = True
    most: int | None = None  # look-alikes of one letter; None: all that the table has

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise SettingError(f"Homoglyphs.most must be at least 1, got {self.most}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings, code = trial.origin.table, trial.origin.strings, trial.language.code
        return [
            remembered(table, ("homoglyphs", self, w, code), w, lambda w=w: self._made(w, code), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _made(self, word: str, code: str) -> Iterator[str]:
        alike = _homoglyphs(code)
        for i in _places(0, len(word) - 1):
            yield from (word[:i] + twin + word[i + 1 :] for twin in alike.get(word[i], ())[: self.most])
        if self.whole:
            yield "".join(alike.get(c, (c,))[0] for c in word)


@cache
def near_letters(most: int | None = None) -> dict[str, tuple[str, ...]]:
    """Return for each letter those that look most like it."""
    from malaprop.assets.lexicon import visual_neighbours

    return {letter: near[:most] for letter, near in visual_neighbours().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualNeighbours:
    """Give one letter of the word an accent, or replace it by one of another script (after Eger et al. 2019).

    `most` neighbours of each letter are offered: an accent, then look-alikes of other alphabets, then other accents.
    """

    most: int = 12

    def __post_init__(self) -> None:
        if self.most < 1:
            raise SettingError(f"VisualNeighbours.most must be at least 1, got {self.most}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("visual", self, w), w, lambda w=w: self._make(w), cased=False)  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _make(self, word: str) -> Iterator[str]:
        near = near_letters(self.most)
        for i, letter in enumerate(word[:_PLACES]):
            yield from (word[:i] + other + word[i + 1 :] for other in near.get(letter, ()))
