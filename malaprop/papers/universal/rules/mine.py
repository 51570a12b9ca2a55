"""Mine word replacement rules: measure what each replacement does to the mean logits of several victims."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np

from malaprop.attacks.rule_files import Rule
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.capability import Capability, check
from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, RecordError, SettingError, VictimError, plain
from malaprop.core.example import Example
from malaprop.core.gradient import Aim, WordLook
from malaprop.core.score import Floats
from malaprop.core.text import Words, check_text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.data.matching import turn
from malaprop.engine.drive import drive
from malaprop.engine.service import GradientService, Scoring, Service
from malaprop.models.victims.ensemble import log_probabilities
from malaprop.papers.universal.rules.swaps import Swapped, Swaps, WordNetSwaps
from malaprop.papers.universal.rules.tally import Doubles, RuleTally, Shrinkage, Sums

METHODS = ("exact", "gradient")
SHARD = 512  # texts that share one table of words and are added up as one, wherever they are mined; a worker takes one
Method = Literal["exact", "gradient"]
_REST = ("texts", "swaps", "faults", "finding", "asking", "processor")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Mined:
    """The sums mined from a shard of texts or from all; `strings` are the words of the sums' keys."""

    sums: Sums
    strings: Sequence[str]
    texts: int = 0
    swaps: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)  # why texts were left out, and how many
    finding: float = 0.0  # seconds spent on finding replacements
    asking: float = 0.0  # seconds spent on victims
    processor: float = 0.0  # of which this process had the processor

    def to_arrays(self) -> dict[str, Any]:
        """Return arrays for an .npz file; all other values are JSON in the array `rest`."""
        rest = {name: getattr(self, name) for name in _REST}
        packed = np.frombuffer(json.dumps({**rest, "strings": list(self.strings)}).encode(), np.uint8)
        return {"rest": packed, **self.sums._asdict()}

    @classmethod
    def read(cls, path: Path) -> Mined:
        """Read a file of what `to_arrays` returned."""
        try:
            with np.load(path, allow_pickle=False) as held:
                rest: dict[str, Any] = json.loads(held["rest"].tobytes())
                return cls(sums=Sums(*(held[name] for name in Sums._fields)), **rest)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise RecordError(f"{path} holds no sums of rules ({error}); remove it, and it is made again") from None

    def rules(self, names: Sequence[str], shrink: float | None = None, *, every: bool = False) -> list[Rule]:
        """Return the rules label by label, strongest first; without `every` only those that lower the label.

        `shrink` None estimates the shrinkage from the sums.
        """
        shrinkage = Shrinkage.fit(self.sums) if shrink is None else Shrinkage(shrink)
        salience, mean = shrinkage.apply(self.sums), self.sums.mean
        order = np.lexsort((-salience, self.sums.labels))
        if not every:
            order = order[salience[order] > 0]
        labels, words, others = self.sums.labels, self.sums.words, self.sums.others
        made = [
            Rule(
                label=names[labels[i]] if labels[i] < len(names) else str(labels[i]),
                number=int(labels[i]),
                word=self.strings[words[i]],
                to=self.strings[others[i]],
                salience=float(salience[i]),
                count=int(self.sums.many[i]),
                mean=float(mean[i]),
            )
            for i in order.tolist()
        ]
        return sorted(made, key=lambda r: (r.number or 0, -r.salience, r.word, r.to))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Miner:
    """Measures every replacement of a text by Figure 2: the fall of the label's logit and the rise of the others'.

    Logits are those of the mean of `victims`. Probabilities determine logits up to a number added to all of them; here
    the logits of a text sum to zero. With two labels that changes no salience; with more labels salience differs from
    the paper's by a shift of all logits at once.
    `exact` scores every replaced text. `gradient` scores each text once, forward and backward, and takes the slope at
    the word times the difference of the two words' vectors; victims that offer no gradients, as long as others do, are
    scored exactly.
    """

    victims: tuple[Victim, ...]
    method: Method = "exact"
    swaps: Swaps = field(default_factory=WordNetSwaps)
    width: int = 128
    labels: tuple[str, ...] = ()  # of the data, in its order; not given: as the first victim that names them has them

    def __post_init__(self) -> None:
        if not self.victims:
            raise SettingError("mining needs at least one victim, got none; name one")
        if self.method not in METHODS:
            raise unknown("method of mining", self.method, METHODS)
        for victim in self.victims:
            check("rules mine", (Capability.SCORES,), victim.name, victim.offers)
        if self.method == "gradient" and not any(self.slopes):
            first = self.victims[0]
            check("rules mine (gradient)", (Capability.GRADIENTS,), first.name, first.offers)
        self._turns()

    def _turns(self) -> list[list[int] | None]:
        """Return for each victim its numbers of the data's labels; None if they are the same or it names no labels."""
        shared = same_labels(self.victims)
        return [turn("the data", self.labels or shared, v.label_names) for v in self.victims]

    @property
    def slopes(self) -> tuple[bool, ...]:
        """For each victim whether its gradients are used."""
        return tuple(self.method == "gradient" and Capability.GRADIENTS in v.offers for v in self.victims)

    def services(self) -> dict[str, Service]:
        """Return a service for each victim, by its number; each scores equal texts once."""
        made: dict[str, Service] = {}
        for number, (victim, slope) in enumerate(zip(self.victims, self.slopes, strict=True)):
            scoring = Scoring(victim)
            made[str(number)] = GradientService(victim.parts[Capability.GRADIENTS], scoring) if slope else scoring
        return made

    def gather(self, examples: Sequence[Example], services: Mapping[str, Service] | None = None) -> Mined:
        """Measure all replacements of one shard of texts and return the sums."""
        known = self.services() if services is None else services
        table, lexicon, began = Words(), Words(), perf_counter()
        good, faults = readable(examples)
        found = self.swaps.find(good, table, lexicon)
        ready, busy = perf_counter(), process_time()
        changes = dict(drive(self._jobs(found), known, width=self.width))
        tally = RuleTally(lexicon)
        for place, swapped in enumerate(found):
            change = changes[place]
            if isinstance(change, str):
                faults[change] += 1
            elif len(change):
                tally.add(swapped.example.label, swapped.words, swapped.others, change)
        return Mined(
            sums=tally.sums(),
            strings=tuple(lexicon.strings),
            texts=len(examples),
            swaps=sum(s.variants.count for s in found),
            faults=dict(faults),
            finding=ready - began,
            asking=perf_counter() - ready,
            processor=process_time() - busy,
        )

    def _jobs(self, found: Sequence[Swapped]) -> Iterator[tuple[int, Steps[Doubles | str]]]:
        slopes, turns = self.slopes, self._turns()
        for place, swapped in enumerate(found):
            label = swapped.example.label
            labels = [label if turned is None or label >= len(turned) else turned[label] for turned in turns]
            yield place, _weigh(swapped, slopes, labels)


