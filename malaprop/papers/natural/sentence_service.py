"""The service of latent searches over sentences: generate the points' sentences, query the victim, test the goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.score import Flags, Floats, winners
from malaprop.core.victim import Fields
from malaprop.models.tokens.vocab import tokens
from malaprop.papers.natural.models.sentences import join_tokens, restore_case
from malaprop.papers.natural.search.service import LatentPoints

Answer = Callable[[list[Fields]], Sequence[Any]]
_MOST = 1_000_000  # answers remembered


class SentenceGenerator(Protocol):
    """The part of a sentence model that the service uses."""

    def generate(self, z: Floats) -> list[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCase:
    """One example under search: the field that changes, and that its sentence must differ from the original."""

    fields: Fields
    place: int

    def whole(self, sentence: str) -> Fields:
        """Return the example with this sentence in its place, with a capital letter where the original has one."""
        own = restore_case(sentence, self.fields[self.place])
        return (*self.fields[: self.place], own, *self.fields[self.place + 1 :])

    def others(self, items: Sequence[str]) -> Flags:
        """Return which sentences are neither empty nor the original, whatever their case and spacing."""
        mine = join_tokens(tokens(self.fields[self.place]))  # as a sentence model would write it
        return np.asarray([item not in ("", mine) for item in items], bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSentenceLabel:
    """The goal for classifiers: another label than `label` wins."""

    case: SentenceCase
    label: int

    def __call__(self, items: Sequence[str], answers: Sequence[Floats]) -> Flags:
        found = np.asarray(winners(np.stack(answers)) != self.label)
        return found & self.case.others(items)


class SentenceGoal(Protocol):
    """A probing function: returns whether a source and its translation pass the test."""

    def __call__(self, source: str, translation: str) -> bool: ...


@runtime_checkable
class RelativeProbe(SentenceGoal, Protocol):
    """A probing function that depends on the original sentence and its translation."""

    @property
    def hopeless(self) -> str: ...

    def beside(self, source: str, translation: str) -> RelativeProbe: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePasses:
    """The goal for translators: a probing function passes."""

    case: SentenceCase
    probe: SentenceGoal

    def __call__(self, items: Sequence[str], answers: Sequence[str]) -> Flags:
        passed = [self.probe(item, answer) for item, answer in zip(items, answers, strict=True)]
        return np.asarray(passed, bool) & self.case.others(items)


@dataclass(slots=True, kw_only=True)
class SentenceService:
    """Judges latent points whose goals have a `case`; a text that was queried before is not queried again.

    `fresh` caches nothing between rounds, so that a success can be verified.
    """

    manifold: SentenceGenerator
    answer: Answer
    batch: int = 4096
    fresh: bool = False
    forwarded: int = 0
    _known: dict[Fields, Any] = field(default_factory=dict)

    def begin(self, asks: Sequence[Sequence[LatentPoints]]) -> list[Sequence[LatentPoints]]:
        return list(asks)

    def finish(self, pending: list[Sequence[LatentPoints]]) -> list[list[Flags]]:
        clouds = [cloud for ask in pending for cloud in ask]
        flags = iter(self._judge(clouds))
        return [[next(flags) for _ in ask] for ask in pending]

    def _judge(self, clouds: list[LatentPoints]) -> list[Flags]:
        sentences = self.manifold.generate(np.concatenate([cloud.points for cloud in clouds]))
        cuts = [0, *accumulate(len(cloud.points) for cloud in clouds)]
        parts = [sentences[a:b] for a, b in pairwise(cuts)]
        goals: list[Any] = [cloud.goal for cloud in clouds]
        texts = [[goal.case.whole(item) for item in part] for goal, part in zip(goals, parts, strict=True)]
        self._ask(dict.fromkeys(text for part in texts for text in part))
        known = self._known
        flags = [
            goal(part, [known[text] for text in whole]) for goal, part, whole in zip(goals, parts, texts, strict=True)
        ]
        if self.fresh or len(known) > _MOST:
            known.clear()
        return flags

    def _ask(self, texts: dict[Fields, None]) -> None:
        wanted = [text for text in texts if text not in self._known]
        for at in range(0, len(wanted), self.batch):
            some = wanted[at : at + self.batch]
            answers = self.answer(some)
            if len(answers) != len(some):
                raise VictimError(f"the victim gave {len(answers)} answers to {len(some)} texts; expected one a text")
            self.forwarded += len(some)
            self._known.update(zip(some, answers, strict=True))
