"""One natural typo a sentence (Belinkov and Bisk 2018): no search, a word and a misspelling drawn by the seed."""

from __future__ import annotations

from dataclasses import dataclass, field

from malaprop.attacks.translation.replacements import Replacements, Typos
from malaprop.attacks.translation.sweep import Case, Count, SweepEnding
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.models.translation import bleu

_ALL = 1_000  # misspellings of a word that may be drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTypo:
    """A sentence is broken where its BLEU falls; one without a word that people are known to misspell is skipped."""

    replacements: Replacements = field(default_factory=Typos)

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
            slot = slots[int(rng.integers(len(slots)))]
            final = origin.put(slot, able[slot][int(rng.integers(len(able[slot])))])
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
