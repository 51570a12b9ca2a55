"""Relate rules to the data they come from: how words go with labels, and texts that contain the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappush, heapreplace

from malaprop.attacks.rule_files import Rule, Rules
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.frame.records.summary import Rate
from malaprop.papers.universal.rules.mine import readable, shards
from malaprop.papers.universal.rules.pmi import Association
from malaprop.papers.universal.rules.record import DiagnosisRecord, LabelRules, RuleLine, Sighting
from malaprop.papers.universal.rules.swaps import open_slots

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
