"""Pairs of texts of which it is known whether the meaning is kept: what the judge of meaning learns from.

People labelled some of them; the others are made here, of sentences of reviews, news and captions. A group of pairs is
in one part, the training or the held-out one.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.assets.inflection import find_marks, inflect_each
from malaprop.assets.lexicon import stop_words
from malaprop.assets.relations import open_relations
from malaprop.assets.synonyms import FLOOR, open_synonyms
from malaprop.assets.wordnet import PARTS, open_wordnet
from malaprop.core.errors import DataError
from malaprop.models.encoders.differences import (
    LONGEST,
    Word,
    find_changes,
    find_words,
    is_known,
    pair_sentences,
    relate,
    split_sentences,
)

# How many pairs of a source are wanted, for training and held out; about as many as the first head learnt from.
WANTED = {
    ("breaking_nli", True): (350, 150), ("breaking_nli", False): (500, 215),
    ("sick", True): (455, 193), ("sick", False): (430, 185),
    ("sts", True): (235, 100), ("sts", False): (330, 141),
    ("swaps", True): (510, 218), ("swaps", False): (841, 349),
    ("typos", True): (190, 81), ("negations", False): (70, 30), ("reviews", False): (550, 235),
}  # fmt: skip
_HELD = 0.3  # the share of groups that are held out
_NEAR, _FAR = (4.5, 2.0)  # relatedness or similarity, of 5, from which a meaning is kept, and up to which it is changed
_SENTENCES = {
    "mr/mr_all.jsonl.gz": ("text",),
    "ag_news/train_part.jsonl.gz": ("text",),
    "imdb/train.jsonl.gz": ("text",),
    "nli/snli_train_part.jsonl.gz": ("premise", "hypothesis"),
}
_TEXTS = 1500  # of each of these files that pairs are made of
_SHORTEST = 5  # words of a sentence
_AUXILIARIES = frozenset(
    ["is", "are", "was", "were", "can", "could", "will", "would", "should", "must", "does", "did", "has", "had"]
)
Rows = Iterable[Mapping[str, Any]]


class Pair(NamedTuple):
    """Two texts and whether a reader would say that the meaning is kept; pairs of one group are in the same part."""

    source: str
    group: str
    original: str
    changed: str
    kept: bool
    held: bool | None = None  # None: the hash of the group decides


def draw(data: Path, seed: int = 0, wanted: Mapping[tuple[str, bool], tuple[int, int]] = WANTED) -> list[Pair]:
    """Return the pairs of both parts, at most as many of each source as are wanted, in an order that the seed sets."""
    found: dict[tuple[str, bool, bool], list[Pair]] = defaultdict(list)
    for pair in sorted(dict.fromkeys(_read_all(data, seed)), key=lambda one: place(seed, *map(str, one))):
        held = place(seed, "part", pair.group) < _HELD if pair.held is None else pair.held
        found[pair.source, pair.kept, held].append(pair._replace(held=held))
    return [
        pair
        for (source, kept), counts in wanted.items()
        for held, count in zip((False, True), counts, strict=True)
        for pair in found[source, kept, held][:count]
    ]


def place(*names: object) -> float:
    """Return a number from 0 to 1 that depends on the names alone."""
    digest = blake2b("\x1f".join(map(str, names)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a packed file of JSON lines."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            yield from map(json.loads, lines)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}; --data names the folder of the data") from None


def _read_all(data: Path, seed: int) -> Iterator[Pair]:
    yield from breaking_pairs(read_rows(data / "nli/breaking_nli.jsonl.gz"))
    yield from sick_pairs(read_rows(data / "meaning/sick.jsonl.gz"))
    for part, held in (("train", False), ("test", True)):
        yield from sts_pairs(read_rows(data / f"meaning/sts_{part}.jsonl.gz"), held=held)
    yield from review_pairs(read_rows(data / "meaning/counterfactual_train.jsonl.gz"))
    sentences = [one for file, fields in _SENTENCES.items() for one in _pick(read_rows(data / file), fields, seed)]
    yield from made_pairs(sentences, seed)


# --- pairs that people labelled


def breaking_pairs(rows: Rows) -> Iterator[Pair]:
    """Yield the pairs of Breaking NLI that entail or contradict each other; a group has the same differing words."""
    for row in rows:
        one, two = row["premise"], row["hypothesis"]
        changes = find_changes(find_words(one), find_words(two))
        words = sorted({word.lower for change in changes for word in change if word})
        if row["label"] != 1 and words:
            yield Pair("breaking_nli", " ".join(words), one, two, row["label"] == 0)


def sick_pairs(rows: Rows) -> Iterator[Pair]:
    """Yield the pairs of SICK that entail each other and are near, and those that contradict each other or are far."""
    for row in rows:
        one, two, entails = row["original"], row["changed"], row["entailment"]
        kept = entails == "ENTAILMENT" and row["relatedness"] >= _NEAR
        if kept or entails == "CONTRADICTION" or row["relatedness"] <= _FAR:
            yield Pair("sick", min(one, two), one, two, kept)


def sts_pairs(rows: Rows, *, held: bool) -> Iterator[Pair]:
    """Yield the near and the far pairs of one part of the STS benchmark."""
    for row in rows:
        if not _FAR < row["similarity"] < _NEAR and _is_short(row["original"]) and _is_short(row["changed"]):
            yield Pair("sts", row["original"], row["original"], row["changed"], row["similarity"] >= _NEAR, held)


def review_pairs(rows: Rows) -> Iterator[Pair]:
    """Yield the sentences in which a review and its rewriting to the other sentiment differ by words."""
    for row in rows:
        for one, two in pair_sentences(row["original"], row["changed"]):
            if _is_short(one) and _is_short(two) and min(len(one.split()), len(two.split())) >= _SHORTEST:
                changes = find_changes(find_words(one), find_words(two))
                if any(word and word.lower not in stop_words() for change in changes for word in change):
                    yield Pair("reviews", row["original"], one, two, kept=False)


def _is_short(text: str) -> bool:
    return 0 < len(text.split()) <= LONGEST


# --- pairs that are made


def _pick(rows: Rows, fields: Sequence[str], seed: int) -> list[str]:
    """Return a sentence of each of some rows; those that attacks are evaluated on are left out."""
    texts = sorted(
        {row[field] for row in rows if not row.get("textfooler1000") for field in fields},
        key=lambda text: place(seed, "text", text),
    )
    found = ([one for one in split_sentences(text) if _SHORTEST <= len(one.split()) <= LONGEST] for text in texts)
    return [some[int(place(seed, "sentence", *some) * len(some))] for some in islice(filter(None, found), _TEXTS)]


def made_pairs(sentences: Sequence[str], seed: int) -> Iterator[Pair]:
    """Yield pairs made of sentences: synonyms, other words, misspellings, other casing, and negations."""
    words = Replacements(sentences)
    for text in sentences:
        rng = random.Random(f"{seed}\x1f{text}")
        made = {
            ("swaps", True): swap(text, words, rng, keep=True),
            ("swaps", False): swap(text, words, rng, keep=False),
            ("typos", True): misspell(text, rng) if rng.random() < 0.7 else recase(text, rng),
            ("negations", False): negate(text),
        }
        for (source, kept), changed in made.items():
            if changed is not None and changed != text:
                yield Pair(source, text, text, changed, kept)


def swap(text: str, words: Replacements, rng: random.Random, *, keep: bool) -> str | None:
    """Put synonyms in place of one to three words; unless the meaning is to be kept, one of them gets another word."""
    slots = [word for word in find_words(text) if find_part(word.lower) and text[word.start : word.end].isalpha()]
    rng.shuffle(slots)
    count, edits = rng.choice((1, 1, 2, 3)), dict[Word, str]()
    if not keep:
        ways = [words.opposites, words.sisters, words.others]
        rng.shuffle(ways)
        edits = next(({slot: rng.choice(new)} for way in ways for slot in slots if (new := way(slot.lower))), {})
        if not edits:
            return None
    for slot in slots:
        if len(edits) < count and slot not in edits and (new := words.synonyms(slot.lower)):
            edits[slot] = rng.choice(new)
    return _replace(text, edits) if edits else None


def misspell(text: str, rng: random.Random) -> str | None:
    """Swap, drop or double a letter inside one to three words, which then are no words."""
    slots = [word for word in find_words(text) if word.lower.isalpha() and word.end - word.start > 3]
    edits = {}
    for slot in rng.sample(slots, min(len(slots), rng.choice((1, 1, 2, 3)))):
        old, at = text[slot.start : slot.end], rng.randrange(1, slot.end - slot.start - 2)
        end = rng.choice((old[at + 1] + old[at] + old[at + 2 :], old[at + 1 :], old[at] * 2 + old[at + 1 :]))
        if not is_known((old[:at] + end).lower()):
            edits[slot] = old[:at] + end
    return _replace(text, edits) if edits else None


def recase(text: str, rng: random.Random) -> str:
    """Write a text, or one of its words, in another case."""
    word = rng.choice(text.split())
    return rng.choice((text.lower(), text.upper(), text.title(), text.replace(word, word.upper(), 1)))


def negate(text: str) -> str | None:
    """Take away a text's first *not*, or put one behind its first auxiliary."""
    words = find_words(text)
    for word in words:
        if word.lower == "not" and word.start:
            return text[: word.start].rstrip() + text[word.end :]
    if any(word.lower == "n't" for word in words):
        return None
    return next((f"{text[: w.end]} not{text[w.end :]}" for w in words if w.lower in _AUXILIARIES), None)


