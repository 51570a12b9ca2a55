"""Rules from counts alone: pointwise mutual information of words and labels (equation 2 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.rule_files import Rule
from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.papers.universal.rules.mine import readable, shards
from malaprop.papers.universal.rules.swaps import Swaps, WordNetSwaps, open_slots
from malaprop.papers.universal.rules.tally import RuleTally, Sums, add_sums

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Association:
    """PMI(word, label) in bits, with a lift: log2 p(word, label) / (p(word) p(label)) + lift, and 0 for unseen pairs.

    With plain PMI a pair that never occurs would stand level with chance. In the paper's Table 6 it does not: there a
    word that both labels share evenly has 5.478 bits, and one that a label has for itself 6.478, so that 0 is far below
    what is seen. The paper does not say where those bits come from. Here the lift is log2(labels x mean words a text),
    5.39 for the same reviews cut at blanks; it cancels wherever both words are seen under a label.
    """

    counts: dict[str, NDArray[np.int64]]  # of each word in lower case, under each label
    totals: NDArray[np.int64]  # words under each label
    texts: int
    lift: float

    @classmethod
    def of(cls, examples: Iterable[Example], labels: int, lift: float | None = None) -> Association:
        """Count the words in the fields that may change."""
        counts: dict[str, NDArray[np.int64]] = {}
        totals, texts = np.zeros(labels, np.int64), 0
        for shard in shards(examples):
            table = Words()
            for example in readable(shard)[0]:
                text = Text.of(example.fields, table)
                strings = text.strings
                texts += 1
                for slot in open_slots(text, example).tolist():
                    word = strings[slot].lower()
                    row = counts.get(word)
                    if row is None:
                        row = counts[word] = np.zeros(labels, np.int64)
                    row[example.label] += 1
                    totals[example.label] += 1
        if not totals.sum():
            raise DataError("the data holds no word to count; give texts with words")
        made = log2(max(2, labels) * int(totals.sum()) / texts) if lift is None else lift
        return cls(counts=counts, totals=totals, texts=texts, lift=made)

    def seen(self, word: str) -> NDArray[np.int64]:
        """Return how often the word occurs under each label."""
        found = self.counts.get(word.lower())
        return np.zeros(len(self.totals), np.int64) if found is None else found

    def pmi(self, word: str) -> Doubles:
        """Return the PMI of a word with each label, in bits, at least 0."""
        mine = self.seen(word).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.log2(mine * self.totals.sum() / (mine.sum() * self.totals)) + self.lift
        return np.where(mine > 0, np.maximum(bits, 0), 0.0)

    def salience(self, label: int, word: str, to: str) -> float:
        """Return the bits that a replacement takes from the label plus those that it gives to the others."""
        shift = self.pmi(word) - self.pmi(to)
        return float(2 * shift[label] - shift.sum())


def pairs(examples: Iterable[Example], swaps: Swaps) -> tuple[Sums, Sequence[str]]:
    """Count how often the texts of each label allow each replacement; also return the words of the keys."""
    whole = RuleTally()
    for shard in shards(examples):
        lexicon = Words()
        found = swaps.find(readable(shard)[0], Words(), lexicon)
        part = RuleTally(lexicon)
        for s in found:
            if s.variants.count:
                part.add(s.example.label, s.words, s.others, np.zeros(len(s.words)))
        whole.merge(add_sums([part.sums()]), lexicon.strings)
    return whole.sums(), whole.lexicon.strings


def pmi_rules(
    examples: Sequence[Example],
    names: Sequence[str],
    *,
    swaps: Swaps | None = None,
    lift: float | None = None,
    every: bool = False,
) -> list[Rule]:
    """Make rules from PMI, label by label, strongest first; without `every` only those with a salience above 0."""
    bits = Association.of(examples, len(names), lift)
    sums, strings = pairs(examples, WordNetSwaps() if swaps is None else swaps)
    if not len(sums.keys):
        raise DataError(f"no word of these {bits.texts} texts has a replacement; give more texts")
    cache: dict[str, Doubles] = {}
    made = []
    rows = zip(*(x.tolist() for x in (sums.labels, sums.words, sums.others, sums.many)), strict=True)
    for label, w, o, count in rows:
        word, to = strings[w], strings[o]
        before, after = (cache.setdefault(x, bits.pmi(x)) if x not in cache else cache[x] for x in (word, to))
        shift = before - after
        salience = float(2 * shift[label] - shift.sum())
        if every or salience > 0:
            rule = Rule(label=names[label], number=label, word=word, to=to, salience=salience, count=count)
            made.append(rule)
    return sorted(made, key=lambda r: (r.number or 0, -r.salience, r.word, r.to))
