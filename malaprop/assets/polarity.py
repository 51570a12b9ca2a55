"""Valence of words: how good or bad what they say is, from -4 to 4, as people rated it or as estimated from these.

The table is part of the package; `malaprop.models.encoders.valence` made it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.wordnet import PARTS, open_wordnet
from malaprop.core.errors import AssetError

STEPS = 30  # a valence is stored as a byte, in steps of 1/30
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ADJECTIVE = re.compile(r'<word form="([^"]+)".*? polarity="([-\d.]+)"')


class Polarity:
    """Tells the valence of a word, from -4 to 4; a form that is not listed has that of its base form."""

    def __init__(self, words: list[str], valences: NDArray[np.int8]) -> None:
        if len(words) != len(valences):
            raise AssetError(f"the table of polarity has {len(words)} words and {len(valences)} valences")
        self._valences: dict[str, float] = {
            word: value / STEPS for word, value in zip(words, valences.tolist(), strict=True)
        }

    def valence(self, word: str) -> float | None:
        """Return the valence of a word in any case; None where neither the word nor a base form is listed."""
        lower = word.lower()
        found = self._valences.get(lower)
        if found is not None:
            return found
        bases: Iterator[str] = (base for pos in PARTS for base in open_wordnet().bases(lower, pos))
        return next((self._valences[base] for base in bases if base in self._valences), None)


def read_ratings(path: Path) -> dict[str, float]:
    """Read VADER's lexicon: single words with the mean of ten ratings from -4 to 4."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {word: float(mean) for word, mean, *_ in rows if _WORD.fullmatch(word)}


def read_adjectives(path: Path) -> dict[str, float]:
    """Read the lexicon of adjectives that TextBlob holds: for each the mean polarity of its senses, from -1 to 1."""
    found: dict[str, list[float]] = defaultdict(list)
    for word, polarity in _ADJECTIVE.findall(path.read_text(encoding="utf-8")):
        if _WORD.fullmatch(word):
            found[word].append(float(polarity))
    return {word: float(np.mean(values)) for word, values in found.items()}


def write(path: Path, valences: dict[str, float]) -> None:
    """Write a table that `read` reads: the words in one string, sorted, and a byte for the valence of each."""
    words = sorted(valences)
    rounded = np.round(np.clip([valences[word] for word in words], -4, 4) * STEPS).astype(np.int8)
    np.savez_compressed(path, words=np.frombuffer("\n".join(words).encode(), np.uint8), valences=rounded)


def read(path: Path) -> Polarity:
    """Read a table that `write` wrote."""
    with np.load(path, allow_pickle=False) as table:
        return Polarity(table["words"].tobytes().decode().split("\n"), table["valences"])


@cache
def open_polarity() -> Polarity:
    """Open the packaged table of valences, read once a process."""
    with as_file(files("malaprop.assets") / "words" / "polarity.npz") as path:
        return read(path)
