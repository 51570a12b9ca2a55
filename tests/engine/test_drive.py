"""drive on generators of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import toy
from toy import attack_all, listed, only

from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import AssetError
from malaprop.engine.drive import drive


class Doubling:
    """Answers a number with its double, and notes the rounds."""

    def __init__(self) -> None:
        self.rounds: list[list[list[int]]] = []

    def begin(self, asks: Sequence[Sequence[int]]) -> list[list[int]]:
        self.rounds.append([list(ask) for ask in asks])
        return self.rounds[-1]

    def finish(self, pending: list[list[int]]) -> list[list[int]]:
        if any(item == 13 for ask in pending for item in ask):
            raise ZeroDivisionError("thirteen")
        return [[2 * item for item in ask] for ask in pending]


def climb(first: int, turns: int) -> Steps[list[int]]:
    seen = [first]
    for _ in range(turns):
        seen += yield Ask("double", [seen[-1]])
    return seen


def careful(first: int) -> Steps[Any]:
    try:
        return (yield Ask("double", [first]))
    except ServiceFailed as failure:
        return str(failure)


@pytest.mark.parametrize("width", [1, 2, 3, 16])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_every_attack_ends_with_its_own_answers(width, lanes):
    jobs = [(n, climb(n, n % 4)) for n in range(1, 12)]
    found = dict(drive(iter(jobs), {"double": Doubling()}, width=width, lanes=lanes))
    assert found == {n: [n * 2**k for k in range(n % 4 + 1)] for n in range(1, 12)}


def test_no_more_than_width_are_in_flight_and_a_free_place_is_filled_at_once():
    service, begun = Doubling(), []

    def jobs():
        for n in range(1, 7):
            begun.append(n)
            yield n, climb(n, 2 if n == 1 else 1)

    seen = [name for name, _ in drive(jobs(), {"double": service}, width=2)]
    assert [len(asks) for asks in service.rounds] == [2, 2, 2, 1]
    assert seen[0] == 2
    assert begun == [1, 2, 3, 4, 5, 6]


def test_the_queue_is_read_as_places_come_free():
    begun = []

    def jobs():
        for n in range(1, 100):
            begun.append(n)
            yield n, climb(n, 1)

    running = drive(jobs(), {"double": Doubling()}, width=3)
    next(running)
    assert len(begun) <= 4


def test_no_attacks_and_attacks_that_ask_nothing():
    def silent() -> Steps[str]:
        assert (yield Ask("double", [])) == []
        assert (yield Ask("no such service", ())) == []
        return "done"

    assert list(drive([], {}, width=4)) == []
    assert list(drive([("a", silent())], {}, width=4)) == [("a", "done")]


def test_several_services_in_one_round_each_get_one_call():
    one, two = Doubling(), Doubling()

    def ask(service: str) -> Steps[list[int]]:
        return (yield Ask(service, [1, 2]))

    jobs = [(n, ask("one" if n % 2 else "two")) for n in range(6)]
    found = dict(drive(jobs, {"one": one, "two": two}, width=6))
    assert set(map(tuple, found.values())) == {(2, 4)}
    assert [len(asks) for asks in one.rounds] == [3]
    assert [len(asks) for asks in two.rounds] == [3]


@pytest.mark.parametrize("bad", range(5))
def test_a_failure_reaches_only_the_ask_that_fails_alone(bad):
    firsts = [1, 2, 3, 4, 5]
    firsts[bad] = 13
    found = dict(drive([(n, careful(n)) for n in firsts], {"double": Doubling()}, width=5))
    assert found == {n: "ZeroDivisionError: thirteen" if n == 13 else [2 * n] for n in firsts}


def test_a_failure_in_begin_is_isolated_like_one_in_finish():
    class Early(Doubling):
        def begin(self, asks):
            if any(13 in ask for ask in asks):
                raise KeyError("thirteen")
            return super().begin(asks)

    found = dict(drive([(n, careful(n)) for n in (12, 13, 14)], {"double": Early()}, width=3))
    assert found == {12: [24], 13: "KeyError: 'thirteen'", 14: [28]}


def test_a_transient_failure_is_retried_and_nobody_notices():
    class Shaky(Doubling):
        failed = False

        def finish(self, pending):
            if not self.failed:
                self.failed = True
                raise ConnectionError("try again")
            return super().finish(pending)

    found = dict(drive([(n, careful(n)) for n in (1, 2, 3)], {"double": Shaky()}, width=3))
    assert found == {1: [2], 2: [4], 3: [6]}


def test_a_missing_service_is_named():
    found = dict(drive([(n, careful(n)) for n in (1, 2)], {}, width=2))
    assert set(found.values()) == {"nothing here answers to 'double'"}


def test_a_service_that_answers_too_few_asks_fails_them():
    class Short(Doubling):
        def finish(self, pending):
            return super().finish(pending)[:-1]

    found = dict(drive([(n, careful(n)) for n in (1, 2)], {"double": Short()}, width=2))
    assert set(found.values()) == {"RuntimeError: a service answered 0 of 1 asks"}


def test_a_missing_asset_ends_the_run():
    class Assetless(Doubling):
        def finish(self, pending):
            raise AssetError("no such asset")

    with pytest.raises(AssetError, match="no such asset"):
        list(drive([(1, careful(1))], {"double": Assetless()}, width=2))


# --- victims that fail, through the whole attack


def test_a_victim_that_raises_for_one_text_costs_that_example_alone():
    def call(texts):
        if any("cursed" in text for text in texts):
            raise RuntimeError("cannot\nread this")
        return toy.predict(texts)

    rows = toy.examples(["a good film", "a cursed good film", "an awful film", "great"])
    outcomes = attack_all(listed(), rows, toy.victim(call), width=4)
    assert [o.status for o in outcomes] == ["failed", "error", "failed", "failed"]
    assert outcomes[1].reason == "toy raised RuntimeError: cannot read this"
    rest = [o for i, o in enumerate(outcomes) if i != 1]
    plain = attack_all(listed(), [r for i, r in enumerate(rows) if i != 1], width=4)
    assert [o.adversarial for o in rest] == [o.adversarial for o in plain]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_victim_that_fails_one_call_changes_no_outcome(failing, toy_examples):
    calls = 0

    def call(texts):
        nonlocal calls
        calls += 1
        if calls == failing:
            raise TimeoutError("busy")
        return toy.predict(texts)

    shaky = attack_all(listed(), toy_examples, toy.victim(call), width=8)
    steady = attack_all(listed(), toy_examples, width=8)
    assert [(o.status, o.adversarial, o.queries) for o in shaky] == [
        (o.status, o.adversarial, o.queries) for o in steady
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda texts: [[float("nan"), 1.0] for _ in texts], "nan"),
        (lambda texts: [[float("inf"), 1.0] for _ in texts], "inf"),
        (lambda texts: [[0.5, 0.5]] * (len(texts) + 1), "expected 1 row,"),
        (lambda texts: [[[0.5, 0.5]] for _ in texts], "expected 1 row,"),
        (lambda texts: [[7.0] for _ in texts], "one number a text, 7 among them"),
        (lambda texts: None, "expected"),
        (lambda texts: [["high", "low"] for _ in texts], "not a table of numbers"),
    ],
)
def test_an_answer_that_is_no_score_is_an_error_with_one_clear_reason(answer, reason):
    outcome = only(listed(), "a good film", toy.victim(answer))
    assert outcome.status == "error"
    assert reason in (outcome.reason or "")
    assert "\n" not in (outcome.reason or "")


def test_a_changing_number_of_labels_is_an_error():
    calls = 0

    def call(texts):
        nonlocal calls
        calls += 1
        return [[0.1, 0.9] if calls == 1 else [0.2, 0.3, 0.5] for _ in texts]

    outcome = only(listed(), "a good film", toy.victim(call))
    assert outcome.status == "error"
    assert "3 labels, expected 2" in (outcome.reason or "")


def ending(first: int, turns: int) -> Steps[int]:
    for _ in range(turns):
        yield Ask("double", [first])
    (answer,) = yield Ask("verify", [first])
    return answer


def test_what_verifies_waits_for_company_while_others_go_on():
    services = {"double": Doubling(), "verify": Doubling()}
    found = dict(drive([(i, ending(20 + i, i)) for i in range(16)], services, width=16))
    assert found == {i: 40 + 2 * i for i in range(16)}
    assert [len(asks) for asks in services["verify"].rounds] == [8, 8]
    alone = {"double": Doubling(), "verify": Doubling()}
    assert dict(drive([(i, ending(20 + i, i)) for i in range(16)], alone, width=1)) == found
    assert [len(asks) for asks in alone["verify"].rounds] == [1] * 16


class Watching(Doubling):
    """Notes how many rounds were in flight when one was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.flying, self.most = 0, 0

    def begin(self, asks: Sequence[Sequence[int]]) -> list[list[int]]:
        self.flying += 1
        return super().begin(asks)

    def finish(self, pending: list[list[int]]) -> list[list[int]]:
        self.most, self.flying = max(self.most, self.flying), self.flying - 1
        return super().finish(pending)


def test_fewer_attacks_than_the_width_are_dealt_out_to_both_lanes():
    service = Watching()
    assert len(list(drive([(n, climb(n, 3)) for n in range(20, 30)], {"double": service}, width=1024, lanes=2))) == 10
    assert service.most == 2, "the device had nothing to do while answers were read"
    assert [len(asks) for asks in service.rounds] == [5] * 6


def test_the_last_few_are_asked_together():
    service = Watching()
    jobs = [(n, climb(n, 5 if n in (20, 50) else 1)) for n in range(20, 52)]  # one in each lane goes on for long
    assert len(list(drive(jobs, {"double": service}, width=1024, lanes=2))) == 32
    assert [len(asks) for asks in service.rounds] == [16, 16, 1, 2, 2, 2, 1]
