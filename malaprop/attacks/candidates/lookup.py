"""Replacements looked up by a word, or by a word and its part of speech: synonyms, neighbours, forms, lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.partmarks import Bits, note
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Words, check_text

if TYPE_CHECKING:
    from malaprop.core.score import Flags


_NONE = np.empty(0, np.int64)

# Universal tags whose words WordNet knows. Proper nouns are left alone: a synonym of a name is another name.
WORDNET_PART = {"NOUN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}


def recase(word: str, like: str) -> str:
    """Return the word in the case of the one it replaces."""
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def remembered(
    table: Words, key: Hashable, word: str, make: Callable[[], Iterable[str]], *, cased: bool = True
) -> Ints:
    """Return the ids of a word's replacements, sorted by string, each once, without the word; cached in the table."""
    found: Ints | None = table.notes.get(key)
    if found is None:
        made = (recase(w, word) if cased else w for w in make())
        found = table.notes[key] = table.ids(sorted({w for w in made if w and w != word}))
    return found


def _recased(table: Words, words: Ints, like: str) -> Ints:
    """Return the words in the case of another one, sorted by string, without that one."""
    made = {recase(table.strings[w], like) for w in words.tolist()}
    return table.ids(sorted(made - {like}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WordNetSynonyms:
    """Lemmas that share a synset with the word; of the same part of speech, or of any (`part="any"`).

    In another language than English those of its thesaurus (see docs/languages.md); with "any" in rare senses too, and
    the other forms of the word.

    `proper`: proper nouns count as nouns; if not, they have no synonyms of the same part of speech.
    """

    part: Literal["same", "any"] = "same"
    proper: bool = False

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        from malaprop.assets.wordnet import open_wordnet

        if not trial.language.is_english:
            return find_synonyms(trial, slots, wide=self.part == "any")
        if self.part == "any":
            return (yield from _of_any_part(trial.origin.table, trial.origin.words[slots].tolist()))
        tags = yield from trial.tags()
        wordnet, table, strings = open_wordnet(), trial.origin.table, trial.origin.strings
        out = []
        for slot in slots.tolist():
            tag = "NOUN" if self.proper and tags[slot] == "PROPN" else tags[slot]
            word, part = strings[slot], WORDNET_PART.get(tag, "")
            make = (lambda w=word, p=part: wordnet.synonyms(w.lower(), p)) if part else tuple
            out.append(remembered(table, ("wordnet", word, part), word, make))
        return out


def find_synonyms(trial: Trial, slots: Ints, *, wide: bool = False) -> list[Ints]:
    """Return the synonyms that another language than English has for the words, of any part of speech.

    Where its synonyms are not known, the other forms of the words; names of accounts (@name) have none. `wide`: the
    synonyms of rare senses and the other forms too.
    """
    origin, language = trial.origin, trial.language
    table, strings = origin.table, origin.strings
    named = [table.strings[gap].endswith("@") for gap in origin.parts[0:-1:2].tolist()]
    return [
        _NONE
        if named[s]
        else remembered(table, ("synonyms", language.code, w, wide), w, partial(language.replacements, w, wide=wide))
        for s, w in ((s, strings[s]) for s in slots.tolist())
    ]


def _of_any_part(table: Words, words: list[int]) -> Steps[list[Ints]]:
    known = known_synonyms(table)
    if all(word in known for word in words):
        return [known[word] for word in words]
    (found,) = yield Ask(SERVICE, [SynonymRequest(table, words)])
    synonyms: list[Ints] = found
    return synonyms


class Near(Protocol):
    """Words and for each the numbers of its neighbours in `table` [word, k], nearest first, with `cosines`."""

    table: NDArray[np.int32]

    @property
    def cosines(self) -> NDArray[np.floating]: ...

    @property
    def words(self) -> list[str]: ...

    @property
    def index(self) -> dict[str, int]: ...

    @property
    def rank(self) -> Ints: ...

    @property
    def whole(self) -> Flags: ...

    @property
    def parts(self) -> NDArray[np.uint8]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NearWords:
    """The `count` nearest words in counter-fitted space whose cosine is at least `floor`."""

    count: int = 50
    floor: float = 0.0
    vectors: str = "counter-fitted"

    def __post_init__(self) -> None:
        if self.count < 1 or not -1 <= self.floor <= 1:
            raise SettingError(f"NearWords needs count >= 1 and a floor in [-1, 1], got {self.count} and {self.floor}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        from malaprop.assets.vectors import open_neighbours

        if not trial.language.is_english:  # the vectors are English
            return find_synonyms(trial, slots, wide=True)

        def among(near: Near, rows: Ints) -> Flags:
            flags: Flags = near.cosines[rows, : self.count].astype(np.float32) >= self.floor
            return flags

        return (yield from _look_near(open_neighbours(self.vectors), self.vectors, among, trial, slots))


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseSynonyms:
    """The `count` words of the table of synonyms that are nearest in meaning, of a score of at least `floor`.

    Those alone that can have a part of speech and an inflection that the word can have: *films* gets *movies*. Antonyms
    and words of opposite valence are not in the table; see docs/assets.md.
    """

    count: int = 50
    floor: float = 0.45
    language: ClassVar[str] = "en"

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 < self.floor <= 1:
            raise SettingError(
                f"CloseSynonyms needs count >= 1 and a floor above 0 and up to 1, got {self.count} and {self.floor}"
            )

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        from malaprop.assets.synonyms import open_synonyms

        if not trial.language.is_english:  # the table is English
            return find_synonyms(trial, slots)

        synonyms = open_synonyms()

        def among(near: Near, rows: Ints) -> Flags:
            fits = (near.cosines[rows] >= self.floor) & synonyms.share_form(rows)
            flags: Flags = fits & (fits.cumsum(1) <= self.count)
            return flags

        return (yield from _look_near(synonyms, "synonyms", among, trial, slots))


Among = Callable[[Near, Ints], "Flags"]  # rows of a table to flags of their neighbours [row, k], of the first k


def _look_near(near: Near, name: str, among: Among, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
    """Return for each slot the ids of its word's neighbours that pass, in the word's case, sorted by string."""
    table, strings, here = trial.origin.table, trial.origin.strings, slots.tolist()
    bits = yield from trial.parts(slots)
    rows = np.fromiter((near.index.get(strings[s].lower(), -1) for s in here), np.int64, len(here))
    listed = np.flatnonzero(rows >= 0)
    out = [_NONE] * len(here)
    kept = among(near, rows[listed])
    for i, found in zip(
        listed.tolist(),
        _take(near, name, table, rows[listed], kept, None if bits is None else bits[listed]),
        strict=True,
    ):
        word = strings[here[i]]
        out[i] = found if word.islower() else _recased(table, found, word)
    return out


def _take(near: Near, name: str, table: Words, rows: Ints, kept: Flags, bits: Bits | None) -> list[Ints]:
    """Return for each row of the table of neighbours the ids of those that are kept and fit, sorted by string."""
    others = near.table[rows, : kept.shape[1]]
    kept = kept & near.whole[others]
    if bits is not None:
        kept &= (near.parts[others] & bits[:, None]) > 0
    sizes = kept.sum(1)
    flat = others[kept]
    flat = flat[np.argsort(np.repeat(np.arange(len(rows)), sizes) * len(near.rank) + near.rank[flat])]
    ids: Ints = table.notes.setdefault(("near", name), np.full(len(near.rank), -1, np.int64))
    fresh = flat[ids[flat] < 0]
    if len(fresh):
        words = near.words
        ids[fresh] = table.ids(words[i] for i in fresh.tolist())
        if bits is not None:
            note(table, ids[fresh], near.parts[fresh])
    found, ends = ids[flat], np.cumsum(sizes).tolist()
    return [found[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Misspellings:
    """Misspellings of the word that people have really typed; in other languages than English slips of the keyboard."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.lexicon import misspellings
        from malaprop.attacks.candidates.chars import find_slips

        if not trial.language.is_english:
            return find_slips(trial, slots)

        listed, table, strings = misspellings(), trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("typos", w), w, lambda w=w: listed.get(w.lower(), ()))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The `size` most frequent words of English, for every word of the text."""

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
    """Replacements from a table of the user's: word to replacements, matched without regard to case."""

    table: Mapping[str, tuple[str, ...]] = field(hash=False)

    def __post_init__(self) -> None:
        rows: Mapping[str, Iterable[str]] = self.table
        for word, others in rows.items():
            if isinstance(others, str):
                raise SettingError(f"Listed.table maps a word to several, got {word!r} = {others!r}; put it in a list")
            for other in others:
                check_text(other)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflections:
    """Every inflection of the word in its own part of speech: nouns, verbs and adjectives (Tan et al. 2020)."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        table, strings, language = trial.origin.table, trial.origin.strings, trial.language
        if not language.is_english:
            return [
                remembered(table, ("forms", language.code, w), w, lambda w=w: language.forms(w))  # type: ignore[misc]
                for w in (strings[s] for s in slots.tolist())
            ]
        tags = yield from trial.tags()
        out = []
        for slot in slots.tolist():
            word, part = strings[slot], WORDNET_PART.get(tags[slot], "")
            make = (lambda w=word, p=part: inflect_all(w, p)) if part else tuple
            out.append(remembered(table, ("inflections", word, part), word, make))
        return out


def inflect_all(word: str, part: str) -> Iterator[str]:
    """Yield the forms of every base form that the word may have, in lower case."""
    from malaprop.assets.inflection import list_forms
    from malaprop.assets.wordnet import open_wordnet

    wordnet = open_wordnet()
    for base in wordnet.bases(word.lower(), part):
        yield from list_forms(wordnet, base, part).values()


SERVICE = "synonyms"


@dataclass(frozen=True, slots=True, eq=False)
class SynonymRequest:
    """A request for the synonyms of words of a table, by their ids."""

    table: Words
    words: list[int]


def known_synonyms(table: Words) -> dict[int, Ints]:
    """Return the cached synonyms of a table's words: ids, sorted by string, without the word itself."""
    known: dict[int, Ints] = table.notes.setdefault(SERVICE, {})
    return known


class Thesaurus:
    """The service for synonyms as TextAttack takes them from WordNet, of any part of speech; cached in the table."""

    def begin(self, asks: Sequence[Sequence[SynonymRequest]]) -> list[Sequence[SynonymRequest]]:
        return list(asks)

    def finish(self, pending: list[Sequence[SynonymRequest]]) -> list[list[list[Ints]]]:
        """Return the synonyms of each word."""
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
