"""What differs between two texts: words replaced, dropped and put in, described by numbers that a judge weighs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from malaprop.assets.inflection import find_marks
from malaprop.assets.lexicon import stop_words
from malaprop.assets.relations import open_relations
from malaprop.assets.synonyms import FLOOR, open_synonyms
from malaprop.core.score import Floats

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|\S")
_SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]['\")]))\s+|<br ?/?>|\n+")
LONGEST = 40  # words of a text that is judged as a whole; a longer one is judged by its sentences
_NEGATIONS = frozenset(
    {"no", "not", "n't", "never", "neither", "nor", "nobody", "nothing", "nowhere", "none", "cannot", "without"}
    | {"hardly", "barely", "scarcely", "lack", "lacks", "lacking", "lacked", "absence", "fail", "fails", "failed"}
)
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDERED = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS = {word: str(n) for n, word in enumerate(_COUNTED)} | {word: str(n) for n, word in enumerate(_ORDERED, 1)}
_SUFFIX = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_REMEMBERED = 1 << 14
_LETTERS = 200  # of a word that are compared; the time grows with their square
_WINDOW = 1000  # words or sentences that are aligned at a time, for the same reason


class Word(NamedTuple):
    """A word or a mark of a text in lower case, with its place."""

    lower: str
    start: int
    end: int


class Change(NamedTuple):
    """A word of the original and the word in its place; one of the two is None where a word went or came."""

    old: Word | None
    new: Word | None


def find_words(text: str) -> list[Word]:
    """Return the words and marks of a text; a contraction gives two: do, n't."""
    out: list[Word] = []
    for found in _WORD.finditer(text):
        lower, start, end = found[0].lower().replace("\u2019", "'"), found.start(), found.end()
        if lower.endswith("n't") and len(lower) > 3:
            stem = {"ca": "can", "wo": "will"}.get(lower[:-3], lower[:-3])
            out += [Word(stem, start, end - 3), Word("n't", end - 3, end)]
        else:
            out.append(Word(lower, start, end))
    return out


def find_changes(old: Sequence[Word], new: Sequence[Word]) -> list[Change]:
    """Align two texts by their words and return what differs; words that only moved are left out."""
    matcher = SequenceMatcher(None, [w.lower for w in old], [w.lower for w in new], autojunk=False)
    out: list[Change] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        here, there = [w for w in old[i:j] if _counts(w)], [w for w in new[k:m] if _counts(w)]
        if len(here) == len(there):
            out += [Change(*pair) for pair in zip(here, there, strict=True)]
        else:
            out += _match(here, there)
    return _without_moves(out)


def _counts(word: Word) -> bool:
    return word.lower[0].isalnum() or word.lower == "n't"


def _match(here: list[Word], there: list[Word]) -> Iterator[Change]:
    """Pair the words of two stretches of different lengths by their spelling and meaning, the likeliest first."""
    pairs = sorted(
        ((_alike(a.lower, b.lower), i, j) for i, a in enumerate(here) for j, b in enumerate(there)), reverse=True
    )
    used: tuple[set[int], set[int]] = (set(), set())
    for close, i, j in pairs:
        if close > 0.3 and i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            yield Change(here[i], there[j])
    rest = [w for i, w in enumerate(here) if i not in used[0]], [w for j, w in enumerate(there) if j not in used[1]]
    content = [[w for w in side if w.lower not in stop_words()] for side in rest]
    if len(content[0]) == len(content[1]):  # what is left stands in the order of the sentence
        yield from (Change(a, b) for a, b in zip(*content, strict=True))
        rest = [w for w in rest[0] if w not in content[0]], [w for w in rest[1] if w not in content[1]]
    yield from (Change(w, None) for w in rest[0])
    yield from (Change(None, w) for w in rest[1])


def _without_moves(changes: list[Change]) -> list[Change]:
    gone = {c.old.lower for c in changes if c.old and not c.new}
    came = {c.new.lower for c in changes if c.new and not c.old}
    moved = gone & came
    return [c for c in changes if (c.old and c.new) or not any(w and w.lower in moved for w in c)]


@lru_cache(_REMEMBERED)
def _alike(one: str, two: str) -> float:
    if one == two:
        return 1.0
    close = _compare_letters(one, two)
    if one in stop_words() or two in stop_words():
        return close if one in stop_words() and two in stop_words() else 0.0
    known = relate(one, two)
    return max(close if close > 0.6 else 0.0, 0.9 * known.synonym, 0.8 * known.opposed)


def _compare_letters(one: str, two: str) -> float:
    """Return the share of letters that two words have in common, by their beginnings: a blob may have a million."""
    return SequenceMatcher(None, one[:_LETTERS], two[:_LETTERS], autojunk=False).ratio()


