"""A victim's engine loop: asks of several clients pool, and what goes wrong for one stays with one."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import toy

from malaprop.core.ask import Ask
from malaprop.core.errors import DataError
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.features.playground import victim_thread as desks
from malaprop.features.playground.input_checks import BusyError, ShownError, StoppedError
from malaprop.features.playground.jobs import attack_on, scores_of
from malaprop.features.playground.victim_thread import VictimThread


class Gate:
    """A victim's function that waits until it is let go."""

    def __init__(self) -> None:
        self.open, self.asked = threading.Event(), threading.Event()
        self.calls = toy.Calls()

    def __call__(self, texts: Any) -> Any:
        self.asked.set()
        assert self.open.wait(30)
        return self.calls(texts)


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.open.set()


@pytest.fixture
def desk(gate):
    made = VictimThread(toy.victim(gate), "toy")
    yield made
    gate.open.set()
    made.close()
    assert not made._thread.is_alive()


def fields(text: str) -> dict[str, str]:
    return {"text": text}


def test_asks_that_wait_together_are_one_batch(desk, gate):
    first = desk.submit(scores_of(fields("a good film")))
    assert gate.asked.wait(10)
    others = [desk.submit(scores_of(fields(f"{word} film"))) for word in ("great", "bad", "awful")]
    gate.open.set()
    (row, tally), *rest = [job.future.result(10) for job in (first, *others)]
    assert row[1] == pytest.approx(toy.predict(["a good film"])[0][1])
    assert [bool(r[1] > 0.5) for r, _ in rest] == [True, False, False]
    assert gate.calls.batches == 2, "the three that came meanwhile went together"
    assert tally.forwarded == 1


def test_an_error_stays_with_its_job(desk, gate):
    gate.open.set()

    def broken(table: Words, owner: int):
        yield Ask("victim", [Variants.itself(Text.of("good", table, owner))])
        raise DataError("no such thing")

    jobs = [desk.submit(make) for make in (scores_of(fields("good")), broken, scores_of(fields("bad")))]
    assert jobs[0].future.result(10)[0][1] > 0.5
    with pytest.raises(DataError, match="no such thing"):
        jobs[1].future.result(10)
    assert jobs[2].future.result(10)[0][1] < 0.5


def test_a_service_that_is_not_there_is_an_error_of_its_job(desk, gate):
    gate.open.set()

    def asks_nobody(table: Words, owner: int):
        yield Ask("oracle", ["when"])

    with pytest.raises(ShownError, match="nothing here answers to 'oracle'"):
        desk.submit(asks_nobody).future.result(10)


def test_a_stopped_job_asks_no_more(desk, gate):
    rounds = []

    def endless(table: Words, owner: int):
        while True:
            rounds.append(1)
            yield Ask("victim", [Variants.itself(Text.of(f"good {len(rounds)}", table, owner))])

    job = desk.submit(endless)
    assert gate.asked.wait(10)
    job.stop.set()
    gate.open.set()
    with pytest.raises(StoppedError):
        job.future.result(10)
    asked = len(rounds)
    assert desk.submit(scores_of(fields("good"))).future.result(10)
    assert len(rounds) == asked <= 2


def test_a_full_queue_is_refused(desk, gate, monkeypatch):
    desk.submit(scores_of(fields("good")))
    assert gate.asked.wait(10)
    for _ in range(desks.QUEUE):
        desk.submit(scores_of(fields("good")))
    with pytest.raises(BusyError, match="try again in a moment"):
        desk.submit(scores_of(fields("good")))


def test_tables_are_renewed(desk, gate, monkeypatch):
    monkeypatch.setattr(desks, "RENEW", 2)
    gate.open.set()
    tables: list[int] = []

    def noted(table: Words, owner: int):
        tables.append(owner)
        return scores_of(fields("good"))(table, owner)

    jobs = [desk.submit(noted) for _ in range(7)]
    for job in jobs:
        job.future.result(10)
    assert max(tables) < 2, "owners begin anew with every table"


def test_the_thread_outlives_a_broken_engine(desk, gate, monkeypatch):
    gate.open.set()

    def broken(*_: Any, **__: Any):
        raise RuntimeError("key=secret")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(desks, "drive", broken)
        job = desk.submit(scores_of(fields("good")))
        with pytest.raises(ShownError, match="toy did not answer") as caught:
            job.future.result(10)
        assert "secret" not in str(caught.value)
    assert desk.submit(scores_of(fields("good"))).future.result(10)


def test_an_attack_at_a_desk_is_the_attack_of_a_run(desk, gate):
    gate.open.set()
    (example,) = toy.examples(["a good film and a great plot"])
    ending, tally = desk.submit(attack_on(desk, toy.listed(), example, 0)).future.result(10)
    outcome = toy.only(toy.listed(), "a good film and a great plot")
    assert (ending.status, str(ending.final), ending.asked) == (
        outcome.status,
        outcome.adversarial.text,
        outcome.queries.asked,
    )
    assert tally.unique == outcome.queries.unique
