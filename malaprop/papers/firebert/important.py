"""Rank the words of a text by their importance to a victim: by its gradient if it has one, else by leaving each out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from malaprop.assets.lexicon import stop_words
from malaprop.core.errors import VictimError
from malaprop.core.example import PAIR
from malaprop.core.pool import Pool
from malaprop.core.score import Floats, ranked, winners
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.frame.runs.defended import Counters
from malaprop.models.gradients.layout import TokenLayout
from malaprop.models.victims.ensemble import log_probabilities
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo.gradients.word_sizes import token_gradients, word_sizes

Side = Literal["last", "all"]
_AT_ONCE = 1 << 14  # variants of one round of leaving out
_SLACK = 1e-4  # of the largest size: nearer ones count as equal, so that the rounding of a batch cannot rank them


@dataclass(frozen=True, slots=True, eq=False)
class WeighedWords:
    """The words of one text by importance: slots without stop words, most important first, and the victim's answer."""

    text: Text
    slots: Ints
    answer: Floats  # [label]
    laid: TokenLayout | None = None  # how the victim reads it, where its gradient was taken


def weigh(victim: Victim, texts: Sequence[Text], counters: Counters, *, side: Side = "last") -> list[WeighedWords]:
    """Rank the words of every text by importance.

    `side` says which field of a pair may be perturbed: the last (the hypothesis, as attacks on pairs have it), or all.
    The gradient is that at a word's tokens, lengths summed (see `malaprop.zoo.gradients.word_sizes`). A victim without
    one is asked for the text with each word left out; the fall of its log-likelihood is the word's size.
    """
    if isinstance(victim, TokenVictim) and victim.pairs and any(len(text.names) != len(PAIR) for text in texts):
        raise VictimError(f"{victim.name} reads a premise and a hypothesis; give data with both")
    opened = [_open(text, side) for text in texts]
    gradients = token_gradients(victim)
    if gradients is None:
        counters.left_out = True
        return _left_out(victim, texts, opened, counters)
    found = word_sizes(gradients, texts)
    counters.inner += len(found)
    return [
        WeighedWords(text, _order(sized.sizes, slots[sized.sizes[slots] >= 0]), sized.answer, sized.laid)
        for text, slots, sized in zip(texts, opened, found, strict=True)
    ]


def _order(sizes: Floats, slots: Ints) -> Ints:
    if not len(slots):
        return slots
    mine = sizes[slots]
    return np.asarray(slots[ranked(mine, slack=_SLACK * max(float(mine.max()), 1e-12))])


def _open(text: Text, side: Side) -> Ints:
    stop = stop_words()
    words = text.strings
    free = np.asarray([bool(word) and word.lower() not in stop for word in words], bool)
    if side == "last" and len(text.names) > 1:
        free &= text.field_of_slots() == len(text.names) - 1
    return np.flatnonzero(free)


def _left_out(victim: Victim, texts: Sequence[Text], opened: list[Ints], counters: Counters) -> list[WeighedWords]:
    out: list[WeighedWords] = []
    for group in _rounds(opened):
        asks = [Variants.itself(texts[i]) for i in group]
        asks += [Variants(texts[i], opened[i], np.zeros(len(opened[i]), np.int64)) for i in group]
        pool = Pool(asks)
        scores = victim.finish(victim.begin(pool, np.arange(pool.size)))
        counters.inner += pool.size
        first, rest = scores[: len(group)], scores[len(group) :]
        label = winners(first)
        logs, before = log_probabilities(rest) if len(rest) else None, log_probabilities(first)
        at = 0
        for row, i in enumerate(group):
            many = len(opened[i])
            slots = opened[i]
            if logs is not None and many:
                falls = before[row, label[row]] - logs[at : at + many, label[row]]
                slots = slots[ranked(falls.astype(np.float32), slack=1e-5)]
            at += many
            out.append(WeighedWords(texts[i], slots, first[row]))
    return out


def _rounds(opened: list[Ints]) -> list[list[int]]:
    """Group texts so that the variants of a group fit into one round."""
    rounds: list[list[int]] = [[]]
    held = 0
    for i, slots in enumerate(opened):
        if rounds[-1] and held + len(slots) > _AT_ONCE:
            rounds.append([])
            held = 0
        rounds[-1].append(i)
        held += len(slots) + 1
    return [group for group in rounds if group]
