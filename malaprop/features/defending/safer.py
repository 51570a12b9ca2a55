"""SAFER (Ye et al. 2020): votes over copies in which every word is drawn from its synonyms.

Sets of synonyms: words within a cosine of each other, in counter-fitted space, are joined. Joined words form connected
groups, most of them small, one of them huge. There are two ways to deal with the huge one:

- `classes` (ours): the joints are made in order of falling cosine, and none that would make a group of more than `most`
  words. Groups are then apart: synonyms of a word are its group, and so is what copies draw from. A word of the same
  group changes nothing about the copies, so a certificate holds whatever number of words is changed.
- `nearest` (Ye et al. 2020): synonyms of a word are all it is joined with; copies draw from its group, or from the
  `most` nearest words of it where it is larger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields
from malaprop.features.defending.lost_words import same_gaps
from malaprop.features.defending.smooth import CopiesVote, NoisyTraining, Vote
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Hooks

Kind = Literal["classes", "nearest"]
KINDS = ("classes", "nearest")
Joint = tuple[float, int, int]  # cosine and both words


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """The synonyms of each word, without itself; `find` gives the words that copies of it draw from, with itself."""

    synonyms: Mapping[str, frozenset[str]]
    find: Callable[[str], tuple[str, ...]]
    _drawn: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _overlaps: dict[str, float] = field(default_factory=dict)

    def drawn(self, word: str) -> tuple[str, ...]:
        """Return the words that copies of a word draw from, uniformly."""
        found = self._drawn.get(word)
        if found is None:
            found = self._drawn[word] = self.find(word) if word in self.synonyms else (word,)
        return found

    def overlap(self, word: str) -> float:
        """Return the least share of the copies that stays the same when a synonym replaces the word.

        Copies draw evenly, so this is |A and B| / max(|A|, |B|) for the two sets drawn from.
        """
        found = self._overlaps.get(word)
        if found is None:
            mine = set(self.drawn(word))
            others = [set(self.drawn(other)) for other in self.synonyms.get(word, ())]
            found = min((len(mine & other) / max(len(mine), len(other)) for other in others), default=1.0)
            self._overlaps[word] = found
        return found


@cache
def open_sets(kind: Kind = "classes", floor: float = 0.8, most: int = 20) -> Sets:
    """Open the sets over the counter-fitted vectors."""
    from malaprop.assets.vectors import open_neighbours

    near = open_neighbours("counter-fitted")
    passes = (near.cosines.astype(np.float32) >= floor) & near.whole[near.table] & near.whole[:, None]
    one, place = np.nonzero(passes)
    two = near.table[one, place].astype(np.int64)
    joints = zip(near.cosines[one, place].astype(float).tolist(), one.tolist(), two.tolist(), strict=True)
    return make_sets(near.vectors.words, joints, near.vectors.matrix, kind, most)


def make_sets(words: list[str], joints: Iterable[Joint], matrix: NDArray[np.float32], kind: Kind, most: int) -> Sets:
    """Build the sets of these words from the pairs that are joined."""
    ordered = sorted({(-cosine, min(a, b), max(a, b)) for cosine, a, b in joints})
    group = _group(len(words), ordered, most if kind == "classes" else len(words))
    members: dict[int, list[int]] = defaultdict(list)
    for word in range(len(words)):
        members[group[word]].append(word)
    if kind == "classes":
        sets = {words[w]: tuple(words[m] for m in own) for own in members.values() if len(own) > 1 for w in own}
        return Sets({word: frozenset(own) - {word} for word, own in sets.items()}, sets.__getitem__)
    linked: dict[int, set[int]] = defaultdict(set)
    for _, a, b in ordered:
        linked[a].add(b)
        linked[b].add(a)
    number = {words[w]: w for w in linked}
    return Sets(
        {words[w]: frozenset(words[o] for o in others) for w, others in linked.items()},
        lambda word: tuple(words[m] for m in _near(number[word], members[group[number[word]]], matrix, most)),
    )


def _near(word: int, group: list[int], matrix: NDArray[np.float32], most: int) -> list[int]:
    if len(group) <= most:
        return group
    own = np.asarray(group)
    cosine = matrix[own] @ matrix[word]
    cosine[own == word] = 2  # the word itself comes first, also before words as near
    return [group[i] for i in np.argsort(-cosine, kind="stable")[:most].tolist()]


def _group(words: int, joints: Iterable[tuple[float, int, int]], most: int) -> list[int]:
    """Return the group number of each word; a joint that would make a group larger than `most` is left out."""
    above, size = list(range(words)), [1] * words

    def top(word: int) -> int:
        while above[word] != word:
            above[word] = above[above[word]]
            word = above[word]
        return word

    for _, one, two in joints:
        a, b = top(one), top(two)
        if a != b and size[a] + size[b] <= most:
            above[b] = a
            size[a] += size[b]
    return [top(word) for word in range(words)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """The noise of SAFER: every word is drawn uniformly from a set near it (`malaprop.features.defending.safer`).

    If R words give way to synonyms, copies of both texts are the same with a chance of at least the product of the R
    words' overlaps, taking the R smallest: by no more than one minus that can the chance of a label differ.
    """

    sets: Kind = "classes"
    floor: float = 0.8  # cosine from which on words count as synonyms
    most: int = 20  # words that copies of a word draw from

    def __post_init__(self) -> None:
        if self.sets not in KINDS:
            raise SettingError(f"safer's sets are 'classes' or 'nearest', got {self.sets!r}")
        if not -1 <= self.floor <= 1 or self.most < 2:
            raise SettingError(
                f"safer needs a floor from -1 to 1 and sets of at least 2 words, got {self.floor} and {self.most}"
            )

    @property
    def known(self) -> Sets:
        return open_sets(self.sets, self.floor, self.most)

    @property
    def about(self) -> str:
        if self.sets == "classes":
            return f"d words, each by one of its class of at most {self.most} words (cosine {self.floor:g})"
        return f"d words, each by one with a cosine of at least {self.floor:g} to it"

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:  # noqa: ARG002
        lists = [self._ids(text, slot) for slot in range(text.slots)]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        slots = np.flatnonzero(sizes > 1)
        chosen = (rng.random((many, len(slots))) * sizes[slots]).astype(np.int64)
        flat = np.concatenate([lists[s] for s in slots.tolist()]) if len(slots) else np.empty(0, np.int64)
        first = np.cumsum(sizes[slots]) - sizes[slots]
        words = flat[first + chosen]
        rows, at = np.nonzero(words != text.words[slots])
        return [Variants(text, slots[at], words[rows, at], rows, many)]

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:  # noqa: ARG002
        """Return None: all but the shortest texts have too many copies."""
        return None

    def _ids(self, text: Text, slot: int) -> Ints:
        """Return the ids of the words that may be drawn for a slot, cached with the table.

        It depends on the word in lower case and on whether it begins or is written in capitals, on nothing else: so two
        words that share a set and a case have the same copies.
        """
        word = int(text.words[slot])
        key = ("safer", self, word)
        found: Ints | None = text.table.notes.get(key)
        if found is None:
            string = text.table.strings[word]
            drawn = self.known.drawn(string.lower())
            made = [recase(other, string) for other in drawn] if len(drawn) > 1 else [string]
            found = text.table.notes[key] = text.table.ids(made)
        return found

    def shift(self, text: Text, words: int) -> float:
        if words > self.limit(text):
            return 1.0
        overlaps = sorted(self.known.overlap(word.lower()) for word in self._changeable(text))
        return 1 - float(np.prod(overlaps[:words]))

    def limit(self, text: Text) -> int:
        return len(self._changeable(text))

    def _changeable(self, text: Text) -> list[str]:
        return [word for word in text.strings if word.lower() in self.known.synonyms]

    def distance(self, origin: Text, changed: Text) -> int | None:
        if not same_gaps(origin, changed):
            return None
        known, slots = self.known.synonyms, changed.changed(origin).tolist()
        pairs = [(origin.strings[slot], changed.strings[slot]) for slot in slots]
        fine = all(now.lower() in known.get(was.lower(), ()) and _case(was) == _case(now) for was, now in pairs)
        return len(slots) if fine else None

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:  # noqa: ARG002
        """Return the text with at most `words` words replaced by synonyms of theirs."""
        strings, known = text.strings, self.known.synonyms
        able = np.asarray([slot for slot, word in enumerate(strings) if word.lower() in known], np.int64)
        for slot in rng.permutation(able)[:words].tolist():
            others = sorted(known[strings[slot].lower()])
            text = text.put(slot, recase(others[int(rng.integers(len(others)))], strings[slot]))
        return text.values()


def _case(word: str) -> str:
    """Return a key of a word's case: equal keys are recased alike."""
    return recase("ab", word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Safer(CopiesVote):
    """The vote of copies with synonyms. Train the victim inside with the same noise: malaprop harden safer."""

    kind: ClassVar[str] = "safer"
    sets: Kind = "classes"
    floor: float = 0.8
    most: int = 20
    samples: int = 64
    vote: Vote = "majority"

    @property
    def noise(self) -> Swaps:
        return Swaps(sets=self.sets, floor=self.floor, most=self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappedTraining:
    """Training on texts whose words are drawn from their synonyms, afresh for every batch."""

    sets: Kind = "classes"
    floor: float = 0.8
    most: int = 20

    def __post_init__(self) -> None:
        Swaps(sets=self.sets, floor=self.floor, most=self.most)

    def __str__(self) -> str:
        return (
            f"trained on texts with words drawn from synonyms ({self.sets}, cosine {self.floor:g}, {self.most}; SAFER)"
        )

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        noise = Swaps(sets=self.sets, floor=self.floor, most=self.most)
        return NoisyTraining(job=job, data=data, noise=noise).hooks
