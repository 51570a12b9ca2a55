"""The parts of speech of the words of a table, as bits: found once a word, kept with the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malaprop.core.text import Ints, Words

Bits = NDArray[np.uint8]
_KEY = "parts of speech"


def _room(table: Words) -> Bits:
    marks: Bits = table.notes.get(_KEY, np.empty(0, np.uint8))
    if len(marks) < len(table):
        marks = np.concatenate([marks, np.zeros(2 * len(table) - len(marks), np.uint8)])
        table.notes[_KEY] = marks
    return marks


def note(table: Words, words: Ints, bits: Bits) -> None:
    """Keeps what is known of these words already."""
    _room(table)[words] = bits


def marks_of(table: Words, words: Ints) -> Bits:
    """The parts of speech that each of these words usually is, by WordNet; NEITHER where there is none."""
    from malaprop.assets.wordnet import open_wordnet

    marks = _room(table)
    found = marks[words]
    if not found.all():
        wordnet, strings = open_wordnet(), table.strings
        for word in np.unique(words[found == 0]).tolist():
            marks[word] = wordnet.usual(strings[word])
        found = marks[words]
    return found