class Relation(NamedTuple):
    """How two words are related by WordNet."""

    synonym: bool
    first: float  # how early a sense of both stands among each one's senses: 1 for first in both, 0 for none
    related: bool
    opposed: bool
    same_base: bool
    same_part: bool
    other_form: bool  # both can be the same part of speech, but in none the same form: film and movies, go and went


@lru_cache(_REMEMBERED)
def relate(one: str, two: str) -> Relation:
    """Look two words in lower case up in WordNet."""
    relations = open_relations()
    wordnet, first = relations.wordnet, 0.0
    for part in "nvar":
        here, there = wordnet.senses(one, part), wordnet.senses(two, part)
        first = max([first, *(1 / (1 + here.index(s) + 0.5 * there.index(s)) for s in here if s in there)])
    parts = sorted(wordnet.parts(one) & wordnet.parts(two))
    marks = [(find_marks(wordnet, one, part), find_marks(wordnet, two, part)) for part in parts]
    return Relation(
        synonym=first > 0,
        first=first,
        related=relations.are_related(one, two),
        opposed=relations.are_opposed(one, two),
        same_base=any(not set(wordnet.bases(one, p)).isdisjoint(wordnet.bases(two, p)) for p in "nvar"),
        same_part=bool(parts),
        other_form=bool(marks) and all(here.isdisjoint(there) for here, there in marks),
    )


def has_unlikely_synonym(original: str, changed: str) -> bool:
    """Whether the texts differ word for word, and some new word is no synonym that the packaged table would offer.

    Other forms of the same word, the same number in other signs, words of grammar and words that nothing knows, such as
    misspellings, are left to the judge.
    """
    old, new = find_words(original), find_words(changed)
    if len(old) != len(new):
        return False
    pairs = [(a.lower, b.lower) for a, b in zip(old, new, strict=True) if a.lower != b.lower]
    return any(_are_content(a, b) and open_synonyms().score(a, b) < FLOOR for a, b in pairs)


def _are_content(one: str, two: str) -> bool:
    """Whether both are known content words, and not two forms of one word or two ways to write a number."""
    if not (is_known(one) and is_known(two)) or stop_words() & {one, two}:
        return False
    return not relate(one, two).same_base and (_number(one) is None or _number(one) != _number(two))


def is_known(word: str) -> bool:
    """Whether WordNet or the list of stop words has the word."""
    return word in stop_words() or word.isdigit() or bool(open_relations().wordnet.marks(word))


def _number(word: str) -> str | None:
    found = _SUFFIX.match(word)
    plain = found[1] if found else _NUMBERS.get(word, word)
    return plain if plain[0].isdigit() else None


PAIR = (
    "spelling", "synonym", "first", "related", "opposed", "same_base", "part", "typo", "unknown", "polarity", "flip",
    "weaker", "function", "number", "name", "form",
)  # fmt: skip
_ALIKE = ("spelling", "synonym", "first", "related", "same_base", "part")  # the numbers of which more is better
_GOOD = [PAIR.index(name) for name in _ALIKE]


def _describe_pair(old: Word, new: Word, polarity: Mapping[str, float], text: str) -> list[float]:
    a, b = old.lower, new.lower
    found, close = relate(a, b), _compare_letters(a, b)
    numbers = _number(a), _number(b)
    same_number = numbers != (None, None) and numbers[0] == numbers[1]
    known = is_known(a), is_known(b)
    here, there = polarity.get(a, 0.0), polarity.get(b, 0.0)
    return [
        close,
        float(found.synonym or same_number),
        1.0 if same_number else found.first,
        float(found.related or same_number),
        float(found.opposed),
        float(found.same_base),
        float(found.same_part),
        float(close > 0.6 and known[0] != known[1]),
        float(not known[1]),
        abs(here - there),
        float(here * there < 0) * min(abs(here), abs(there)),
        max(0.0, abs(here) - abs(there)),
        float(a in stop_words() or b in stop_words()),
        float(numbers[0] != numbers[1]),
        float(text[old.start].isupper() and old.start > 0),
        float(found.other_form),
    ]


NAMES = (
    "words", "replaced", "share", "gone", "came", "gone_content", "came_content", "negations", "digits", "polarity_old",
    "polarity_shift", "polarity_flip", "unrelated", "opposed", "contain_old", "contain_new", "same",
    *(f"{how}_{name}" for how in ("worst", "mean") for name in PAIR),
)  # fmt: skip


def describe(original: str, changed: str, polarity: Mapping[str, float]) -> Floats:
    """Return the numbers of NAMES for two texts; `polarity` says how positive or negative a word is in lower case."""
    read = find_words(original), find_words(changed)
    changes = find_changes(*read)
    rows = [_describe_pair(c.old, c.new, polarity, original) for c in changes if c.old and c.new]
    table = np.asarray(rows, np.float32).reshape(len(rows), len(PAIR))
    return np.concatenate([_describe_texts(read, changes, table, polarity), _gather(table)])


