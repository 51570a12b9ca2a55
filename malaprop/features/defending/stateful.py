"""Stateful detection: the service in front of a victim remembers queries, and rejects one more of many that are alike.

(Chen, Carlini and Wagner 2019, and Blacklight, Li et al. 2022, for images.) A search that asks the defended model about
its every step is stopped after a few of them. One that searches on a model of its own is not, nor is one whose queries
are made to look unlike each other: `features.defending.evasion` has both, and the defence test puts them to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from malaprop.core.ask import Ask, Steps, relay
from malaprop.core.errors import MalapropError, SettingError, VictimError, plain
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Text
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import REJECTED, Victim, find_rejected
from malaprop.features.defending.detection.suspicion import ask as ask_victim
from malaprop.features.defending.querymemory import QueryMemory
from malaprop.frame.runs.defended import Counters

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stateful:
    """The victim's answer with one label more: the text is rejected, which it is where `limit` like it were answered.

    What is alike: see `defences.querymemory`. Under attack every text begins with an empty memory, so that outcomes
    depend on no other text; a service that remembers all of them rejects sooner. It stands outermost.
    """

    limit: int = 5
    kind: ClassVar[str] = "stateful"
    samples: ClassVar[int] = 1
    discrete: ClassVar[bool] = False
    steady: ClassVar[bool] = True  # it draws nothing

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SettingError(f"stateful wants a limit of at least 1 query, got {self.limit}")

    def check(self, victim: Victim) -> None:
        """Any victim with scores will do."""

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        names = tuple(victim.label_names) or tuple(map(str, range(victim.labels or _count_labels(victim))))
        return names if find_rejected(names) >= 0 else (*names, REJECTED)

    def read_state(self, victim: Victim) -> str:
        del victim
        return ""  # what it remembers is one attack's

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:
        del victim, counters
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        """Those of the victim: whether a text is rejected for those before it is said by `receive`."""
        del seeds
        counters.inner += len(prepared)
        own = np.exp(ask_victim(victim, [Variants.itself(text) for text in prepared], exact=exact))
        if find_rejected(victim.label_names) >= 0:
            return np.asarray(own, np.float32)
        return np.column_stack([own, np.zeros(len(own))]).astype(np.float32)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return relay(steps, AttackSession(self.open_memory()).answer)

    def open_memory(self) -> QueryMemory:
        return QueryMemory(limit=self.limit)


def _count_labels(victim: Victim) -> int:
    """How many labels a victim has that does not say so before it is asked."""
    try:
        return int(victim.predict(["a"]).shape[1])
    except MalapropError:
        raise
    except Exception as error:
        raise VictimError(f"stateful cannot learn how many labels {victim.name} has: {plain(error)}") from error


class AttackSession:
    """One attack as the service sees it: texts that are rejected for those before them never reach the model."""

    def __init__(self, memory: QueryMemory) -> None:
        self.memory = memory
        self.labels = 0  # known from the first answer, and the first text is never rejected
        self.refused = False  # whether a text that was to be verified was rejected

    def answer(self, ask: Ask) -> Steps[list[Any]]:
        if ask.service == "victim":
            return (yield from self.score(ask.items))
        if ask.service == "verify":
            return (yield from self.verify(ask.items))
        return (yield ask)

    def score(self, items: Sequence[Variants | Guess]) -> Steps[list[Floats | None]]:
        """Answers for variants; guesses are not asked."""
        flags = {n: self.admit(item.texts()) for n, item in enumerate(items) if isinstance(item, Variants)}
        kept = {n: item.keep(flags[n]) for n, item in enumerate(items) if isinstance(item, Variants)}
        left = [item for item in kept.values() if item.count]
        found = iter((yield Ask("victim", left)) if left else [])
        rows = {n: self.fill(flags[n], next(found) if item.count else None) for n, item in kept.items()}
        return [rows.get(n) for n in range(len(items))]

    def verify(self, texts: Sequence[Text]) -> Steps[list[Floats]]:
        fine = self.admit(texts)
        self.refused |= not fine.all()
        left = [text for text, one in zip(texts, fine.tolist(), strict=True) if one]
        rows = (yield Ask("verify", left)) if left else []
        return [*self.fill(fine, np.asarray(rows, np.float32) if rows else None)]

    def reject(self, items: Sequence[Variants | Guess]) -> list[Floats | None]:
        """What a service says that answers nothing more."""
        return [self.fill(np.zeros(one.count, np.bool_), None) if isinstance(one, Variants) else None for one in items]

    def admit(self, texts: Sequence[Text]) -> Flags:
        return np.fromiter((self.memory.admit(text.values()) for text in texts), np.bool_, len(texts))

    def fill(self, fine: Flags, answers: Floats | None) -> Floats:
        """Answers of the texts that were admitted, and rejections of the others."""
        if answers is not None:
            self.labels = answers.shape[1]
        out = np.zeros((len(fine), self.labels), np.float32)
        out[:, -1:] = 1
        if answers is not None:
            out[fine] = answers
        return out
