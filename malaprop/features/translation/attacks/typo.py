"""Natural typos (Belinkov and Bisk 2018): no search, words of a sentence and their misspellings drawn by the seed."""

from __future__ import annotations

from dataclasses import dataclass, field

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.features.translation.attacks.replacements import SourceReplacements, Typos
from malaprop.features.translation.attacks.sweep import Case, Count, SweepEnding
from malaprop.models import bleu

_ALL = 1_000  # misspellings of a word that may be drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalTypos:
    """Misspells `typos` words of a sentence, one if nobody says more, or as many as people are known to misspell.

    A sentence is broken where its BLEU falls; one without such a word is skipped.
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
