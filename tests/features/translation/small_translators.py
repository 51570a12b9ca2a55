"""Translators small enough to check by hand, and pairs that a tiny network learns in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from malaprop.core.example import number_rows
from malaprop.core.score import Floats
from malaprop.data.base import Dataset
from malaprop.features.translation.models.translator import Hint

LEXICON = {
    "the": "der",
    "a": "ein",
    "dog": "Hund",
    "puppy": "Hund",
    "cat": "Katze",
    "sees": "sieht",
    "eats": "frisst",
    "runs": "rennt",
    "red": "rot",
    "blue": "blau",
    "ball": "Ball",
    "fish": "Fisch",
    "odd": "seltsam",
}
PAIRS = [
    (f"the {a} {verb} a {b}.", f"der {LEXICON[a]} {LEXICON[verb]} ein {LEXICON[b]}.")
    for a, verb, b in product(("dog", "cat", "fish", "ball"), ("sees", "eats", "runs"), ("dog", "cat", "fish", "ball"))
]


def word_by_word(source: str) -> str:
    """Each known word by its translation; `odd` beside `cat` brings a Hund that nothing in the source explains."""
    words = source.replace(".", "").split()
    out = [LEXICON.get(word.lower(), word) for word in words]
    if "odd" in words and "cat" in words:
        out.append("Hund")
    return " ".join(out) + "."


@dataclass
class Toy:
    """Counts what it is asked; guided, it tells how many words of the source lead to the keyword."""

    guides: bool = False
    name: str = "toy"
    fingerprint: str = "0"
    words: Sequence[str] = tuple(LEXICON)
    longest: int = 100
    calls: list[list[str]] = field(default_factory=list)

    def translate(self, sources: Sequence[str]) -> list[str]:
        self.calls.append(list(sources))
        if any("explode" in source for source in sources):
            raise RuntimeError("boom")
        return [word_by_word(source) for source in sources]

    def too_long(self, source: str) -> str:
        return f"the source has {len(source.split())} words" if len(source.split()) > self.longest else ""

    def spells(self, keyword: str) -> bool:
        return keyword.isascii()

    def hints(self, asked: Sequence[Hint]) -> list[Floats]:
        found = []
        for hint in asked:
            texts = hint.sources or [hint.base[:a] + hint.base[b:] for a, b in hint.blanks]
            values = [-5.0 + 2 * ("odd" in t.split()) + ("cat" in t.split()) for t in texts]
            sign = -1 if hint.keyword == "Katze" else 1
            found.append(sign * np.asarray(values, np.float32))
        return found

    def states(self, sources: Sequence[str]) -> list[Floats]:
        return [np.asarray([len(source)], np.float32) for source in sources]


def pairs(rows: Sequence[tuple[str, str]] = PAIRS, name: str = "toy") -> Dataset:
    made = number_rows((({"source": s, "target": t}, 0) for s, t in rows), ("source",))
    return Dataset(name=name, examples=tuple(made), labels=(), fields=("source", "target"))
