"""Replacements that depend on a word alone, or on a word and its part of speech: looked up once for each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Words, checked, word_pattern

# Universal tags whose words WordNet knows. Proper nouns are left alone: a synonym of a name is another name.
WORDNET_PART = {"NOUN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}


def recase(word: str, like: str) -> str:
    """The word in the case of the one it replaces."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def remembered(
    table: Words, key: Hashable, word: str, make: Callable[[], Iterable[str]], *, cased: bool = True
) -> Ints:
    """Ids of the replacements of a word: sorted by string, each once, without the word; kept with the table."""
    found: Ints | None = table.notes.get(key)
    if found is None:
        made = (recase(w, word) if cased else w for w in make())
        found = table.notes[key] = table.ids(sorted({w for w in made if w and w != word}))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WordNetSynonyms:
    """Lemmas that share a synset with the word; of the same part of speech, or of any (`part="any"`)."""

    part: Literal["same", "any"] = "same"

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        from malaprop.assets.wordnet import open_wordnet

        wordnet, table, strings = open_wordnet(), trial.origin.table, trial.origin.strings
        if self.part == "any":
            return [
                remembered(table, ("wordnet", w), w, lambda w=w: wordnet.peer_synonyms(w), cased=False)  # type: ignore[misc]
                for w in (strings[s] for s in slots.tolist())
            ]
        tags = yield from trial.tags()
        out = []
        for slot in slots.tolist():
            word, part = strings[slot], WORDNET_PART.get(tags[slot], "")
            make = (lambda w=word, p=part: wordnet.synonyms(w.lower(), p)) if part else tuple
            out.append(remembered(table, ("wordnet", word, part), word, make))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class NearWords:
    """The `count` nearest words in counter-fitted space whose cosine is at least `floor`."""

    count: int = 50
    floor: float = 0.0
    vectors: str = "counter-fitted"

    def __post_init__(self) -> None:
        if self.count < 1 or not -1 <= self.floor <= 1:
            raise SettingError(f"NearWords wants count >= 1 and a floor in [-1, 1], got {self.count} and {self.floor}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, strings = trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("near", self, w), w, lambda w=w: self._near(w))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]

    def _near(self, word: str) -> list[str]:
        from malaprop.assets.vectors import open_neighbours

        words, cosines = open_neighbours(self.vectors).of(word.lower())
        near = zip(words[: self.count], cosines[: self.count].tolist(), strict=True)
        whole = word_pattern().fullmatch  # vectors of marks and numbers with marks are no replacement for a word
        return [w for w, c in near if c >= self.floor and whole(w)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Misspellings:
    """What people have really typed for the word."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.lexicon import misspellings

        listed, table, strings = misspellings(), trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("typos", w), w, lambda w=w: listed.get(w.lower(), ()))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The `size` most frequent words of English, whatever stands in the slot."""

    size: int = 10_000

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table = trial.origin.table
        whole: Ints | None = table.notes.get(("vocabulary", self.size))
        if whole is None:
            from malaprop.assets.vectors import open_vectors

            listed = [w for w in open_vectors("glove").words[: 2 * self.size] if w.isalpha()][: self.size]
            whole = table.notes["vocabulary", self.size] = table.ids(sorted(listed))
        here = trial.origin.words
        return [whole[whole != here[s]] for s in slots.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A list of one's own: word to replacements, matched without regard to case."""

    table: Mapping[str, tuple[str, ...]] = field(hash=False)

    def __post_init__(self) -> None:
        rows: Mapping[str, Iterable[str]] = self.table
        for word, others in rows.items():
            if isinstance(others, str):
                raise SettingError(f"Listed.table maps a word to several, got {word!r} = {others!r}; put it in a list")
            for other in others:
                checked(other)

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        words, strings = trial.origin.table, trial.origin.strings
        key = ("listed", id(self.table))
        lower: dict[str, list[str]] | None = words.notes.get(key)
        if lower is None:
            lower = words.notes[key] = {}
            for word, others in self.table.items():
                lower.setdefault(word.lower(), []).extend(others)
        return [
            remembered(words, (*key, w), w, lambda w=w: lower.get(w.lower(), ()))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]
