"""What a desk is given to do, and what is shown of it: scores, weighed words, attacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from time import perf_counter
from typing import Any

from malaprop.attacks.attack import Attack, Ending
from malaprop.core.ask import Ask, Steps
from malaprop.core.capability import Capability, check
from malaprop.core.example import Example
from malaprop.core.score import Floats
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.engine.service import Tally
from malaprop.features.explain.importance import Importance, Substitutes, explaining
from malaprop.features.playground.error_messages import remove_paths
from malaprop.features.playground.victim_thread import Make, VictimThread
from malaprop.features.playground.watch import Tell, plain_edit, watch_attack
from malaprop.frame.records.outcome import Outcome, to_plain
from malaprop.frame.runs.local import outcome, start_attack


def scores_of(fields: Mapping[str, str]) -> Make[Floats]:
    """The victim's answer for one text."""

    def steps(table: Words, owner: int) -> Steps[Floats]:
        (answers,) = yield Ask("victim", [Variants.itself(Text.of(fields, table, owner))])
        row: Floats = answers[0]
        return row

    return steps


def importance_of(
    desk: VictimThread, fields: Mapping[str, str], label: int | None, substitutes: Substitutes | None
) -> Make[Importance]:
    """How much each word, and each of its substitutes, moves the answer."""
    victim = desk.victim
    check("word importance", (Capability.SCORES,), desk.name, victim.offers)
    return lambda table, owner: explaining(victim, fields, table, owner, label=label, substitutes=substitutes)


def weights(found: Importance) -> list[float]:
    """The importance of every slot."""
    return [word.importance for side in found.fields for word in side.words]


def substitutes_at(found: Importance, slot: int) -> list[dict[str, Any]]:
    """What could stand in a slot, strongest first, with the likelihood of the label once it does."""
    words = [word for side in found.fields for word in side.words]
    return [
        {"word": s.word, "importance": s.importance, "likelihood": exp(min(0.0, found.log_likelihood - s.importance))}
        for s in words[slot].substitutes
    ]


def attack_on(
    desk: VictimThread, attack: Attack, example: Example, seed: int, tell: Tell | None = None
) -> Make[Ending]:
    """A recipe on one example, told step by step to whoever watches."""
    victim = desk.victim
    attack = attack.for_victim(victim.label_names)
    check(attack.name, attack.needs, desk.name, victim.offers)

    def steps(table: Words, owner: int) -> Steps[Ending]:
        inner = start_attack(attack, victim, example, table, owner, seed)
        return inner if tell is None else watch_attack(inner, tell)

    return steps


def record(example: Example, ending: Ending, tally: Tally, seed: int, began: float) -> Outcome:
    """The outcome as a run on the command line records it, without what the page must not show."""
    made = outcome(example, ending, tally, seed, perf_counter() - began)
    return made if made.reason is None else replace(made, reason=remove_paths(made.reason))


def describe_ending(made: Outcome, *, victim: str, recipe: str) -> dict[str, Any]:
    """What the page says of an ended attack; `record` is its line in a file of outcomes, with who attacked whom."""
    final = made.adversarial
    whole = {**to_plain(made), "victim": victim, "recipe": recipe}
    return {
        "status": made.status,
        "reason": made.reason,
        "asked": made.queries.asked,
        "unique": made.queries.unique,
        "forwarded": made.queries.forwarded,
        "seconds": made.seconds,
        "changed": made.changed_share,
        "edits": [plain_edit(edit) for edit in made.edits],
        "scores": None if final is None else final.scores,
        "prediction": None if final is None else final.prediction,
        "record": json.dumps(whole, ensure_ascii=True, separators=(",", ":")),
    }