def _gather(table: Floats) -> Floats:
    """Return of several replaced words the worst of each number and the mean; of none what a word and itself give."""
    if not len(table):
        neutral = np.zeros(len(PAIR), np.float32)
        neutral[_GOOD] = 1
        return np.concatenate([neutral, neutral])
    worst = table.max(0)
    worst[_GOOD] = table[:, _GOOD].min(0)
    return np.concatenate([worst, table.mean(0)])


def _describe_texts(
    read: tuple[list[Word], list[Word]], changes: list[Change], table: Floats, polarity: Mapping[str, float]
) -> Floats:
    stops = stop_words()
    gone = [c.old.lower for c in changes if c.old and not c.new]
    came = [c.new.lower for c in changes if c.new and not c.old]
    negated = [sum(w.lower in _NEGATIONS for w in side) for side in read]
    digits = [sorted(filter(None, (_number(w.lower) for w in side))) for side in read]
    sums = [sum(polarity.get(w.lower, 0.0) for w in side) for side in read]
    sets = [{w.lower for w in side if w.lower not in stops and _counts(w)} for side in read]
    common = len(sets[0] & sets[1])
    at = {name: table[:, i] for i, name in enumerate(PAIR)}
    unrelated = (at["related"] == 0) & (at["typo"] == 0) & (at["same_base"] == 0) & (at["function"] == 0)
    count = max(1, sum(_counts(w) for w in read[0]))
    numbers = [
        np.log(count),
        len(table),
        len(table) / count,
        len(gone),
        len(came),
        sum(w not in stops for w in gone),
        sum(w not in stops for w in came),
        abs(negated[0] - negated[1]),
        digits[0] != digits[1],
        sums[0],
        abs(sums[0] - sums[1]),
        (sums[0] * sums[1] < 0) * min(abs(sums[0]), abs(sums[1])),
        unrelated.sum(),
        at["opposed"].sum(),
        common / max(1, len(sets[0])),
        common / max(1, len(sets[1])),
        not changes,
    ]
    return np.asarray(numbers, np.float32)


def split_sentences(text: str) -> list[str]:
    """Return a text's sentences."""
    return list(filter(None, map(str.strip, _SENTENCE.split(text)))) or [text]


def pair_sentences(original: str, changed: str) -> list[tuple[str, str]]:
    """Return the pairs of stretches to judge: the two texts as they are, or the changed stretches of long ones."""
    if max(len(original.split()), len(changed.split())) <= LONGEST:
        return [(original, changed)]
    old, new = split_sentences(original), split_sentences(changed)
    out: list[tuple[str, str]] = []
    for kind, i, j, k, m in _align(old, new):
        if kind != "equal":
            last = max(0, min(j - i, m - k) - 1)  # of different numbers the last one has all that is left
            out += zip(old[i : i + last], new[k : k + last], strict=True)
            out.append((" ".join(old[i + last : j]), " ".join(new[k + last : m])))
    cut = (pair for stretch in out for pair in _cut(*(side.split() for side in stretch)))
    return [(a, b) for a, b in cut if a != b] or [(original, original)]


def _align(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the equal and the differing stretches of two lists, as `SequenceMatcher.get_opcodes` does.

    Of lists over _WINDOW a window is aligned at a time, each from the end of the last equal stretch on.
    """
    i = k = 0
    while True:
        last = max(len(old) - i, len(new) - k) <= _WINDOW
        blocks = SequenceMatcher(None, old[i : i + _WINDOW], new[k : k + _WINDOW], autojunk=False).get_opcodes()
        if not last and len(blocks) > 1 and blocks[-1][0] != "equal":
            blocks.pop()  # what stands there may be in the next window of the other list
        yield from ((kind, i + a, i + b, k + c, k + d) for kind, a, b, c, d in blocks)
        if last:
            return
        _, _, a, _, b = blocks[-1]
        i, k = i + a, k + b


def _cut(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Cut a pair after every LONGEST words of the original, the changed one where the same words stand."""
    places = [*range(LONGEST, max(len(old), 1), LONGEST)]
    there = places
    if len(old) != len(new):
        blocks = list(_align(old, new))
        there = [next(min(k + at - i, m) for _, i, j, k, m in blocks if i <= at < j) for at in places]
    here = zip([0, *places], [*places, len(old)], strict=True)
    others = zip([0, *there], [*there, len(new)], strict=True)
    return [(" ".join(old[i:j]), " ".join(new[k:m])) for (i, j), (k, m) in zip(here, others, strict=True)]
