"""Attacks limited to the changes that a certificate covers: accuracy under them is an upper bound beside its lower."""

from __future__ import annotations

from dataclasses import dataclass, replace

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.ranking.order import LeaveOneOut
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.text import Ints
from malaprop.features.defending.safer import Swaps
from malaprop.features.defending.smooth import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Certifiable:
    """The synonyms that SAFER's certificate allows for a word."""

    noise: Swaps

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # makes this a generator, as the protocol wants, though it asks nothing
        known, table, strings = self.noise.known.synonyms, trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("certifiable", self, w), w, lambda w=w: known.get(w.lower(), ()))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]


def within(noise: Noise, attack: Attack) -> Attack:
    """Return an attack within the certificate: on any words by SAFER's synonyms, else `attack` on one word."""
    if isinstance(noise, Swaps):
        return Attack(name="synonyms", candidates=Certifiable(noise=noise), search=Greedy(rank=LeaveOneOut()))
    return replace(attack, name=f"{attack.name}-one-word", constraints=(*attack.constraints, MaxWords(count=1)))
