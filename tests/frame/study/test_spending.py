"""Spending limits: never exceeded, nothing finished is lost, and a higher limit goes on to the same outcomes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import toy

import malaprop as mp
from malaprop.core.budget import Budget, BudgetClient, Charge, Limits, Meter
from malaprop.core.errors import LimitReached, SettingError
from malaprop.features.audit.study import Audit
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.spending import SpendingRecord
from malaprop.frame.study.run_options import SpendingWriter
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.task import ExampleGroups
from malaprop.models.victims.requests import Throttle
from malaprop.models.victims.strings import StringVictim


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    lines = "".join(f'"{row.fields["text"]}",{row.label}\n' for row in toy.some_examples(30))
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}")
    return tmp_path


def audit(victim="toy:predict", **more):
    given = {"victim": (victim,), "attacks": "keyboard,homoglyph", "data": "rows.csv", "device": "cpu", "n": 0}
    return conduct(build(Audit, {**given, "quiet": True, "validity": "paper", **more}))


def keys(found):
    return {name: {compare_key(o) for o in outcomes} for name, outcomes in found.runs.items()}


def paid(fingerprint: str = "") -> tuple[StringVictim, toy.Calls]:
    """A victim that counts its tokens: one a letter in, two out."""
    calls, meter = toy.Calls(), Meter()

    def ask(texts):
        meter.queries += len(texts)
        meter.tokens_in += sum(map(len, texts))
        meter.tokens_out += 2 * len(texts)
        return calls(texts)

    return StringVictim(call=ask, name="paid", meter=meter, fingerprint=fingerprint), calls


@pytest.mark.parametrize("more", [{"width": 1}, {"width": 64}, {"jobs": 2}])
def test_no_more_is_asked_than_the_limit_and_a_higher_one_goes_on_to_the_same_outcomes(place, more):
    whole = audit(out="whole")
    part = audit(out="part", max_queries=400, **more)
    assert part.state == "budget"
    assert 300 < part.spent.queries <= 400
    assert part.spent.reached == "--max-queries 400"
    done = keys(part)
    assert all(found <= keys(whole)[name] for name, found in done.items())
    assert Run.read(place / "part/toy-predict/keyboard").state == "budget"
    assert "stopped by --max-queries 400 after" in " ".join(part.view.notes)
    assert "Ended by its budget: --max-queries 400 was reached" in (place / "part/report.html").read_text()
    again = audit(out="part", max_queries=100_000, resume=True, **more)
    assert again.state == "done"
    assert keys(again) == keys(whole)
    assert Run.read(place / "part/toy-predict/keyboard").state == "done"
    assert again.spent.queries > part.spent.queries  # earlier attempts count


def test_queries_are_what_the_victim_was_asked(place):
    victim, calls = paid()
    found = audit(victim, out="out", max_queries=300)
    assert found.spent.queries == len(calls.texts) <= 300


def test_tokens_and_money_are_counted_to_the_token(place):
    victim, calls = paid()
    found = audit(victim, out="out", price_in=10.0, price_out=100.0, max_cost=0.2)
    spent, meter = found.spent, victim.meter
    assert (spent.tokens_in, spent.tokens_out) == (meter.tokens_in, meter.tokens_out)
    assert spent.cost == pytest.approx((10 * meter.tokens_in + 100 * meter.tokens_out) / 1e6)
    assert spent.state == "budget"
    assert 0.15 < spent.cost < 0.21  # a round is computed beforehand by the mean
    assert calls.texts


def test_time_is_limited_too(place):
    def slow(texts):
        time.sleep(0.1)
        return toy.predict(texts)

    found = audit(slow, out="out", max_minutes=0.05, n=30, width=1)
    assert found.state == "budget"
    assert found.spent.seconds < 12


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_queries": 1}, "--max-queries 1 is smaller than one example takes: none was done"),
        ({"max_cost": 1.0}, "--max-cost needs a price"),
        ({"price_in": -1}, "--price-in must be at least 0, got -1"),
        ({"max_cost": 0, "price_in": 1}, "--max-cost must be more than 0, got 0"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused_in_one_line(more, words):
    with pytest.raises(SettingError, match=words):
        audit(out="out", **more)


def test_a_dry_run_writes_nothing_and_what_it_paid_for_is_not_paid_again(place):
    victim, calls = paid("abc")
    said = audit(victim, out="out", price_in=10.0, dry_run=True)
    assert not Path("out").exists()
    totals = said.record.totals()
    sampled = set(calls.texts)
    before = len(calls.texts)
    found = audit(victim, out="out", price_in=10.0)
    won = [o for o in found.outcomes if o.status == "success"]
    fresh = calls.texts[before:]
    assert len(set(fresh) & sampled) <= len(won)  # a success is verified by a fresh query, and nothing else is asked
    assert len(calls.texts) - len(set(calls.texts)) <= 2 * len(won) + 2
    assert totals["queries"] == pytest.approx(found.spent.queries + before, rel=0.5)
    assert totals["cost"] is not None


def test_the_ledger_holds_whatever_workers_do_side_by_side():
    ledger = Budget(limits=Limits(queries=1000, tokens=50_000))
    rng = np.random.default_rng(0)

    def work(seed: int) -> None:
        purse, draws = BudgetClient(ledger.draw, ledger.limits), np.random.default_rng(seed)
        for _ in range(500):
            asked = int(draws.integers(1, 40))
            try:
                purse.draw(asked)
            except LimitReached:
                return
            purse.settle(asked, 10 * asked, asked)
        raise AssertionError("it was never stopped")

    for seed in rng.integers(0, 99, 4):
        work(int(seed))
    assert 960 < ledger.spent.queries <= 1000
    assert ledger.spent.tokens_in == 10 * ledger.spent.queries
    assert ledger.draw(Charge(queries=1000)).reached == "--max-queries 1000"


def test_what_is_spent_is_on_disk_before_the_answers_come(tmp_path):
    """Though the victim may be slow, and the run be killed meanwhile."""
    ledger = Budget(limits=Limits(queries=100))
    with SpendingWriter(ledger, tmp_path):
        ledger.draw(Charge(queries=40))
        assert SpendingRecord.read(tmp_path).queries == 40
        ledger.draw(Charge(queries=20))
        ledger.draw(Charge(answered=60, tokens_in=300))
        until = time.monotonic() + 10
        while (known := SpendingRecord.read(tmp_path)) is None or known.tokens_in < 300:
            assert time.monotonic() < until, "what came just behind another bill was never written"
            time.sleep(0.002)
        assert known.queries == 60


def test_groups_grow_while_there_is_much_left_and_shrink_to_one():
    used, sizes = 0.0, []
    groups = ExampleGroups(lambda: used)
    while used < 0.999:
        before = groups.front
        groups.advance(before)
        sizes.append(groups.front - before)
        used += 0.01 * sizes[-1]  # an item costs a hundredth of the limit
    assert sizes[:5] == [1, 2, 4, 8, 16]
    assert sizes[-1] == 1
    assert sum(sizes) == 100  # all of it is used


def test_the_pace_is_learnt_from_refusals():
    pace, running, most, taken, guard = Throttle(), 0, [], [], threading.Lock()

    def ask() -> None:
        nonlocal running
        while True:
            with pace.turn():
                with guard:
                    running += 1
                    most.append(running)
                    refused = running > 3
                time.sleep(0.002)
                with guard:
                    running -= 1
            if not refused:
                pace.rise()
                taken.append(1)
                return
            pace.fall(0.005)

    threads = [threading.Thread(target=ask) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 60
    assert max(most) > 3
    assert sum(one > 3 for one in most) < len(most) / 2


def test_a_record_says_what_was_spent_and_is_read_back(tmp_path):
    record = SpendingRecord.of(Budget(limits=Limits(price_in=2.0), spent=Meter(3, 1_000_000, 5), seconds=60), "done")
    record.write(tmp_path)
    assert SpendingRecord.read(tmp_path) == record
    assert record.describe() == "3 queries, 1,000,000 tokens in and 5 out, a cost of 2, 1.0 minutes"


def test_the_keywords_are_in_python_too(place):
    found = mp.audit(
        toy.predict, "rows.csv", attacks=["keyboard"], n=0, device="cpu", max_queries=200, validity="paper"
    )
    assert found.state == "budget"
