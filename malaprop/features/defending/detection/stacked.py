"""Several detectors as one: boosted trees over their scores and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.features.defending.detection import DETECTORS
from malaprop.features.defending.detection.suspicion import (
    Describing,
    DetectionMethod,
    Learnt,
    Lessons,
    Numbers,
    need_sklearn,
)
from malaprop.features.defending.detection.trees import apply_trees, fit_trees


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralDetectors:
    """Boosted trees over the scores of several detectors, and over the features of wdr, near and cloze.

    `of` are their names with a plus between them; rde is left out where the victim shows no vector.
    """

    of: str = "fgws+wdr+rde+near"
    needs_attacked: ClassVar[bool] = True
    counts_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.names or "all" in self.names:
            raise SettingError(f"all: of= names detectors with a plus between them, as fgws+wdr, got {self.of!r}")
        for name in self.names:
            assert DETECTORS[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.of.split("+") if name)

    def check(self, victim: Victim) -> None:
        need_sklearn("all")
        for member in self._members(victim).values():
            member.check(victim)

    def _members(self, victim: Victim) -> Mapping[str, DetectionMethod]:
        shows = Capability.EMBEDDINGS in victim.offers
        return {name: DETECTORS[name]() for name in self.names if name != "rde" or shows}

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        found, seen = dict[str, Learnt](), list[Numbers]()
        for name, member in self._members(victim).items():
            if isinstance(member, Describing):
                found[name], x = member.study(victim, lessons)
            else:
                found[name] = member.learn(victim, lessons)
                x = member.score(victim, found[name], lessons.texts, exact=False)[:, None]
            seen.append(x)
        arrays = {f"{name}.{key}": value for name, one in found.items() for key, value in one.arrays.items()}
        words = {f"{name}.{key}": value for name, one in found.items() for key, value in one.words.items()}
        trees = fit_trees(np.concatenate(seen, 1), lessons.labels)
        return Learnt({**{f"top.{key}": value for key, value in trees.items()}, **arrays}, words)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return apply_trees(_take(learnt, "top").arrays, self._see(victim, learnt, texts, exact=exact))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        members = self._members(victim).items()
        return sum(member.count_passes(victim, _take(learnt, name), text) for name, member in members)

    def _see(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return the features [text, feature] of all members side by side."""
        seen = []
        for name, member in self._members(victim).items():
            own = _take(learnt, name)
            if isinstance(member, Describing):
                seen.append(member.describe(victim, own, texts, exact=exact))
            else:
                seen.append(member.score(victim, own, texts, exact=exact)[:, None])
        return np.concatenate(seen, 1)


@lru_cache(maxsize=32)
def _take(learnt: Learnt, name: str) -> Learnt:
    """Return what one member has learnt, with its name taken off the keys."""

    def own(things: Mapping[str, Any]) -> dict[str, Any]:
        return {key.removeprefix(f"{name}."): value for key, value in things.items() if key.startswith(f"{name}.")}

    return Learnt(own(learnt.arrays), own(learnt.words))