def readable(examples: Sequence[Example]) -> tuple[list[Example], Counter[str]]:
    """Return the examples that can be read as texts, and count the reasons why others cannot."""
    good: list[Example] = []
    faults: Counter[str] = Counter()
    for example in examples:
        try:
            for value in example.fields.values():
                check_text(value)
            good.append(example)
        except DataError as error:
            faults[plain(error)] += 1
    return good, faults


def _weigh(swapped: Swapped, slopes: Sequence[bool], labels: Sequence[int]) -> Steps[Doubles | str]:
    """Return the change in the mean of the victims for each replacement, or the reason why a victim failed.

    `labels` are the text's label in the terms of each victim.
    """
    if not swapped.variants.count:
        return np.empty(0)
    total, scores = np.zeros(swapped.variants.count), set()
    try:
        for number, (slope, label) in enumerate(zip(slopes, labels, strict=True)):
            many, change = yield from (_slopes if slope else _exact)(swapped, str(number), label)
            total += change
            scores.add(many)
    except ServiceFailed as failure:
        return str(failure)
    if len(scores) > 1:
        raise VictimError(f"the victims must have the same labels, got {min(scores)} and {max(scores)} scores a text")
    return np.asarray(total / len(slopes))


def _exact(swapped: Swapped, service: str, label: int) -> Steps[tuple[int, Doubles]]:
    before, after = yield Ask(service, [Variants.itself(swapped.text), swapped.variants])
    return before.shape[1], 2 * (_logits(before, label) - _logits(after, label))


