"""Watches an attack at work: what it holds as it gets better, and how much it has asked so far."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from malaprop.attacks.attack import Ending
from malaprop.attacks.trial import WATCH, Trial
from malaprop.core.ask import Ask, Steps, relay
from malaprop.core.score import winner
from malaprop.frame.records.outcome import Edit, edits_between
from malaprop.frame.report.diff import show_unseen

Tell = Callable[[str, dict[str, Any]], None]  # the kind of event, and what it holds
EVERY = 0.08  # seconds between two notes on how far it is
MOST = 400  # steps that are told; a population can get better without end


def watch_attack(steps: Steps[Ending], tell: Tell) -> Steps[Ending]:
    """The same attack, asking the same; `tell` hears of every better text and, now and then, of the queries."""
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
    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.trial: Trial | None = None
        self.steps, self.last = 0, 0.0

    def held(self, trial: Trial) -> None:
        self.trial = trial
        self.steps += 1
        if self.steps <= MOST:
            self.tell("step", step(trial))

    def asks(self, ask: Ask) -> None:
        now = perf_counter()
        if now - self.last < EVERY:
            return
        self.last = now
        self.tell("asking", {"asked": 0 if self.trial is None else self.trial.asked, "of": ask.service})


def step(trial: Trial) -> dict[str, Any]:
    """The text that an attack holds, as its edits."""
    held = trial.held
    assert held is not None, "it is told once something is held"
    return {
        "asked": trial.asked,
        "edits": [plain_edit(edit) for edit in edits_between(trial.origin, held.text)],
        "scores": held.answer.tolist(),
        "prediction": winner(held.answer),
        "reached": held.reached,
    }


def plain_edit(edit: Edit) -> dict[str, Any]:
    """As in the records, with characters that nobody sees by their numbers."""
    before, after = show_unseen(edit.before), show_unseen(edit.after)
    return {"field": edit.field, "slot": edit.slot, "op": edit.op, "from": before, "to": after}
