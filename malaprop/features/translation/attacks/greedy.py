"""Seq2Sick without gradients: replaces word by word, keeping each replacement that brings the goal nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from malaprop.attacks.constraints.edits import levenshtein
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, best, ranked
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.features.translation.attacks.goals import TranslatedSource, TranslationGoal
from malaprop.features.translation.attacks.replacements import SourceReplacements
from malaprop.features.translation.attacks.sweep import Case, Count, SweepEnding, SweptText, attack_source

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
