"""Which words translate which: IBM's first model, from pairs of sentences alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from malaprop.core.errors import DataError
from malaprop.models.tokens.vocab import tokens

_MANY = 100  # pairs, from which on shares of them tell something
_REST = 0.1  # a word that becomes common words nine times in ten has no translation to look for


def translations(
    pairs: Sequence[tuple[str, str]],
    words: frozenset[str],
    *,
    rounds: int = 6,
    floor: float = 0.08,
    least: int = 2,
    common: float = 0.1,
) -> dict[str, frozenset[str]]:
    """For each of `words`, lower-cased, the target words that it becomes, each at least a share `floor` of the times.

    A word counts where it is in at least `least` pairs, and so do the words it becomes; marks, and words that more
    than a share `common` of the targets hold, are no translation of anything. Each source has an empty word
    besides, which takes what nothing in the source says.
    """
    if not pairs:
        raise DataError("no pairs of source and target to count translations from")
    left, right = _Numbers(), _Numbers()
    ones, twos, groups, many = [], [], [], 0
    for source, target in pairs:
        a = np.asarray([left[word] for word in ("", *dict.fromkeys(tokens(source)))], np.int64)
        b = np.asarray([right[word] for word in dict.fromkeys(tokens(target))], np.int64)
        ones.append(np.tile(a, len(b)))
        twos.append(np.repeat(b, len(a)))
        groups.append(np.repeat(np.arange(many, many + len(b)), len(a)))  # one group a target word of a pair
        many += len(b)
    if not many:
        raise DataError("the targets hold no word to count translations from")
    one, two, group = np.concatenate(ones), np.concatenate(twos), np.concatenate(groups)
    key, inverse = np.unique(one * len(right) + two, return_inverse=True)
    chance = np.ones(len(key))
    for _ in range(rounds):
        share = chance[inverse]
        share = share / np.bincount(group, share)[group]
        counts = np.bincount(inverse, share)
        chance = counts / np.bincount(key // len(right), counts, minlength=len(left))[key // len(right)]
    often = np.bincount(two[np.unique(group, return_index=True)[1]], minlength=len(right))  # targets with each word
    limit = common * len(pairs) if len(pairs) >= _MANY else len(pairs)
    said = np.asarray([word.isalpha() for word in right.words]) & (often <= limit)
    chance = np.where(said[key % len(right)] & (np.bincount(inverse) >= least), chance, 0.0)
    whole = np.bincount(key // len(right), chance, minlength=len(left))[key // len(right)]
    out: dict[str, set[str]] = {}
    for pair in key[(chance > 0) & (chance >= floor * whole) & (whole >= _REST)].tolist():
        if (word := left.words[pair // len(right)]) in words:
            out.setdefault(word, set()).add(right.words[pair % len(right)])
    return {word: frozenset(found) for word, found in sorted(out.items())}


class _Numbers(dict[str, int]):
    """A number for each word, in the order they are first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = len(self.words)
        self.words.append(word)
        return self[word]
