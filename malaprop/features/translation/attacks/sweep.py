"""Attacks on the words of a source: GS-EC's sweep (Hsieh et al. 2019), natural typos, Seq2Sick without gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

import numpy as np

from malaprop.attacks.constraints.edits import levenshtein
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Floats, best, ranked
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.features.translation.attacks.goals import TranslatedSource, TranslationGoal
from malaprop.features.translation.attacks.replacements import SourceReplacements, Typos
from malaprop.features.translation.models.translator import Hint
from malaprop.frame.records.outcome import Queries, Status
from malaprop.models import bleu

_BATCH_SLACK = 1e-3  # log-probabilities of a batch differ by about 1e-5 in float32
_VERIFIED = 5  # successes that the attack tries to confirm before it goes on


class Case(NamedTuple):
    """A sentence under attack with its reference."""

    id: str
    source: str
    reference: str = ""


class SweepEnding(NamedTuple):
    """The result of an attack; after a failure `final` and `last` are the strongest attempt."""

    status: Status
    origin: Text | None = None
    final: Text | None = None
    first: str = ""
    last: str = ""
    spent: Queries = Queries()
    reason: str = ""
    distance: float | None = None  # of the encoder's states, L1


@dataclass(slots=True)
class Count:
    """Counts the queries of one sentence."""

    asked: int = 0
    verified: int = 0
    seen: set[str] = field(default_factory=set)

    def add(self, texts: Iterable[str]) -> list[str]:
        found = list(texts)
        self.asked += len(found)
        self.seen.update(found)
        return found

    @property
    def spent(self) -> Queries:
        return Queries(self.asked, len(self.seen), len(self.seen) + self.verified)


class SweptText(NamedTuple):
    """A text, its translation, and how near the translation is to the goal."""

    text: Text
    seen: TranslatedSource
    value: float


Walk = Callable[[Text, TranslatedSource, Count], Steps[SweepEnding]]


def attack_source(goal: TranslationGoal, walk: Walk, case: Case, origin: Text) -> Steps[SweepEnding]:
    """Translate a source and search from there with `walk`, unless there is nothing to change or to reach."""
    count = Count()
    if not origin.slots:
        return SweepEnding("error", reason="the source has no word to change")
    try:
        (output,) = yield Ask("translate", count.add([case.source]))
        first = TranslatedSource(case.source, output, case.reference)
        if why := goal.pointless(first):
            return SweepEnding("skipped", origin, None, output, reason=why, spent=count.spent)
        return (yield from walk(origin, first, count))
    except ServiceFailed as failed:
        return SweepEnding("error", reason=str(failed), spent=count.spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSweep:
    """Changes at most `words` words, one after the other.

    It changes the word whose zero vector brings the goal nearest; for a black-box model it leaves the word out instead.
    Of at most `sweep` replacements the victim's probabilities choose `tries` to translate; without probabilities it
    translates the first `tries`. Of those that succeed it takes the one with the nearest encoder state (L1).
    """

    goal: TranslationGoal
    replacements: SourceReplacements
    guided: bool
    words: int = 3
    sweep: int = 2000
    tries: int = 32

    def __post_init__(self) -> None:
        if min(self.words, self.sweep, self.tries) < 1:
            raise SettingError(f"words, sweep and tries must be 1 or more: {self.words}, {self.sweep}, {self.tries}")

    def steps(self, case: Case, table: Words, owner: int, *, seed: int) -> Steps[SweepEnding]:
        walk = partial(self._walk, generator(seed, case.id, "sweep"))
        return attack_source(self.goal, walk, case, Text.of({"source": case.source}, table, owner))

    def _walk(
        self, rng: np.random.Generator, origin: Text, first: TranslatedSource, count: Count
    ) -> Steps[SweepEnding]:
        output = first.output
        led = self.guided and self.goal.lead is not None
        held = SweptText(origin, first, -np.inf if led else self.goal.value(first, first))
        closed = [self.goal.holds(word) for word in origin.strings]
        while len(held.text.changed(origin)) < self.words and not all(closed):
            slot = yield from self._weakest(held, first, closed, count)
            closed[slot] = True
            found = yield from self._try_replacements(held, slot, first, rng, count)
            reached = [one for one in found if self.goal.met(one.seen, first)]
            verified = yield from self._confirm(reached, first, count)
            if verified is not None:
                won, distance = verified
                return SweepEnding("success", origin, won.text, output, won.seen.output, count.spent, "", distance)
            if found:
                at = best(np.asarray([one.value for one in found], np.float32), _BATCH_SLACK)
                held = found[at] if found[at].value > held.value + _BATCH_SLACK else held
        return SweepEnding("failed", origin, held.text, output, held.seen.output, count.spent)

    def _weakest(self, held: SweptText, first: TranslatedSource, closed: Sequence[bool], count: Count) -> Steps[int]:
        """Return the open slot whose word matters most to the goal."""
        slots = [slot for slot, shut in enumerate(closed) if not shut]
        if self.guided and self.goal.lead is not None:
            lead, spans = self.goal.lead, held.text.spans()
            seen = held.seen
            hint = Hint(seen.source, seen.output, lead.word, blanks=tuple(spans[slot] for slot in slots))
            count.add(f"{seen.source}\0{slot}" for slot in slots)
            (values,) = yield Ask("hint", [hint])
            values = lead.sign * values
        else:
            texts = [_string(held.text.drop(slot)) for slot in slots]
            outputs = yield Ask("translate", count.add(texts))
            shown = [TranslatedSource(t, out, first.reference) for t, out in zip(texts, outputs, strict=True)]
            values = np.asarray([self.goal.value(one, first) for one in shown], np.float32)
        return slots[best(values, _BATCH_SLACK)]

    def _try_replacements(
        self, held: SweptText, slot: int, first: TranslatedSource, rng: np.random.Generator, count: Count
    ) -> Steps[list[SweptText]]:
        """Translate replacements of one word, and return them with their values."""
        guided = self.guided and self.goal.lead is not None
        words = self.replacements.of(held.text.strings[slot], rng, self.sweep if guided else self.tries)
        if not words:
            return []
        parts = held.text.joined()
        head, tail = "".join(parts[: 2 * slot + 1]), "".join(parts[2 * slot + 2 :])
        values: Floats | None = None
        if guided and self.goal.lead is not None:
            lead, texts = self.goal.lead, [f"{head}{word}{tail}" for word in words]
            hint = Hint(held.seen.source, held.seen.output, lead.word, sources=tuple(count.add(texts)))
            (values,) = yield Ask("hint", [hint])
            values = lead.sign * values
            order = ranked(values, slack=_BATCH_SLACK)[: 2 * self.tries].tolist()
            words, values = [words[i] for i in order], values[order]
        kept = (yield from self._drop_trivial(words, count))[: self.tries]
        texts = count.add(f"{head}{words[i]}{tail}" for i in kept)
        outputs = yield Ask("translate", texts)
        made = [TranslatedSource(text, out, first.reference) for text, out in zip(texts, outputs, strict=True)]
        return [
            SweptText(
                held.text.put(slot, words[i]),
                seen,
                self.goal.value(seen, first) if values is None else float(values[i]),
            )
            for i, seen in zip(kept, made, strict=True)
        ]

    def _drop_trivial(self, words: Sequence[str], count: Count) -> Steps[list[int]]:
        """Return the numbers of the words whose own translation does not reach the goal."""
        if not self.goal.guarded:
            return list(range(len(words)))
        alone = yield Ask("translate", count.add(words))
        pairs = enumerate(zip(words, alone, strict=True))
        return [i for i, (word, out) in pairs if not self.goal.given_away(word, out)]

    def _confirm(
        self, reached: Sequence[SweptText], first: TranslatedSource, count: Count
    ) -> Steps[tuple[SweptText, float] | None]:
        """Return the nearest success that a fresh translation confirms."""
        if not reached:
            return None
        far = yield from self._distances([one.seen.source for one in reached], first.source)
        for i in ranked(-far, slack=1e-5)[:_VERIFIED].tolist():
            one = reached[i]
            (output,) = yield Ask("verify", [one.seen.source])
            count.verified += 1
            seen = one.seen._replace(output=output)
            if self.goal.met(seen, first):
                return one._replace(seen=seen), float(far[i])
        return None

    def _distances(self, texts: Sequence[str], origin: str) -> Steps[Floats]:
        """Return the mean absolute difference of encoder states, or of the strings for a victim without states."""
        if not self.guided:
            return np.asarray([1 - SequenceMatcher(None, origin, t, autojunk=False).ratio() for t in texts], np.float32)
        states = yield Ask("states", [origin, *texts])
        return np.asarray([np.abs(state - states[0]).mean() for state in states[1:]], np.float32)


def _string(text: Text) -> str:
    return text.values()[0]


_ALL = 1_000  # misspellings of a word that may be drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalTypos:
    """Misspells `typos` words of a sentence as people do (Belinkov and Bisk 2018), chosen at random by the seed.

    It succeeds where sentence BLEU falls; a sentence without a word of known misspellings is skipped.
    """

    typos: int = 1
    replacements: SourceReplacements = field(default_factory=Typos)

    def __post_init__(self) -> None:
        if self.typos < 1:
            raise SettingError(f"typos is how many words of a sentence are misspelt, at least 1, got {self.typos}")

    def steps(self, case: Case, table: Words, owner: int, *, seed: int) -> Steps[SweepEnding]:
        count = Count()
        origin = Text.of({"source": case.source}, table, owner)
        rng = generator(seed, case.id, "typo")
        able = {slot: self.replacements.of(word, rng, _ALL) for slot, word in enumerate(origin.strings)}
        slots = [slot for slot, wrong in able.items() if wrong]
        try:
            (first,) = yield Ask("translate", count.add([case.source]))
            if not slots:
                why = "no word of the source has a known misspelling"
                return SweepEnding("skipped", origin, None, first, reason=why, spent=count.spent)
            final = origin
            for _ in range(min(self.typos, len(slots))):
                slot = slots.pop(int(rng.integers(len(slots))))
                final = final.put(slot, able[slot][int(rng.integers(len(able[slot])))])
            (last,) = yield Ask("translate", count.add(final.values()))
            before, after = (bleu.sentence(out, case.reference) for out in (first, last))
            broken = after < before
            if broken:
                (last,) = yield Ask("verify", list(final.values()))
                count.verified += 1
                broken = bleu.sentence(last, case.reference) < before
        except ServiceFailed as failed:
            return SweepEnding("error", reason=str(failed), spent=count.spent)
        return SweepEnding("success" if broken else "failed", origin, final, first, last, count.spent)


_MOST = 1_000  # replacements of a word at most


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedySource:
    """Replaces the words of a source except stop words, in the order in which `unknown` instead moves the output most.

    It translates all replacements of a word, and keeps the one that brings the goal nearest if it improves, until the
    goal is met. The source changes by at most `edits` characters, and in at most `words` words (None: no bound).
    """

    goal: TranslationGoal
    replacements: SourceReplacements
    words: int | None = None
    edits: int = 30
    unknown: str = "[UNK]"

    def __post_init__(self) -> None:
        if self.edits < 1 or (self.words is not None and self.words < 1):
            raise SettingError(f"edits and words must be 1 or more, got {self.edits} and {self.words}")

    def steps(self, case: Case, table: Words, owner: int, *, seed: int) -> Steps[SweepEnding]:
        walk = partial(self._walk, generator(seed, case.id, "greedy"))
        return attack_source(self.goal, walk, case, Text.of({"source": case.source}, table, owner))

    def _walk(
        self, rng: np.random.Generator, origin: Text, first: TranslatedSource, count: Count
    ) -> Steps[SweepEnding]:
        output = first.output
        now = SweptText(origin, first, self.goal.value(first, first))
        for slot in (yield from self._order(origin, first, count)):
            if self.words is not None and len(now.text.changed(origin)) >= self.words:
                break
            words = self.replacements.of(origin.strings[slot], rng, _MOST)
            texts = [now.text.put(slot, word) for word in words]
            found = yield from self._translate(self._within(origin, texts), first, count)
            if not found:
                continue
            at = best(np.asarray([one.value for one in found], np.float32))
            if found[at].value <= now.value + SLACK:
                continue
            now = found[at]
            if self.goal.met(now.seen, first):
                (again,) = yield Ask("verify", [now.seen.source])
                count.verified += 1
                if self.goal.met(now.seen._replace(output=again), first):
                    return SweepEnding("success", origin, now.text, output, again, count.spent)
        return SweepEnding("failed", origin, now.text, output, now.seen.output, count.spent)

    def _order(self, origin: Text, first: TranslatedSource, count: Count) -> Steps[list[int]]:
        """Return the slots that may change, first the one whose removal brings the output nearest to the goal."""
        from malaprop.assets.lexicon import stop_words

        stay = stop_words()
        slots = [
            slot for slot, word in enumerate(origin.strings) if word.lower() not in stay and not self.goal.holds(word)
        ]
        found = yield from self._translate([origin.put(slot, self.unknown) for slot in slots], first, count)
        values = np.asarray([one.value for one in found], np.float32)
        return [slots[i] for i in ranked(values).tolist()] if slots else []

    def _translate(self, texts: Sequence[Text], first: TranslatedSource, count: Count) -> Steps[list[SweptText]]:
        """Translate the texts, and return them with their values."""
        if not texts:
            return []
        strings = count.add(text.values()[0] for text in texts)
        outputs = yield Ask("translate", strings)
        seen = [TranslatedSource(source, out, first.reference) for source, out in zip(strings, outputs, strict=True)]
        return [SweptText(text, one, self.goal.value(one, first)) for text, one in zip(texts, seen, strict=True)]

    def _within(self, origin: Text, texts: Sequence[Text]) -> list[Text]:
        """Return the texts that differ from the original by at most `edits` characters."""
        before = origin.strings
        return [
            text
            for text in texts
            if sum(levenshtein(before[s], text.strings[s]) for s in text.changed(origin).tolist()) <= self.edits
        ]
