"""Smoothing: a text is answered by the vote of noisy copies of it. SAFER and RanMASK differ in the noise alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.defences.defended import Counters
from malaprop.defences.votes import Vote, poll


class Noise(Protocol):
    """How copies are drawn, and how far the chance of a label can move when words change."""

    @property
    def about(self) -> str:
        """Which changes its certificate speaks of, in words."""

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> Variants:
        """Noisy copies of a text; `unknown` is a word that the victim reads as unknown."""

    def shift(self, text: Text, words: int) -> float:
        """The most by which the chance of any label can differ between this text and one with `words` words changed."""

    def limit(self, text: Text) -> int:
        """How many words of a text can change at all."""

    def covers(self, origin: Text, changed: Text) -> bool:
        """Whether a changed text of the same table is one that the certificate of the original speaks of."""


def answer_by_vote(
    victim: Victim,
    noise: Noise,
    texts: Sequence[Text],
    samples: int,
    seeds: Sequence[int],
    counters: Counters,
    *,
    vote: Vote = "majority",
    exact: bool = False,
) -> Floats:
    """Scores [text, label] by the vote of `samples` copies; those of text i are drawn by seeds[i] and its words alone.

    `exact` goes the victim's plain road.
    """
    groups = [
        noise.draw(text, samples, victim.unknown, generator(seed, "copies", *text.values()))
        for text, seed in zip(texts, seeds, strict=True)
    ]
    counters.inner += samples * len(texts)
    if exact:
        scores = victim.predict([copy.values() for group in groups for copy in group.texts()])
    else:
        inner = Pool(groups)
        scores = victim.finish(victim.begin(inner, np.arange(inner.size)))
    return poll(scores, np.repeat(np.arange(len(texts)), samples), len(texts), vote)


def cut_text(fields: Fields, table: Words) -> Text:
    """Finished strings cut anew, so that a text has the same slots however it came about."""
    return Text.of({str(number): value for number, value in enumerate(fields)}, table)
