"""NGrams: a small language model of words, as a yardstick of fluency that needs no asset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from malaprop.models.tokens.vocab import tokens

_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
_SHARES = (0.5, 0.35, 0.14, 0.01)  # of three words, two, one, and of any word alike


class NGrams:
    """Three words, two, one and none, mixed in fixed shares; words seen once count as unknown too.

    A perplexity by it compares sentences like those it was counted from; it is no measure between vocabularies.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        rows = [tokens(sentence) for sentence in sentences]
        seen = Counter(word for row in rows for word in row)
        self.known = {word for word, count in seen.items() if count > 1}
        self.counts: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter(), Counter())
        for row in rows:
            for gram in self._grams(row):
                for size in range(4):
                    self.counts[size][gram[3 - size :]] += 1
        self.before: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter())
        for size in (1, 2, 3):
            for whole, count in self.counts[size].items():
                self.before[size - 1][whole[:-1]] += count

    def _grams(self, row: Sequence[str]) -> Iterable[tuple[str, str, str]]:
        words = [_START, _START, *(word if word in self.known else _UNKNOWN for word in row), _END]
        return zip(words, words[1:], words[2:], strict=False)

    def loss(self, sentence: str) -> tuple[float, int]:
        """Summed loss and number of words, the end counted as one."""
        total, many = 0.0, 0
        for gram in self._grams(tokens(sentence)):
            total -= math.log(self._chance(gram))
            many += 1
        return total, many

    def _chance(self, gram: tuple[str, str, str]) -> float:
        """Contexts never seen give their share to the shorter ones."""
        chance, share = 0.0, 0.0
        for size, weight in zip((3, 2, 1), _SHARES, strict=False):
            if context := self.before[size - 1][gram[3 - size : 2]]:
                chance += weight * self.counts[size][gram[3 - size :]] / context
                share += weight
        return (chance + _SHARES[3] / (len(self.known) + 2)) / (share + _SHARES[3])

    def perplexity(self, sentences: Sequence[str]) -> float:
        """exp of the mean loss a word over all sentences; infinite without one."""
        losses = [self.loss(sentence) for sentence in sentences]
        many = sum(count for _, count in losses)
        return math.exp(sum(loss for loss, _ in losses) / many) if many else math.inf
