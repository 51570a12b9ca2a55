"""Rates, intervals, curves and words, on cases that can be counted on fingers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.frame.records import (
    Edit,
    Outcome,
    Queries,
    Rate,
    Side,
    Status,
    Summary,
    abused_pairs,
    abused_words,
    accuracy_by_change,
    accuracy_by_queries,
)
from malaprop.frame.records.outcome import REJECTS


def outcome(name: int, status: Status, asked: int = 0, share: float = 0.0, *pairs: tuple[str, str]) -> Outcome:
    return Outcome(
        id=str(name),
        status=status,
        label=0,
        original=Side({"text": "x"}, 0),
        adversarial=Side({"text": "y"}, 1) if status in ("success", "failed") else None,
        edits=tuple(Edit("text", i, "replace", *pair) for i, pair in enumerate(pairs)),
        queries=Queries(asked, asked - 1, asked - 2),
        changed_share=share,
        seconds=0.5,
        reason="too long" if status == "error" else None,
        measures={"similarity": 0.8} if status == "success" else {},
    )


OUTCOMES = [
    outcome(1, "success", 10, 0.1, ("Good", "fine"), ("good", "decent")),
    outcome(2, "success", 30, 0.3, ("good", "fine")),
    outcome(3, "failed", 50, 0.5, ("bad", "poor")),
    outcome(4, "skipped", 2),
    outcome(5, "error"),
]


def test_summary_counts_by_hand() -> None:
    found = Summary.of(OUTCOMES)
    assert found.counts == {"success": 2, "failed": 1, "skipped": 1, "error": 1}
    assert (found.clean, found.under_attack, found.success) == (Rate(4, 5), Rate(1, 4), Rate(2, 3))
    assert (found.asked.mean, found.asked.median, found.unique.mean, found.forwarded.mean) == (30, 30, 29, 28)
    assert found.to_break.median == 20
    assert found.changed_share.mean == pytest.approx(0.2)
    assert found.seconds == 2.5
    assert found.measures["similarity"].mean == pytest.approx(0.8)
    assert found.reasons == {"too long": 1}


def test_an_error_counts_for_clean_accuracy_alone_and_only_if_the_victim_answered():
    silent = replace(OUTCOMES[4], original=Side({"text": "x"}))
    wrong = replace(OUTCOMES[4], original=Side({"text": "x"}, 1))
    for error, clean in ((silent, Rate(3, 4)), (wrong, Rate(3, 5)), (OUTCOMES[4], Rate(4, 5))):
        found = Summary.of([*OUTCOMES[:4], error])
        assert (found.clean, found.under_attack, found.success) == (clean, Rate(1, 4), Rate(2, 3))
        assert found.counts["error"] == 1


def test_summary_of_nothing_is_plain_json() -> None:
    plain = Summary.of([]).to_dict()
    assert plain["clean_accuracy"]["value"] is None
    assert plain["queries"]["asked"] == {"mean": None, "median": None}
    json.dumps(plain, allow_nan=False)
    assert json.loads(json.dumps(Summary.of(OUTCOMES).to_dict()))["success"]["hits"] == 2


def test_the_printed_figures_stand_beside_those_of_every_flip() -> None:
    plain = Summary.of(OUTCOMES).to_dict()
    assert (plain["robust_accuracy"], plain["valid_success"]) == (plain["accuracy_under_attack"], plain["success"])
    judged = [replace(one, meaning=0.01) if one.status == "success" else one for one in OUTCOMES]
    summary = Summary.of(judged)
    found = summary.to_dict()
    assert (found["success"], found["accuracy_under_attack"]) == (plain["success"], plain["accuracy_under_attack"])
    assert found["valid_success"] == summary.broken.to_dict()
    assert found["robust_accuracy"] == summary.robust.to_dict()
    assert found["valid_success"]["hits"] == 0


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (Rate(624, 1000), "62.4% (624/1000, 59.4-65.3)"),
        (Rate(0, 10), "0.0% (0/10, 0.0-27.8)"),
        (Rate(10, 10), "100.0% (10/10, 72.2-100.0)"),
        (Rate(0, 0), "n/a (0/0)"),
    ],
)
def test_rates_are_shown_with_count_and_interval(rate: Rate, shown: str) -> None:
    assert str(rate) == shown


@given(st.integers(0, 2000), st.integers(1, 2000))
def test_intervals_hold_the_rate_and_mirror(hits: int, total: int) -> None:
    hits = min(hits, total)
    low, high = Rate(hits, total).interval
    assert 0 <= low <= hits / total + 1e-12
    assert hits / total - 1e-12 <= high <= 1
    assert Rate(total - hits, total).interval == pytest.approx((1 - high, 1 - low))


def test_curves_fall_where_examples_break() -> None:
    assert [(p.at, p.accuracy.hits) for p in accuracy_by_queries(OUTCOMES)] == [(10, 2), (30, 1)]
    given_budgets = accuracy_by_queries(OUTCOMES, [9, 29, 30, 1000])
    assert [(p.at, p.accuracy) for p in given_budgets] == [
        (9, Rate(3, 4)),
        (29, Rate(2, 4)),
        (30, Rate(1, 4)),
        (1000, Rate(1, 4)),
    ]
    assert [(p.at, p.accuracy.hits) for p in accuracy_by_change(OUTCOMES, [0.05, 0.1, 0.3])] == [
        (0.05, 3),
        (0.1, 2),
        (0.3, 1),
    ]


def test_abused_words_are_of_successes() -> None:
    assert abused_pairs(OUTCOMES) == {("good", "fine"): 2, ("good", "decent"): 1}
    assert abused_words(OUTCOMES) == {"good": 2}


def answered(name: int, label: int, prediction: int, reason: str | None = None) -> Outcome:
    status: Status = "failed" if label == prediction else "skipped"
    scores = (0.9, 0.1) if prediction == 0 else (0.1, 0.9)
    return replace(outcome(name, status), label=label, original=Side({"text": "x"}, prediction, scores), reason=reason)


def test_clean_accuracy_below_chance_and_below_the_majority_is_warned_of() -> None:
    turned = [answered(i, label=i % 2, prediction=1 - i % 2) for i in range(8)] + [answered(8, 1, 1)]
    (line,) = Summary.of(turned).warnings
    assert "11.1% (1/9" in line
    assert "below chance (50.0%) and below the most common label (55.6%)" in line
    assert not Summary.of([answered(i, label=i % 2, prediction=1) for i in range(8)]).warnings
    assert not Summary.of([answered(i, label=1, prediction=int(i > 2)) for i in range(8)]).warnings  # one label alone


def test_where_most_texts_are_rejected_the_order_of_labels_is_not_doubted() -> None:
    rejected = [replace(answered(i, i % 2, 1 - i % 2, REJECTS)) for i in range(8)]
    (line,) = Summary.of([*rejected, answered(8, 1, 1), answered(9, 0, 0)]).warnings
    assert line == "clean accuracy 20.0% (2/10, 5.7-51.0) is low because 8 of 10 texts are rejected without an attack"
    assert not Summary.of([*rejected[:2], answered(8, 1, 1), answered(9, 0, 0)]).warnings


def test_texts_with_nothing_to_change_stand_beside_the_rates() -> None:
    found = Summary.of([*OUTCOMES, answered(9, 0, 0, "nothing to change")])
    assert (found.nothing_to_change, found.apart) == (1, "1 nothing to change")
    assert found.success == Rate(2, 4)
    assert found.to_dict()["nothing_to_change"] == 1
    assert found.warnings[0].startswith("this attack found nothing to change in 1 of 4 texts")
