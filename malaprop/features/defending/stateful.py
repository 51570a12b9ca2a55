"""Stateful detection: a service in front of a victim remembers queries, and rejects a text that is like many of them.

(Chen, Carlini and Wagner 2019, and Blacklight, Li et al. 2022, for images.) It stops a search that queries the defended
model at every step. It does not stop a search on a model of the attacker's own, nor queries that look unlike each
other: `features.defending.evasion` has both, and the defence test runs them.
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
    """The victim's answer with one label more, rejection: a text is rejected after `limit` texts like it were answered.

    `querymemory` says which texts are alike. Under attack every text begins with an empty memory, so that outcomes
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
        """Accept any victim with scores."""

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        names = tuple(victim.label_names) or tuple(map(str, range(victim.labels or _count_labels(victim))))
        return names if find_rejected(names) >= 0 else (*names, REJECTED)

    def read_state(self, victim: Victim) -> str:
        del victim
        return ""  # the memory lasts for one attack alone

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:
        del victim, counters
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        """Return the victim's scores, with 0 for rejection; `receive` rejects, for it sees the texts in turn."""
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
    """Return how many labels a victim has, by asking it about one text."""
    try:
        return int(victim.predict(["a"]).shape[1])
    except MalapropError:
        raise
    except Exception as error:
        raise VictimError(f"stateful cannot learn how many labels {victim.name} has: {plain(error)}") from error


class AttackSession:
    """One attack as the service sees it: rejected texts never reach the model."""

    def __init__(self, memory: QueryMemory) -> None:
        self.memory = memory
        self.labels = 0  # set by the first answer; the first text is never rejected
        self.refused = False  # whether the service rejected a text to be verified

    def answer(self, ask: Ask) -> Steps[list[Any]]:
        if ask.service == "victim":
            return (yield from self.score(ask.items))
        if ask.service == "verify":
            return (yield from self.verify(ask.items))
        return (yield ask)

    def score(self, items: Sequence[Variants | Guess]) -> Steps[list[Floats | None]]:
        """Return the service's answers for variants; None for guesses, which it does not answer."""
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
        """Return rejections for all variants, as a service gives that answers nothing more."""
        return [self.fill(np.zeros(one.count, np.bool_), None) if isinstance(one, Variants) else None for one in items]

    def admit(self, texts: Sequence[Text]) -> Flags:
        return np.fromiter((self.memory.admit(text.values()) for text in texts), np.bool_, len(texts))

    def fill(self, fine: Flags, answers: Floats | None) -> Floats:
        """Return the answers of the admitted texts, with rejections in the rows of the others."""
        if answers is not None:
            self.labels = answers.shape[1]
        out = np.zeros((len(fine), self.labels), np.float32)
        out[:, -1:] = 1
        if answers is not None:
            out[fine] = answers
        return out
