"""One process: shards, capabilities, errors, and what an outcome holds."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.attack import Ending
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.core.errors import AssetError, SettingError
from malaprop.core.example import Example
from malaprop.engine.service import Tally
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.runs.local import outcome, run


def test_outcomes_come_as_attacks_end_and_examples_are_read_by_the_shard(monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.local.SHARD", 4)
    read = []

    def rows():
        for row in toy.some_examples(12):
            read.append(row.id)
            yield row

    running = run(listed(), toy.victim(), rows(), width=2)
    next(running)
    assert len(read) == 4
    assert len(list(running)) == 11


@pytest.mark.parametrize("shard", [1, 3, 7])
def test_shards_change_nothing(monkeypatch, shard, toy_examples):
    whole = [compare_key(o) for o in attack_all(listed(), toy_examples)]
    monkeypatch.setattr("malaprop.frame.runs.local.SHARD", shard)
    assert [compare_key(o) for o in attack_all(listed(), toy_examples, width=4, lanes=2)] == whole


def test_a_run_that_is_left_early_leaves_no_counts_behind(toy_examples):
    target = toy.victim()
    services = toy.toy_services(target)
    running = run(listed(), target, toy_examples, width=24, services=services)
    next(running)
    running.close()
    again = attack_all(listed(), toy_examples, target, services=services)
    assert [o.queries for o in again] == [o.queries for o in attack_all(listed(), toy_examples)]


def test_settings_are_checked_before_the_first_query(toy_examples):
    calls = toy.Calls()
    with pytest.raises(SettingError, match="width must be at least 1"):
        list(run(listed(), toy.victim(calls), toy_examples, width=0))
    with pytest.raises(SettingError, match="seed must be 0 or more"):
        list(run(listed(), toy.victim(calls), toy_examples, seed=-1))
    assert calls.texts == []


@pytest.mark.parametrize(("width", "calls"), [(4, 12), (24, 30)])
def test_examples_that_found_no_memory_beside_others_are_attacked_again_alone(width, calls, toy_examples):
    left = iter(range(calls))

    def predict(texts):
        if next(left, None) is not None:
            raise RuntimeError("CUDA out of memory. Tried to allocate 32.00 MiB")
        return toy.predict(texts)

    made = attack_all(listed(), toy_examples, toy.victim(predict), width=width)
    assert next(left, None) is None  # memory was short
    assert [compare_key(o) for o in made] == [compare_key(o) for o in attack_all(listed(), toy_examples)]


def test_an_example_that_finds_no_memory_alone_ends_in_an_error(toy_examples):
    def predict(texts):
        if any("film" in str(text) for text in texts):
            raise MemoryError
        return toy.predict(texts)

    made = attack_all(listed(), toy_examples, toy.victim(predict))
    assert {o.status for o in made} > {"error"}
    assert {o.reason for o in made if o.status == "error"} == {"toy raised MemoryError: MemoryError"}


def test_no_examples_no_outcomes():
    assert list(run(listed(), toy.victim(), [])) == []


def test_a_missing_asset_ends_the_run_and_is_no_examples_fault(toy_examples):
    class NoAsset:
        def words(self, trial, slots):
            yield from ()
            raise AssetError("wordnet cannot be had")

    with pytest.raises(AssetError, match="wordnet cannot be had"):
        attack_all(listed(candidates=NoAsset()), toy_examples)


def test_a_missing_service_is_an_error_of_the_examples_that_ask_it():
    target = toy.victim()
    services = {k: v for k, v in toy.toy_services(target).items() if k != "encoder/rough"}
    rows = toy.examples(["fine film", "nice film"])
    reached, not_reached = attack_all(listed(constraints=(SentenceCosine(),)), rows, target, services=services)
    assert (reached.status, reached.reason) == ("error", "nothing here answers to 'encoder/rough'")
    assert not_reached.status == "failed"
    original = attack_all(listed(), rows, toy.victim())[0].original
    assert reached.original == original, "the victim's answer to the original is kept"


def test_an_outcome_of_an_ending():
    example = Example("x", {"text": "a film"}, 1)
    made = outcome(example, Ending("error", None, None, None, None, 0, "why"), Tally(), 5, 0.25)
    assert (made.status, made.reason, made.seed, made.seconds) == ("error", "why", 5, 0.25)
    assert made.original.prediction is None
    assert made.adversarial is None
    skipped = outcome(
        example,
        Ending("skipped", None, np.asarray([0.75, 0.25], np.float32), None, None, 1, "r"),
        Tally([np.array([1])], 1),
        0,
        0,
    )
    assert (skipped.original.prediction, skipped.original.scores) == (0, (0.75, 0.25))
    assert (skipped.queries.asked, skipped.queries.unique, skipped.queries.forwarded) == (1, 1, 1)


def test_edits_put_into_their_slots_give_the_adversarial_text(toy_examples):
    from malaprop.core.text import Text, Words

    for made in attack_all(listed(), toy_examples):
        if made.adversarial is not None:
            text = Text.of(made.original.fields, Words())
            for edit in made.edits:
                assert text.strings[edit.slot] == edit.before
                text = text.put(edit.slot, edit.after)
            assert text.fields == made.adversarial.fields
            assert made.changed_share == pytest.approx(len(made.edits) / text.slots, abs=1e-6)


def test_a_run_collects_old_garbage_rarely_until_it_ends():
    before = gc.get_threshold()
    running = run(listed(), toy.victim(), toy.some_examples(3))
    next(running)
    assert gc.get_threshold() == (*before[:2], 100)
    running.close()
    assert gc.get_threshold() == before


def test_garbage_collection_that_is_set_anew_during_a_run_stays_so():
    before = gc.get_threshold()
    running = run(listed(), toy.victim(), toy.some_examples(3))
    next(running)
    try:
        gc.set_threshold(50_000, 20, 30)
        running.close()
        assert gc.get_threshold() == (50_000, 20, 30)
    finally:
        gc.set_threshold(*before)


def test_runs_side_by_side_leave_garbage_collection_as_it_was():
    before = gc.get_threshold()
    one, other = (run(listed(), toy.victim(), toy.some_examples(3)) for _ in range(2))
    next(one), next(other)
    one.close()
    other.close()
    assert gc.get_threshold() == before
