"""Thesaurus: a service that looks up the synonyms of words, all that the texts of a round ask for in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from malaprop.core.text import Ints, Words

SERVICE = "synonyms"


@dataclass(frozen=True, slots=True, eq=False)
class Unlisted:
    """Words of a table, by their ids, of which not all were looked up before."""

    table: Words
    words: list[int]


def known_synonyms(table: Words) -> dict[int, Ints]:
    """The synonyms of those words of a table that were looked up: ids, sorted by string, without the word itself."""
    known: dict[int, Ints] = table.notes.setdefault(SERVICE, {})
    return known


class Thesaurus:
    """What TextAttack takes from WordNet for a word, of any part of speech. What is found stays with the table."""

    def begin(self, asks: Sequence[Sequence[Unlisted]]) -> list[Sequence[Unlisted]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Unlisted]]) -> list[list[list[Ints]]]:
        """For each word its synonyms."""
        tables = {id(item.table): item.table for ask in pending for item in ask}
        for table in tables.values():
            words = (item.words for ask in pending for item in ask if item.table is table)
            _look_up(table, dict.fromkeys(chain.from_iterable(words)))
        return [[[*map(known_synonyms(item.table).__getitem__, item.words)] for item in ask] for ask in pending]


def _look_up(table: Words, words: dict[int, None]) -> None:
    from malaprop.assets.wordnet import open_wordnet

    known = known_synonyms(table)
    fresh = [word for word in words if word not in known]
    found = open_wordnet().peer_synonyms([table.strings[word] for word in fresh])
    flat, ends = table.ids(chain.from_iterable(found)), accumulate(map(len, found))
    known.update((word, flat[end - len(row) : end]) for word, row, end in zip(fresh, found, ends, strict=True))
