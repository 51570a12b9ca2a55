"""Who judges what: each item goes to so many raters, in an order and on sides of each rater's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.features.humans.sampling import RatedItem


@dataclass(frozen=True, slots=True)
class Turn:
    """An item at its place in a rater's list; `flip` puts the second text of a pair first."""

    item: int
    flip: bool


def people(items: int, each: int, most: int | None) -> int:
    """How many raters it takes when `each` judge an item and nobody judges more than `most`."""
    if most is None:
        return each
    if most < 1:
        raise SettingError(f"--per-rater must be at least 1, got {most}")
    return max(each, ceil(items * each / most))


def allot(items: Sequence[RatedItem], each: int, raters: int, seed: int) -> list[list[Turn]]:
    """A list for each rater; checks go to everyone. `items` come grouped by question, and stay so."""
    judged = [i for i, item in enumerate(items) if item.expected is None]
    everyone = [i for i, item in enumerate(items) if item.expected is not None]
    own: list[list[int]] = [list(everyone) for _ in range(raters)]
    for turn, i in enumerate(judged):
        for step in range(each):
            own[(turn * each + step) % raters].append(i)
    return [_order(items, sorted(mine), generator(seed, "rater", str(number))) for number, mine in enumerate(own)]


def _order(items: Sequence[RatedItem], mine: Sequence[int], rng: np.random.Generator) -> list[Turn]:
    blocks: dict[str, list[int]] = {}
    for i in mine:
        blocks.setdefault(items[i].question, []).append(i)
    return [turn for block in blocks.values() for turn in _block(items, block, rng)]


def _block(items: Sequence[RatedItem], block: Sequence[int], rng: np.random.Generator) -> list[Turn]:
    order = [block[i] for i in rng.permutation(len(block))]
    if items[order[0]].expected is not None:  # a check that opens a block is no check: everyone reads there
        other = next((n for n, i in enumerate(order) if items[i].expected is None), 0)
        order[0], order[other] = order[other], order[0]
    flips = rng.permutation(np.arange(len(order)) % 2)
    paired = [len(items[i].texts) == 2 for i in order]
    return [Turn(i, bool(flip) and two) for i, flip, two in zip(order, flips, paired, strict=True)]
