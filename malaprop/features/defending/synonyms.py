"""Sets of synonyms for smoothing: the words that may replace a word, and those that copies draw from.

Words within a cosine of each other, in counter-fitted space, are joined. Joined words form connected groups, most of
them small, one of them huge. There are two ways to deal with the huge one:

- `classes` (ours): the joints are made in order of falling cosine, and none that would make a group of more than `most`
  words. Groups are then apart: synonyms of a word are its group, and so is what copies draw from. A word of the same
  group changes nothing about the copies, so a certificate holds whatever number of words is changed.
- `nearest` (Ye et al. 2020): synonyms of a word are all it is joined with; copies draw from its group, or from the
  `most` nearest words of it where it is larger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
