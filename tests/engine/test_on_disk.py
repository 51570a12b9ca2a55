"""A victim whose answers are kept on disk."""

from __future__ import annotations

import numpy as np
from toy import Calls, listed, some_examples, toy_services, victim

from malaprop.core.capability import Capability
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.engine.paid import Paid
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.runs.local import run


def attacked(model, examples):
    return {o.id: o for o in run(listed(), model, examples, services=toy_services(model))}


def test_the_second_run_asks_only_what_verifies(tmp_path):
    examples = some_examples(12)
    calls = Calls()
    plain = attacked(victim(), examples)
    first = attacked(Paid(victim(calls), tmp_path / "answers.db"), examples)
    asked = len(calls.texts)
    second = attacked(Paid(victim(calls), tmp_path / "answers.db"), examples)
    won = [o for o in second.values() if o.status == "success"]
    assert won
    assert len(calls.texts) - asked == len(won)
    for outcomes in (first, second):
        assert {k: compare_key(o) for k, o in outcomes.items()} == {k: compare_key(o) for k, o in plain.items()}


def test_it_is_the_victim_it_wraps(tmp_path):
    inner = victim(fingerprint="abc", unknown="<unk>", labels=2)
    model = Paid(inner, tmp_path / "answers.db")
    assert (model.name, model.fingerprint, model.unknown, model.labels) == ("toy", "abc", "<unk>", 2)
    assert model.offers == {Capability.LABELS, Capability.SCORES}


def test_its_label_names_are_those_of_the_victim(tmp_path):
    inner = victim(fingerprint="abc", label_names=("positive", "negative"))
    model = Paid(inner, tmp_path / "answers.db")
    assert model.label_names == ("positive", "negative")
    assert model.inside is inner


def test_another_order_of_labels_gets_no_old_answers(tmp_path):
    path, table = tmp_path / "answers.db", Words()
    pool = Pool([Variants.itself(Text.of("a good film", table))])
    for names, turn in ((("bad", "good"), 1), (("good", "bad"), -1)):
        model = Paid(victim(lambda texts, turn=turn: [[0.2, 0.8][::turn] for _ in texts], label_names=names), path)
        assert model.finish(model.begin(pool, np.arange(1))).argmax() == names.index("good")


def test_a_victim_without_a_fingerprint_is_kept_under_its_name_and_that_is_said(tmp_path):
    nameless = Paid(victim(), tmp_path / "a.db")
    assert nameless.notes == (
        "toy has no fingerprint, so its answers are kept under its name: remove the cache when it changes",
    )
    assert Paid(victim(fingerprint="abc"), tmp_path / "b.db").notes == ()
