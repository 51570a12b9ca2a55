"""Smoothing: noisy copies of a text vote on its label. The defences of this kind differ in the noise alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Protocol

import numpy as np

from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.features.defending.votes import Vote, check_samples, check_vote, poll
from malaprop.frame.runs.defended import Counters


class Noise(Protocol):
    """Draws noisy copies, and bounds how far the chance of a label moves when words change."""

    @property
    def about(self) -> str:
        """Describe in words which changes its certificate covers."""

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:
        """Return noisy copies of a text, `many` in all; `unknown` is a word that the victim reads as unknown."""

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:
        """Return all copies; None where there are more than `most`, or where they are not equally likely."""

    def shift(self, text: Text, words: int) -> float:
        """Return the most by which the chance of any label can change when `words` words of the text change."""

    def limit(self, text: Text) -> int | None:
        """Return how many words of a text can change at all; None: no limit, because words may be added."""

    def distance(self, origin: Text, changed: Text) -> int | None:
        """Return how many changed words the certificate counts between two texts; None: the change is not covered."""

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:
        """Return the text with at most `words` words changed, to words of `fresh`, as the certificate covers it."""


class CopiesVote:
    """Base of defences that take the vote of noisy copies; a subclass has the settings and names its noise."""

    __slots__ = ()
    kind: ClassVar[str]
    samples: int
    vote: Vote

    def __post_init__(self) -> None:
        check_samples(self.samples, f"{self.kind}'s samples")
        check_vote(self.vote, f"{self.kind}'s vote")
        _ = self.noise  # raises on wrong settings of the noise

    @property
    def discrete(self) -> bool:
        return self.vote == "majority"

    @property
    def noise(self) -> Noise:
        raise NotImplementedError

    def check(self, victim: Victim) -> None:
        """Accept any victim."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:  # noqa: ARG002
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        noise = self.noise
        return answer_by_vote(victim, noise, prepared, self.samples, seeds, counters, vote=self.vote, exact=exact)


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
    """Return scores [text, label] by a vote of `samples` copies; seeds[i] and the words of text i fix its copies.

    `exact` asks the victim with `predict` rather than its fast path.
    """
    drawn = (
        noise.draw(text, samples, victim.unknown, generator(seed, "copies", *text.values()))
        for text, seed in zip(texts, seeds, strict=True)
    )
    counters.inner += samples * len(texts)
    scores = answer_copies(victim, list(chain.from_iterable(drawn)), exact=exact)
    return poll(scores, np.repeat(np.arange(len(texts)), samples), len(texts), vote)


def answer_copies(victim: Victim, copies: Sequence[Variants], *, exact: bool) -> Floats:
    """Return the scores [copy, label] of copies; equal copies are one query."""
    pool = Pool(copies)
    _, first, again = np.unique(pool.keys(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # the order of drawing, in which neighbours share a base
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    wanted = first[order]
    if exact:
        scores = victim.predict([copy.values() for copy in pool.texts(wanted)])
    else:
        scores = victim.finish(victim.begin(pool, wanted))
    return np.asarray(scores[place[again]])


def cut_text(fields: Fields, table: Words) -> Text:
    """Tokenize finished strings again, so that a text has the same slots whatever edits made it."""
    return Text.of({str(number): value for number, value in enumerate(fields)}, table)
