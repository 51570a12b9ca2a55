"""Everyday noise: noisy copies of a text in which a share of the words is misspelt, mistyped or misread.

The copies depend on the seed and the text alone, so all victims read the same copies. A copy with a larger share of
changed words changes the words of the smaller shares, and more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from malaprop.assets.lexicon import misspellings
from malaprop.attacks.candidates.chars import Kind, edits
from malaprop.attacks.candidates.lookup import recase
from malaprop.core.example import Example
from malaprop.core.seeds import generator
from malaprop.core.text import split_parts
from malaprop.core.victim import Fields

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)  # of the words
Pair = tuple[str, str]  # a word and the gap behind it
Made = TypeVar("Made")
Alter = Callable[[str, str, np.random.Generator], Pair | None]  # None: this word cannot be changed in this way

_MARKS = re.compile(r"[^\w\s]|_")
_QUOTES = re.compile(r"['\u2019`]")
_SLIPS: tuple[Kind, ...] = ("keyboard", "swap", "drop")
# Letters that look alike in print, so that OCR confuses one with the other.
_ALIKE = (
    ("rn", "m"), ("cl", "d"), ("vv", "w"), ("li", "h"), ("ri", "n"), ("ii", "u"), ("l", "1"), ("i", "l"), ("o", "0"),
    ("e", "c"), ("h", "b"), ("n", "u"), ("f", "t"), ("g", "9"), ("s", "5"), ("S", "5"), ("B", "8"), ("O", "0"),
    ("I", "l"), ("Z", "2"), ("G", "6"),
)  # fmt: skip
_CONFUSED = (*_ALIKE, *((right, left) for left, right in _ALIKE))


def misspell(word: str, gap: str, rng: np.random.Generator) -> Pair | None:
    """Replace the word by a misspelling of it that people have really made."""
    known = misspellings().get(word.lower(), ())
    return (recase(_choose(known, rng), word), gap) if known else None


def mistype(word: str, gap: str, rng: np.random.Generator) -> Pair | None:
    """Hit a neighbouring key, type two letters in the wrong order, leave a letter out, or type one twice."""
    doubled = [word[:i] + word[i] + word[i:] for i in range(len(word))]
    made = [[new for _, new in edits(word, kind, 0, len(word) - 1) if new] for kind in _SLIPS]
    some = [words for words in (*made, doubled) if words]
    return (_choose(_choose(some, rng), rng), gap) if some else None


def change_case(word: str, gap: str, rng: np.random.Generator) -> Pair | None:
    """Write the word in capitals, with a capital at its beginning, or without capitals."""
    made = sorted({word.upper(), word[:1].upper() + word[1:].lower(), word.lower()} - {word})
    return (_choose(made, rng), gap) if made else None


def lose_punctuation(word: str, gap: str, rng: np.random.Generator) -> Pair | None:  # noqa: ARG001
    """Leave out the punctuation behind the word and the apostrophes in it; words stay apart."""
    bare = _QUOTES.sub("", word) or word
    rest = (_MARKS.sub("", gap)[:1] or " ") if _MARKS.search(gap) else gap
    return None if (bare, rest) == (word, gap) else (bare, rest)


def misread(word: str, gap: str, rng: np.random.Generator) -> Pair | None:
    """Replace one or two letters by letters that optical character recognition (OCR) confuses with them."""
    made = sorted(
        word[:at] + new + word[at + len(old) :]
        for old, new in _CONFUSED
        for at in range(len(word))
        if word.startswith(old, at)
    )
    return (_choose(made, rng), gap) if made else None


KINDS: Mapping[str, Alter] = {
    "misspelling": misspell,
    "keyboard": mistype,
    "casing": change_case,
    "punctuation": lose_punctuation,
    "OCR": misread,
}


def _choose(some: Sequence[Made], rng: np.random.Generator) -> Made:
    return some[int(rng.integers(len(some)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCopy:
    """A copy of one text at one share, and the share of its words that are changed."""

    fields: Fields
    changed: float


def make_copies(example: Example, kind: str, draw: int, seed: int) -> list[NoisyCopy]:
    """Return a copy of the text for each of SHARES, with one kind of noise; `draw` numbers repeated copies.

    The number of changed words is the share times the number of words, rounded up or down at random so that it is right
    on average. It is smaller if this kind of noise can change fewer words of the text.
    """
    texts = tuple(example.fields.values())
    rng = generator(seed, "noise", kind, str(draw), *texts)
    parts = [split_parts(text) for text in texts]
    open_ = [number for number, name in enumerate(example.fields) if name in example.open]
    places = [(field, at) for field in open_ for at in range(1, len(parts[field]), 2)]
    rounding = rng.random()  # one draw for all shares, so that a larger share changes at least as many words
    wanted = [int(share * len(places) + rounding) for share in SHARES]
    changes = list(_alter(parts, places, KINDS[kind], rng, max(wanted)))
    copies, done = [], 0
    for many in wanted:
        for (field, at), pair in changes[done:many]:
            parts[field][at : at + 2] = pair
        done = min(many, len(changes))
        fields = tuple("".join(one) for one in parts)
        copies.append(NoisyCopy(fields=fields, changed=done / max(1, len(places))))
    return copies


def _alter(
    parts: Sequence[Sequence[str]], places: Sequence[tuple[int, int]], alter: Alter, rng: np.random.Generator, most: int
) -> Iterator[tuple[tuple[int, int], Pair]]:
    """Yield changes of words at random places, at most `most` of them."""
    done = 0
    for number in rng.permutation(len(places)).tolist():
        if done == most:
            return
        field, at = places[number]
        before = parts[field][at], parts[field][at + 1]
        after = alter(*before, rng)
        if after is not None and after != before:
            done += 1
            yield (field, at), after