def _slopes(swapped: Swapped, service: str, label: int) -> Steps[tuple[int, Doubles]]:
    """Estimate the changes to first order; a word that the victim does not read changes nothing."""
    (seen,) = yield Ask(service, [WordLook(variants=swapped.variants, aim=Aim(label=label, spread=True))])
    return len(seen.answer), np.where(np.isfinite(seen.gains), seen.gains, 0).astype(np.float64)


def _logits(scores: Floats, label: int) -> Doubles:
    """Return the label's logit, with all logits of a text summing to zero."""
    if not 0 <= label < scores.shape[1]:
        raise DataError(f"the data has a label {label}, the victims score {scores.shape[1]}; use data they know")
    logs = log_probabilities(scores)
    return np.asarray(logs[:, label] - logs.mean(1))


def same_labels(victims: Sequence[Victim]) -> tuple[str, ...]:
    """Return the label names that all victims share, in the order of the first victim with names; empty if none has.

    Others may have the same names in another order.
    """
    counts = {v.labels for v in victims if v.labels is not None}
    if len(counts) > 1:
        each = ", ".join(f"{v.name} {v.labels or '?'}" for v in victims)
        raise VictimError(f"the victims must have the same labels, got {each}; leave out the odd one")
    named = [(v.name, v.label_names) for v in victims]
    found = [(name, names) for name, names in named if names]
    for name, names in found:
        if sorted(n.casefold() for n in names) != sorted(n.casefold() for n in found[0][1]):
            raise VictimError(
                f"the victims must have the same labels, got {', '.join(found[0][1])} from "
                f"{found[0][0]} and {', '.join(names)} from {name}; leave out the odd one"
            )
    return found[0][1] if found else ()


def shards(examples: Iterable[Example], size: int = SHARD) -> Iterator[list[Example]]:
    rest = iter(examples)
    while part := list(islice(rest, size)):
        yield part


def add_up(parts: Iterable[Mined]) -> Mined:
    """Add up shards in the order given."""
    tally = RuleTally()
    faults: Counter[str] = Counter()
    whole = Mined(sums=tally.sums(), strings=())
    for part in parts:
        tally.merge(part.sums, part.strings)
        faults.update(part.faults)
        whole = replace(
            whole,
            texts=whole.texts + part.texts,
            swaps=whole.swaps + part.swaps,
            finding=whole.finding + part.finding,
            asking=whole.asking + part.asking,
            processor=whole.processor + part.processor,
        )
    return replace(whole, sums=tally.sums(), strings=tally.lexicon.strings, faults=dict(faults))


def mine(miner: Miner, examples: Iterable[Example]) -> Mined:
    """Mine all rules of these examples; raise if there is none."""
    services = miner.services()
    return need_some(add_up(miner.gather(shard, services) for shard in shards(examples)))


def need_some(mined: Mined) -> Mined:
    """Return what was mined; raise if no text could be measured or no word has a replacement."""
    left_out = sum(mined.faults.values())
    if left_out and left_out == mined.texts:
        reason, count = Counter(mined.faults).most_common(1)[0]
        raise VictimError(f"none of {mined.texts} texts could be measured ({count} of them: {reason})")
    if not len(mined.sums.keys):
        raise DataError(f"no word of these {mined.texts} texts has a replacement; give more texts")
    return mined
