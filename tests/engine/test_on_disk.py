"""A victim whose answers are kept on disk."""

from __future__ import annotations

from toy import Calls, listed, some_examples, toy_services, victim

from malaprop.core.capability import Capability
from malaprop.engine.cache import OnDisk
from malaprop.records.outcome import compare_key
from malaprop.runs.local import run


def attacked(model, examples):
    return {o.id: o for o in run(listed(), model, examples, services=toy_services(model))}


def test_the_second_run_asks_only_what_verifies(tmp_path):
    examples = some_examples(12)
    calls = Calls()
    plain = attacked(victim(), examples)
    first = attacked(OnDisk(victim(calls), tmp_path / "answers.db"), examples)
    asked = len(calls.texts)
    second = attacked(OnDisk(victim(calls), tmp_path / "answers.db"), examples)
    won = [o for o in second.values() if o.status == "success"]
    assert won
    assert len(calls.texts) - asked == len(won)
    for outcomes in (first, second):
        assert {k: compare_key(o) for k, o in outcomes.items()} == {k: compare_key(o) for k, o in plain.items()}


def test_it_is_the_victim_it_wraps(tmp_path):
    inner = victim(fingerprint="abc", unknown="<unk>", labels=2)
    model = OnDisk(inner, tmp_path / "answers.db")
    assert (model.name, model.fingerprint, model.unknown, model.labels) == ("toy", "abc", "<unk>", 2)
    assert model.offers == {Capability.LABELS, Capability.SCORES}


def test_its_label_names_are_those_of_the_victim(tmp_path):
    inner = victim(fingerprint="abc", label_names=("positive", "negative"))
    model = OnDisk(inner, tmp_path / "answers.db")
    assert model.label_names == ("positive", "negative")
    assert model.inside is inner
