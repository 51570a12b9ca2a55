"""A language model as the judge of meaning: asked in words, its answer's probability of yes is the chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from malaprop.core.judgement import Judgement
from malaprop.core.score import Floats
from malaprop.core.victim import Fields

ANSWERS = ("yes", "no")
PROMPT = (
    "The second text is a changed copy of the first. Would a reader say that both mean the same, and that the label of "
    "the first, where it is named, still fits the second? Misspellings do no harm. Answer with one of these words: "
    "{labels}.\n\nFirst text: {premise}\nSecond text: {hypothesis}\nAnswer:"
)
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class LanguageJudge:
    """Asks a language model by PROMPT; `ask` gives the probability of each of ANSWERS, and may give that of none."""

    ask: Callable[[Sequence[Fields]], Floats]

    def kept(self, judgements: Sequence[Judgement]) -> list[float]:
        """Return the probability of yes; an answer that is neither yes nor no counts as half of one."""
        wanted = {one: None for one in judgements if one.original != one.changed}
        if not wanted:
            return [1.0] * len(judgements)
        rows = self.ask([(_describe_first(one), one.changed) for one in wanted])
        chances = {one: round(float(row[0] + sum(row[2:]) / 2), _DIGITS) for one, row in zip(wanted, rows, strict=True)}
        return [chances.get(one, 1.0) for one in judgements]


def _describe_first(one: Judgement) -> str:
    """Return the original text, and below it what stands beside both texts and the name of the label."""
    beside = f"\nBeside both texts stands: {one.context}" if one.context else ""
    label = f"\nLabel of the first text: {one.label}" if one.label else ""
    return one.original + beside + label
