"""Jobs that a victim's thread runs for the page (scores, importance, attacks, attention), and their plain results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import exp
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from malaprop.attacks.attack import Attack, Ending
from malaprop.attacks.trial import WATCH, Trial
from malaprop.core.ask import Ask, Steps, relay
from malaprop.core.capability import Capability, check
from malaprop.core.example import Example
from malaprop.core.score import Floats, winner
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.engine.service import Tally
from malaprop.features.explain.importance import Importance, Substitutes, explain_steps
from malaprop.features.playground.input_checks import remove_paths
from malaprop.features.playground.victim_thread import Make, VictimThread
from malaprop.frame.records.outcome import Edit, Outcome, edits_between, to_plain
from malaprop.frame.report.diff import show_unseen
from malaprop.frame.runs.local import outcome, start_attack

if TYPE_CHECKING:
    from malaprop.models.inside import Maps, WordAttention


Tell = Callable[[str, dict[str, Any]], None]  # the kind of event, and what it holds
QUERY_INTERVAL = 0.08  # seconds between two events on the number of queries
MAX_STEPS = 400  # most events on better texts; a population can improve without end


def watch_attack(steps: Steps[Ending], tell: Tell) -> Steps[Ending]:
    """Run an attack unchanged, and send events through `tell`: each better text, and sometimes the queries so far."""
    watcher = _Watcher(tell)

    def answer(ask: Ask) -> Steps[list[Any]]:
        watcher.asks(ask)
        return (yield ask)

    def begin(steps: Steps[Ending]) -> Ask:
        token = WATCH.set(watcher.held)
        try:
            return next(steps)
        finally:
            WATCH.reset(token)

    return relay(steps, answer, begin=begin)


class _Watcher:
    """Sends the events of one attack."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.trial: Trial | None = None
        self.steps, self.last = 0, 0.0

    def held(self, trial: Trial) -> None:
        """Send a better text that the attack found."""
        self.trial = trial
        self.steps += 1
        if self.steps <= MAX_STEPS:
            self.tell("step", step(trial))

    def asks(self, ask: Ask) -> None:
        """Send the number of queries so far, at most once in QUERY_INTERVAL."""
        now = perf_counter()
        if now - self.last < QUERY_INTERVAL:
            return
        self.last = now
        self.tell("asking", {"asked": 0 if self.trial is None else self.trial.asked, "of": ask.service})


def step(trial: Trial) -> dict[str, Any]:
    """Return the text that an attack holds now, as its edits, with the victim's answer."""
    held = trial.held
    assert held is not None, "the attack reports a step only once it holds a text"
    return {
        "asked": trial.asked,
        "edits": [plain_edit(edit) for edit in edits_between(trial.origin, held.text)],
        "scores": held.answer.tolist(),
        "prediction": winner(held.answer),
        "reached": held.reached,
    }


def plain_edit(edit: Edit) -> dict[str, Any]:
    """Return an edit as in the records, with invisible characters shown by their code points."""
    before, after = show_unseen(edit.before), show_unseen(edit.after)
    return {"field": edit.field, "slot": edit.slot, "op": edit.op, "from": before, "to": after}


def scores_of(fields: Mapping[str, str]) -> Make[Floats]:
    """Return a job for the victim's scores of one text."""

    def steps(table: Words, owner: int) -> Steps[Floats]:
        (answers,) = yield Ask("victim", [Variants.itself(Text.of(fields, table, owner))])
        row: Floats = answers[0]
        return row

    return steps


def importance_of(
    thread: VictimThread, fields: Mapping[str, str], label: int | None, substitutes: Substitutes | None
) -> Make[Importance]:
    """Return a job for the importance of each word and of each of its substitutes."""
    victim = thread.victim
    check("word importance", (Capability.SCORES,), thread.name, victim.offers)
    return lambda table, owner: explain_steps(victim, fields, table, owner, label=label, substitutes=substitutes)


def weights(found: Importance) -> list[float]:
    """Return the importance of every slot."""
    return [word.importance for side in found.fields for word in side.words]


def substitutes_at(found: Importance, slot: int) -> list[dict[str, Any]]:
    """Return the substitutes for a slot, strongest first, each with the likelihood of the label after replacing."""
    words = [word for side in found.fields for word in side.words]
    return [
        {"word": s.word, "importance": s.importance, "likelihood": exp(min(0.0, found.log_likelihood - s.importance))}
        for s in words[slot].substitutes
    ]


def attack_on(
    thread: VictimThread, attack: Attack, example: Example, seed: int, tell: Tell | None = None
) -> Make[Ending]:
    """Return a job that attacks one example with a recipe and sends its steps through `tell`."""
    victim = thread.victim
    attack = attack.for_victim(victim.label_names)
    check(attack.name, attack.needs, thread.name, victim.offers)

    def steps(table: Words, owner: int) -> Steps[Ending]:
        inner = start_attack(attack, victim, example, table, owner, seed)
        return inner if tell is None else watch_attack(inner, tell)

    return steps


def record(example: Example, ending: Ending, tally: Tally, seed: int, began: float) -> Outcome:
    """Return the outcome as a run on the command line records it, without paths and addresses in its reason."""
    made = outcome(example, ending, tally, seed, perf_counter() - began)
    return made if made.reason is None else replace(made, reason=remove_paths(made.reason))


def describe_ending(made: Outcome, *, victim: str, recipe: str) -> dict[str, Any]:
    """Return what the page shows of an ended attack; `record` is its outcome line with victim and recipe."""
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


SHOWN = 60  # most words of a text whose attention is shown
_HEADS = 12  # with more heads over all layers the page shows each layer's mean


def attention_of(thread: VictimThread, fields: Mapping[str, str]) -> Make[dict[str, Any]]:
    """Return a job for the attention maps of one text; it queries no service, so it runs between two batches."""
    check("the attention map", (Capability.ATTENTION,), thread.name, thread.victim.offers)
    looks: WordAttention = thread.victim.parts[Capability.ATTENTION]

    def steps(table: Words, owner: int) -> Steps[dict[str, Any]]:
        yield from ()  # makes this a generator like the other jobs, though it has no queries
        text = Text.of(fields, table, owner)
        return {"words": text.strings, "maps": name_heads(looks.words(text), text.strings)}

    return steps


def name_heads(maps: Maps, words: list[str]) -> list[dict[str, Any]]:
    """Name the attention maps: the mean of all first, then every head, or the mean of each layer of a large model."""
    queries = words if maps.shape[2] > 1 else ["the whole text"]
    layers, heads = maps.shape[:2]
    shown = [("all layers", maps.mean((0, 1)))] if layers * heads > 1 else []
    if layers * heads <= _HEADS:
        many = layers * heads > 1
        shown += [
            (f"layer {i + 1}, head {j + 1}" if many else "attention", maps[i, j])
            for i in range(layers)
            for j in range(heads)
        ]
    else:
        shown += [(f"layer {i + 1}, all heads", maps[i].mean(0)) for i in range(layers)]
    return [
        {"name": name, "queries": queries, "weights": np.round(one.astype(np.float64), 3).tolist()}
        for name, one in shown
    ]