def _replace(text: str, edits: Mapping[Word, str]) -> str:
    for word, new in sorted(edits.items(), key=lambda item: -item[0].start):
        old = text[word.start : word.end]
        new = new.upper() if old.isupper() and len(old) > 1 else new.capitalize() if old[:1].isupper() else new
        text = text[: word.start] + new + text[word.end :]
    return text


@cache
def find_part(word: str) -> str | None:
    """Return the part of speech of a content word that usually is one alone and is no name."""
    if word in stop_words() or len(word) < 3 or not word.isalpha() or open_wordnet().is_proper(word):
        return None
    usual = open_wordnet().usual(word)
    return next((part for bit, part in enumerate(PARTS) if usual == 1 << bit), None)


class Replacements:
    """Words to put in place of another one: of its meaning, or of another meaning in the same form."""

    def __init__(self, texts: Iterable[str]) -> None:
        opposed: dict[str, set[str]] = defaultdict(set)
        for one, two in open_wordnet().antonyms():
            opposed[one].add(two)
            opposed[two].add(one)
        self._opposed = opposed
        by_form: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        by_kind: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for word in sorted({word.lower for text in texts for word in find_words(text) if find_part(word.lower)}):
            by_form[_form(word)].append(word)
            for kind in _kinds(word):
                by_kind[kind, *_form(word)].append(word)
        self._by_form, self._by_kind = by_form, by_kind
        find: Callable[[Callable[[str], list[str]]], Callable[[str], list[str]]] = cache
        self.synonyms, self.opposites = find(self._find_synonyms), find(self._find_opposites)
        self.sisters = find(self._find_sisters)

    def _find_synonyms(self, word: str) -> list[str]:
        """Return WordNet's synonyms that the packaged table offers too, in the word's form."""
        part, wordnet = str(find_part(word)), open_wordnet()
        names = [name for name in wordnet.synonyms(word, part) if name.isalpha() and name.islower()]
        found = sorted({form for name in names for form in inflect_each(wordnet, name, word, part)})
        return [
            new
            for new in found
            if open_synonyms().score(word, new) >= FLOOR
            and not (how := relate(word, new)).same_base
            and not how.opposed
        ]

    def _find_opposites(self, word: str) -> list[str]:
        part, wordnet = str(find_part(word)), open_wordnet()
        bases = wordnet.bases(word, part)
        names = [new for base in bases for new in self._opposed.get(base, ()) if new.isalpha() and new.islower()]
        return sorted({form for name in names for form in inflect_each(wordnet, name, word, part)} - {word})

    def _find_sisters(self, word: str) -> list[str]:
        """Return words whose first sense is another one of the same kind: *trumpet* for *violin*."""
        found = {new for kind in _kinds(word) for new in self._by_kind[kind, *_form(word)]}
        return [new for new in sorted(found) if _is_other(word, new)]

    def others(self, word: str) -> list[str]:
        """Return some words of the same form and of another meaning."""
        some = self._by_form[_form(word)]
        start = int(place("others", word) * len(some))
        return list(islice((new for new in some[start:] + some[:start] if _is_other(word, new)), 5))


def _is_other(word: str, new: str) -> bool:
    return not open_relations().are_related(word, new) and open_synonyms().score(word, new) < FLOOR


@cache
def _form(word: str) -> tuple[Any, ...]:
    part = str(find_part(word))
    return part, find_marks(open_wordnet(), word, part)


def _kinds(word: str) -> frozenset[int]:
    """Return what the word's first sense is a kind of."""
    senses = open_wordnet().senses(word, find_part(word))
    return open_relations().kinds_of(senses[0]) if senses else frozenset()
