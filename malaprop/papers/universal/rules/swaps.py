"""Find the word replacements of texts, from WordNet or from a list, from which rules are mined."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from malaprop.attacks.candidates.lookup import WORDNET_PART, recase
from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """A text and all its single-word replacements, with both words of each in lower case, as ids of a lexicon."""

    example: Example
    text: Text
    variants: Variants
    words: Ints
    others: Ints


class Swaps(Protocol):
    """Finds the replacements of the words of texts; `lexicon` numbers the words of rules."""

    def find(self, examples: Sequence[Example], table: Words, lexicon: Words) -> list[Swapped]: ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ListedSwaps:
    """Replacements from a table of the user's own, whatever the part of speech."""

    table: Mapping[str, Sequence[str]]

    def find(self, examples: Sequence[Example], table: Words, lexicon: Words) -> list[Swapped]:
        def others(word: str, part: str) -> Iterable[str]:  # noqa: ARG001
            return self.table.get(word, ())

        texts = [Text.of(example.fields, table, owner) for owner, example in enumerate(examples)]
        rows = [["any"] * text.slots for text in texts]
        return _swap(examples, texts, rows, lexicon, others)


def read_swaps(path: Path) -> ListedSwaps:
    """Read a CSV file of replacements, with a word and a replacement a line in the columns from and to."""
    table: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"from", "to"} <= set(reader.fieldnames or ()):
                raise DataError(
                    f"{path} lacks the columns from,to; give a CSV file with a word and a replacement a line"
                )
            for row in reader:
                word, other = ((row[name] or "").strip() for name in ("from", "to"))
                if word and other:
                    table.setdefault(word.lower(), []).append(other)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from None
    if not table:
        raise DataError(f"{path} holds no replacement; give a word and a replacement a line, below from,to")
    return ListedSwaps(table=table)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordNetSwaps:
    """Synonyms of the same part of speech, no stop words: what `pwws` puts into texts too."""

    tags: Callable[[Sequence[Text]], Sequence[Sequence[str]]] | None = field(default=None, repr=False)

    def find(self, examples: Sequence[Example], table: Words, lexicon: Words) -> list[Swapped]:
        from malaprop.assets.lexicon import stop_words
        from malaprop.assets.wordnet import open_wordnet
        from malaprop.frame.runs.services import tags as light_tags

        tags = self.tags or light_tags
        wordnet, kept = open_wordnet(), stop_words()

        def others(word: str, part: str) -> Iterable[str]:
            return () if word in kept else wordnet.synonyms(word, part)

        texts = [Text.of(example.fields, table, owner) for owner, example in enumerate(examples)]
        rows = [[WORDNET_PART.get(tag, "") for tag in row] for row in tags(texts)]
        return _swap(examples, texts, rows, lexicon, others)


def open_slots(text: Text, example: Example) -> Ints:
    """Return the slots of the fields that may change."""
    return text.slots_of(example.open)


def _swap(
    examples: Sequence[Example],
    texts: Sequence[Text],
    parts: Sequence[Sequence[str]],
    lexicon: Words,
    others: Callable[[str, str], Iterable[str]],
) -> list[Swapped]:
    out = []
    for example, text, row in zip(examples, texts, parts, strict=True):
        strings, slots = text.strings, open_slots(text, example).tolist()
        found = [_of(text.table, lexicon, strings[s], row[s], others) for s in slots]
        sizes = [len(words) for words, _, _ in found]
        place = np.repeat(np.asarray(slots, np.int64), sizes)
        whole = np.repeat(np.asarray([word for _, word, _ in found], np.int64), sizes)
        variants = Variants(text, place, _join([words for words, _, _ in found]))
        out.append(Swapped(example, text, variants, whole, _join([other for _, _, other in found])))
    return out


def _join(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else _NONE


def _of(
    table: Words, lexicon: Words, word: str, part: str, others: Callable[[str, str], Iterable[str]]
) -> tuple[Ints, int, Ints]:
    """Return for a word the table ids of its replacements, its own lexicon id, and the replacements' lexicon ids."""
    key = ("swaps", word, part)
    known: tuple[Ints, int, Ints] | None = table.notes.get(key)
    if known is None:
        low = word.lower()
        listed = [o for o in sorted(set(others(low, part))) if o.lower() != low] if part else []
        known = table.notes[key] = (
            table.ids(recase(other, word) for other in listed),
            lexicon.id(low),
            lexicon.ids(other.lower() for other in listed) if _plain(listed) else lexicon.ids(listed),
        )
    return known


def _plain(listed: Sequence[str]) -> bool:
    """Return whether all words stay distinct in lower case; May and may would not."""
    return len({other.lower() for other in listed}) == len(listed)
