"""Watching an attack changes nothing about it."""

from __future__ import annotations

from typing import Any

import pytest
import toy

from malaprop.attacks.trial import WATCH
from malaprop.core.text import Words
from malaprop.features.playground import jobs as watch
from malaprop.features.playground.jobs import plain_edit, watch_attack
from malaprop.frame.records.outcome import Edit

TEXT = "a good film and a great plot"


def run(steps: Any, services: dict[str, Any]) -> tuple[Any, list[int]]:
    """The ending, and how many texts each ask held."""
    asks, reply = [], None
    while True:
        try:
            ask = steps.send(reply)
        except StopIteration as done:
            return done.value, asks
        asks.append(sum(getattr(item, "count", 1) for item in ask.items))
        service = services[ask.service]
        reply = service.finish(service.begin([ask.items]))[0] if ask.items else []


def steps_of(attack: Any) -> Any:
    (example,) = toy.examples([TEXT])
    return attack.steps(example, Words(), 0, seed=0)


def test_a_watched_attack_asks_the_same_and_ends_the_same():
    services = toy.toy_services(toy.victim())
    told: list[tuple[str, Any]] = []
    plain, asks = run(steps_of(toy.listed()), services)
    seen, seen_asks = run(
        watch_attack(steps_of(toy.listed()), lambda *event: told.append(event)), toy.toy_services(toy.victim())
    )
    assert asks == seen_asks
    assert (plain.status, str(plain.final), plain.asked) == (seen.status, str(seen.final), seen.asked)
    steps = [values for kind, values in told if kind == "step"]
    assert steps[0]["edits"] == []
    assert [len(s["edits"]) for s in steps] == sorted(len(s["edits"]) for s in steps)
    assert steps[-1]["edits"][-1]["to"] in str(seen.final)
    assert WATCH.get() is None, "nobody else is watched"


def test_steps_that_are_told_are_bounded(monkeypatch):
    monkeypatch.setattr(watch, "MAX_STEPS", 1)
    told: list[str] = []
    run(watch_attack(steps_of(toy.listed()), lambda kind, _: told.append(kind)), toy.toy_services(toy.victim()))
    assert told.count("step") == 1


def test_notes_on_the_way_are_spaced(monkeypatch):
    def noted(every: float) -> int:
        monkeypatch.setattr(watch, "QUERY_INTERVAL", every)
        told: list[str] = []
        run(watch_attack(steps_of(toy.listed()), lambda kind, _: told.append(kind)), toy.toy_services(toy.victim()))
        return told.count("asking")

    assert noted(1e9) <= 1 < noted(0.0)


def test_a_broken_text_ends_without_a_step():
    (example,) = toy.examples(["good \ud800"], label=1)
    ending, _ = run(watch_attack(toy.listed().steps(example, Words(), 0, seed=0), pytest.fail), {})
    assert ending.status == "error"


def test_an_edit_that_nobody_sees_is_shown_by_its_number():
    edit = Edit(field="text", slot=0, op="replace", before="good", after="go\u200bod\u202e")
    assert plain_edit(edit)["to"] == "go[U+200B]od[U+202E]"
