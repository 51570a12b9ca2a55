"""Searches that do not look where they go: random trials, and every text of a small space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product

import numpy as np

from malaprop.attacks.ranking.order import Ranking
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Random:
    """Draws `changes` slots and a replacement for each, `trials` times at most, and ends with the first that works.

    Without `stop` all trials are run, and the share of them that works is noted as `hit_share`.
    """

    trials: int = 1000
    changes: int = 1
    block: int = 100
    stop: bool = True

    def __post_init__(self) -> None:
        if min(self.trials, self.changes, self.block) < 1:
            raise SettingError("Random needs trials, changes and block of at least 1")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        able = space.able()
        flat = np.concatenate(able.words)
        first: Held | None = None
        tried = hits = 0
        for done in range(0, self.trials, self.block):
            drawn = self._draw(trial, start.text, able, flat, min(self.block, self.trials - done))
            (scored,) = yield from trial.score([drawn])
            tried, hits = tried + len(scored.values), hits + int(scored.reached.sum())
            if not self.stop and tried:
                trial.notes["hit_share"] = hits / tried
            if first is not None:
                continue
            (found,) = yield from trial.choose([scored], [start.value])
            if found is not None and found.reached:
                first = found
                if self.stop:
                    break
        return first or trial.held or start

    def _draw(self, trial: Trial, base: Text, able: Space, flat: Ints, many: int) -> Variants:
        """Draw texts with `changes` slots replaced, all equally likely; `flat` holds the replacements of all slots."""
        changes = min(self.changes, len(able.slots))
        sizes = able.sizes
        places = np.argsort(trial.rng.random((many, len(able.slots))), 1)[:, :changes].ravel()
        draws = (trial.rng.random(many * changes) * sizes[places]).astype(np.int64)
        words = flat[(np.cumsum(sizes) - sizes)[places] + draws]
        if changes == 1:
            return Variants(base, able.slots[places], words)
        return Variants(base, able.slots[places], words, np.repeat(np.arange(many), changes), many)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustive:
    """Queries every text of the space, fewer changes first, up to `limit`, so a success has the fewest changes."""

    limit: int = 10_000
    block: int = 1_000

    def __post_init__(self) -> None:
        if min(self.limit, self.block) < 1:
            raise SettingError(f"Exhaustive needs limit and block of at least 1, got {self.limit} and {self.block}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        able = space.able()
        left = self.limit
        for changes in range(1, len(able.slots) + 1):
            texts = islice(_texts(start.text, able, changes), left)
            reached = None
            while block := list(islice(texts, self.block)):
                left -= len(block)
                (scored,) = yield from trial.score([Variants.between(start.text, block)])
                (found,) = yield from trial.choose([scored], [start.value])
                if found is not None and found.reached and (reached is None or found.value > reached.value + SLACK):
                    reached = found
            if reached is not None:
                return reached
            if left <= 0:
                break
        return trial.held or start


def _texts(base: Text, space: Space, changes: int) -> Iterator[Text]:
    for places in combinations(range(len(space.slots)), changes):
        for words in product(*(space.words[p].tolist() for p in places)):
            text = base
            for place, word in zip(places, words, strict=True):
                text = text.put(int(space.slots[place]), word)
            yield text


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """Takes the first replacement of each slot in a ranking's order while edits are allowed; one query at the end."""

    rank: Ranking

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        plan = yield from self.rank.order(trial, start, space)
        text = start.text
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            edit = Variants.at(text, slot, words[:1])
            if edit.count and trial.allows(edit).all():
                text = edit.pick(0)
        if not len(text.changed(start.text)):
            return start
        (scored,) = yield from trial.score([Variants.between(start.text, [text])])
        (found,) = yield from trial.choose([scored], [None])
        return found or start
