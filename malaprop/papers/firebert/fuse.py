"""FuSE (Mein et al. 2021, section 2.1.4): vote over SWITCH's other wordings of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.features.defending.smooth import Vote, add_own, check_samples, check_vote, poll
from malaprop.frame.runs.defended import Counters
from malaprop.papers.firebert.switch import Switch, SwitchChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """A defence that takes a vote of the victim's answers for other wordings; with `own` the text itself votes too.

    Defaults are the paper's for MNLI: 2 words, 10 candidates, 14 alternatives, 14 drawn, mean of logits. Differs: alike
    alternatives are not compared with the text unless asked for (`similarity=filter`): it costs as much again, and with
    MiniLM hardly any alternative has a negative similarity.
    """

    switch: Switch = Switch(words=2, alternatives=14, multiplier=1, similarity="off")  # noqa: RUF009 - it is frozen
    vote: Vote = "logits"
    own: bool = False
    kind: ClassVar[str] = "fuse"

    def __post_init__(self) -> None:
        check_samples(self.switch.alternatives, "fuse: samples (SWITCH's alternatives)")
        check_vote(self.vote, "fuse: vote")

    @property
    def samples(self) -> int:
        return self.switch.count

    @property
    def discrete(self) -> bool:
        return self.vote == "majority"

    def check(self, victim: Victim) -> None:
        """Accept any victim: without gradients, words are ranked by leaving each out."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> list[SwitchChoice]:
        return self.switch.choices(victim, texts, counters)

    def answers(
        self, victim: Victim, prepared: list[SwitchChoice], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        out = np.stack([choice.weighed.answer for choice in prepared])
        drawn = self.switch.draw(prepared, seeds, device=victim.device)
        voted = [number for number, variants in enumerate(drawn) if variants.count]
        counters.fallbacks += len(drawn) - len(voted)
        if not voted:
            return out
        pool = Pool([drawn[number] for number in voted])
        _, first, back = np.unique(pool.keys(), return_index=True, return_inverse=True)
        counters.inner += len(first)
        if exact:
            scores = victim.predict([text.values() for text in pool.texts(first)])
        else:
            scores = victim.finish(victim.begin(pool, first))
        of = np.repeat(np.arange(len(voted)), pool.counts)
        answers = scores[back]
        if self.own:
            answers, of = add_own(answers, of, out[voted])
        out[voted] = poll(answers, of, len(voted), self.vote)
        return out
