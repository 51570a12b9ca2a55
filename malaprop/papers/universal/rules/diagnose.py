"""Rules and counts: rules from pointwise mutual information (equation 2), and rules beside the data they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace
from math import log2

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.rule_files import Rule, Rules
from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.frame.records.summary import Rate
from malaprop.papers.universal.rules.mine import readable, shards
from malaprop.papers.universal.rules.record import DiagnosisRecord, LabelRules, RuleLine, Sighting
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


WEIGHED = 100  # of a label's strongest rules, one a word, those whose bits are counted


def strongest(rules: Iterable[Rule], least: int = 0) -> dict[str, list[Rule]]:
    """Return for each label the strongest rule of each word, strongest first, without counts below `least`."""
    best: dict[tuple[str, str], Rule] = {}
    for rule in rules:
        if rule.salience <= 0 or rule.count < least:
            continue
        now = best.get((rule.label, rule.word))
        if now is None or (-rule.salience, rule.to) < (-now.salience, now.to):
            best[rule.label, rule.word] = rule
    out: dict[str, list[Rule]] = {}
    for rule in sorted(best.values(), key=lambda r: (-r.salience, r.word)):
        out.setdefault(rule.label, []).append(rule)
    return out


def diagnose(
    rules: Rules,
    examples: Sequence[Example],
    names: Sequence[str],
    *,
    data: str,
    top: int = 10,
    texts: int = 2,
    least: int = 0,
) -> DiagnosisRecord:
    """Build the record: the `top` strongest rules of each label, their words' PMI, and `texts` texts for each rule."""
    numbers = rules.numbers(names)
    bits = Association.of(examples, len(names))
    ordered = strongest(rules, least)
    shown = {label: ordered.get(label, [])[:top] for label in numbers}
    wanted = {(numbers[label], rule.word) for label, lines in shown.items() for rule in lines}
    sightings = _sightings(examples, wanted, texts)
    found = []
    for label in sorted(numbers, key=numbers.__getitem__):
        number = numbers[label]
        weighed = [bits.pmi(r.to) - bits.pmi(r.word) for r in ordered.get(label, [])[:WEIGHED]]
        others = [sum(shift) - shift[number] for shift in weighed]
        found.append(
            LabelRules(
                label=names[number] if number < len(names) else label,
                rules=sum(rule.label == label for rule in rules),
                falls=Rate(sum(bool(shift[number] < 0) for shift in weighed), len(weighed)),
                rises=Rate(sum(bool(other > 0) for other in others), len(weighed)),
                lines=tuple(_line(rule, bits, sightings.get((number, rule.word), ())) for rule in shown[label]),
            )
        )
    return DiagnosisRecord(
        rules=rules.source,
        data=data,
        texts=bits.texts,
        labels=tuple(names),
        found=tuple(found),
        lacking=tuple(label for label in rules.labels if label not in numbers),
    )


def _line(rule: Rule, bits: Association, sightings: Sequence[Sighting]) -> RuleLine:
    before, after = bits.pmi(rule.word).tolist(), bits.pmi(rule.to).tolist()
    had, has = bits.seen(rule.word).tolist(), bits.seen(rule.to).tolist()
    return RuleLine(
        word=rule.word,
        to=rule.to,
        salience=rule.salience,
        count=rule.count,
        pmi=tuple((round(a, 3), round(b, 3)) for a, b in zip(before, after, strict=True)),
        seen=tuple(zip(had, has, strict=True)),
        sightings=tuple(sightings),
    )


def _sightings(
    examples: Iterable[Example], wanted: set[tuple[int, str]], most: int
) -> dict[tuple[int, str], list[Sighting]]:
    """Find the shortest texts of a label that contain a word, and where the word stands first in each."""
    heaps: dict[tuple[int, str], list[tuple[int, str, Sighting]]] = {}
    for shard in shards(examples) if most else ():
        table = Words()
        for example in readable(shard)[0]:
            text = Text.of(example.fields, table)
            strings, spans, values = text.strings, text.spans(), text.values()
            field_of = text.field_of_slots()
            seen: set[str] = set()
            for slot in open_slots(text, example).tolist():
                key = (example.label, strings[slot].lower())
                if key not in wanted or key[1] in seen:
                    continue
                seen.add(key[1])
                value = values[int(field_of[slot])]
                item = (-len(value), example.id, Sighting(text=value, start=spans[slot][0], end=spans[slot][1]))
                heap = heaps.setdefault(key, [])
                if len(heap) < most:
                    heappush(heap, item)
                elif item[:2] > heap[0][:2]:
                    heapreplace(heap, item)
    return {key: [item[2] for item in sorted(heap, key=lambda i: (-i[0], i[1]))] for key, heap in heaps.items()}
