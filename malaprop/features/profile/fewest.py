"""The worst case of a text: an attack within a share of its words, repeated with fewer words until it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Literal

from malaprop.attacks.attack import Attack, Constraint, try_in_turn
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.trial import Trial
from malaprop.attacks.validity import set_validity
from malaprop.core.example import Example
from malaprop.core.score import Flags
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.engine.service import Service
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.local import run
from malaprop.frame.runs.make_attack import recipe

MOST = 0.2  # share of the words that an attack may change
_BLOCK = 64  # texts whose searches are repeated together; a kill loses the searches of one block at most


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLimits:
    """At most so many words of each example differ from the original; `limits` is by the example's id."""

    limits: Mapping[str, int]
    stage: ClassVar[Literal["edit"]] = "edit"

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        return variants.changes(trial.origin) <= self.limits[trial.example.id]


def make_attack(
    names: Sequence[str], budget: int | None = None, *, validity: str = "paper", rated: bool = False
) -> Attack:
    """Return the recipes as one attack that tries them in turn and changes at most a fifth of the words.

    `rated`: with validity `paper` the judge of meaning rates the successes.
    """
    made = [set_validity(recipe(name), validity, rated=rated) for name in names]
    return _restrict(try_in_turn("+".join(names), made).but(budget=budget), MaxShare(share=MOST))


def _restrict(attack: Attack, rule: Constraint) -> Attack:
    """Return the attack, and each stage of it, with one more constraint."""
    stages = tuple(_restrict(stage, rule) for stage in attack.stages)
    return replace(attack, constraints=(*attack.constraints, rule), stages=stages)


def attack_with_fewest(
    attack: Attack, victim: Victim, examples: Iterable[Example], *, seed: int, width: int,
    services: Mapping[str, Service],
) -> Iterator[Outcome]:  # fmt: skip
    """Attack each text, then again with fewer words than its success changed, until that fails; yield the outcomes.

    The adversarial text of a success is the one with the fewest changed words. Its queries are those of the first
    search, which ended at the first success; the repeated searches are not counted.
    """
    rest = iter(examples)
    while block := {example.id: example for example in islice(rest, min(width, _BLOCK))}:
        best: dict[str, Outcome] = {}
        for outcome in run(attack, victim, block.values(), seed=seed, width=width, services=services):
            if outcome.status == "success" and len(outcome.edits) > 1:
                best[outcome.id] = outcome
            else:
                yield outcome
        while best:
            rule = WordLimits(limits={id: len(one.edits) - 1 for id, one in best.items()})
            again = [block[id] for id in best]
            for found in run(_restrict(attack, rule), victim, again, seed=seed, width=width, services=services):
                first = best[found.id]
                kept = replace(first, seconds=first.seconds + found.seconds)
                if found.status == "success":
                    kept = replace(found, queries=first.queries, seconds=kept.seconds)
                if found.status == "success" and len(found.edits) > 1:
                    best[found.id] = kept
                else:
                    del best[found.id]
                    yield kept
