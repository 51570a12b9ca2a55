"""Beam search over all open slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Scored, ranked
from malaprop.core.text import Text
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """Keeps the `width` best texts at each of at most `depth` steps; every step changes one more slot."""

    width: int = 8
    depth: int = 10

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1:
            raise SettingError(f"Beam needs width and depth of at least 1, got {self.width} and {self.depth}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        beam = [start]
        able = space.able()
        for _ in range(min(self.depth, len(able.slots))):
            groups = []
            for member in beam:
                same = (member.text.words == trial.origin.words)[able.slots]
                left = [i for i, fits in enumerate(same.tolist()) if fits]
                groups.append(Variants.each(member.text, able.slots[left], [able.words[i] for i in left]))
            scored = yield from trial.score(groups)
            beam = yield from best_of(trial, scored, self.width)
            if not beam or beam[0].reached:
                break
        return trial.held or start


def best_of(trial: Trial, groups: Sequence[Scored], count: int) -> Steps[list[Held]]:
    """Return the `count` best distinct variants over all groups that satisfy the constraints, best first."""
    many = 1
    while True:
        picks = yield from _pick_best(trial, groups, count)
        if (yield from trial.settle(groups, [[i for at, i in picks if at == g] for g in range(len(groups))], many)):
            return [trial.take(groups[at], i) for at, i in picks]
        many *= 2


def _pick_best(trial: Trial, groups: Sequence[Scored], count: int) -> Steps[list[tuple[int, int]]]:
    """Return the best allowed variants as pairs of a group and an index in it."""
    sizes = [len(g.values) for g in groups]
    if not sum(sizes):
        return []
    order = ranked(np.concatenate([g.values for g in groups]), np.concatenate([g.reached for g in groups])).tolist()
    group = np.repeat(np.arange(len(groups)), sizes).tolist()
    first = (np.cumsum(sizes) - sizes).tolist()
    kept: list[tuple[int, int]] = []
    seen: set[bytes] = set()
    while order and len(kept) < count:
        block: list[tuple[int, Text]] = []
        while order and len(block) < count - len(kept):
            index = order.pop(0)
            text = groups[group[index]].variants.pick(index - first[group[index]])
            if (key := text.parts.tobytes()) not in seen:
                seen.add(key)
                block.append((index, text))
        flags = yield from trial.admit([text for _, text in block])
        kept += [(group[i], i - first[group[i]]) for (i, _), fine in zip(block, flags.tolist(), strict=True) if fine]
    return kept
