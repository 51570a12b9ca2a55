"""Outcomes to a line of JSON and back, with whatever strings attacks make."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import RecordError
from malaprop.core.text import Text, Words
from malaprop.frame.records import (
    OPS,
    STATUSES,
    Edit,
    Outcome,
    Queries,
    Side,
    compare_key,
    edits_between,
    from_json,
    to_json,
)

HOSTILE = "</script><!-- \u2028\u2029\x85\x1e\x00\x7f\r\n\t\"'\\ \U0001f600 e\u0301 \u202e"

strings = st.text(max_size=12) | st.just(HOSTILE)
sides = st.builds(
    Side,
    fields=st.dictionaries(strings, strings, min_size=1, max_size=3),
    prediction=st.none() | st.integers(0, 9),
    scores=st.lists(st.floats(allow_nan=False) | st.floats(0, 1), max_size=4).map(tuple),
)
edits = st.builds(Edit, strings, st.integers(0, 99), st.sampled_from(OPS), strings, strings)
outcomes = st.builds(
    Outcome,
    id=strings,
    status=st.sampled_from(STATUSES),
    label=st.integers(-5, 5),
    original=sides,
    adversarial=sides,
    edits=st.lists(edits, max_size=3).map(tuple),
    queries=st.builds(Queries, st.integers(0), st.integers(0), st.integers(0)),
    changed_share=st.floats(0, 1),
    seconds=st.floats(0, 1e6),
    seed=st.integers(),
    reason=st.none() | strings,
    measures=st.dictionaries(strings, st.floats(-1, 1), max_size=2),
)


def outcome(**changes: object) -> Outcome:
    base: dict[str, object] = {
        "id": "a",
        "status": "success",
        "label": 1,
        "original": Side({"text": "good"}, 1, (0.1, 0.9)),
    }
    return Outcome(**{**base, "adversarial": Side({"text": "bad"}, 0, (0.9, 0.1)), **changes})  # type: ignore[arg-type]


@given(outcomes)
def test_what_is_read_is_what_was_written(one: Outcome) -> None:
    line = to_json(one)
    assert len(line.splitlines()) == 1
    assert from_json(line.encode("utf-8")) == one


def test_keys_on_disk_are_those_promised() -> None:
    one = outcome(edits=(Edit("text", 0, "replace", "good", "bad"),), queries=Queries(3, 2, 1), reason="why")
    plain = json.loads(to_json(one))
    assert list(plain) == [
        *("id", "status", "label", "original", "adversarial", "edits", "queries", "changed_share", "seconds", "seed"),
        "reason",
    ]
    assert plain["edits"] == [{"field": "text", "slot": 0, "op": "replace", "from": "good", "to": "bad"}]
    assert plain["original"] == {"fields": {"text": "good"}, "prediction": 1, "scores": [0.1, 0.9]}
    assert plain["queries"] == {"asked": 3, "unique": 2, "forwarded": 1}


def test_a_lone_surrogate_survives_the_file() -> None:
    one = outcome(status="error", adversarial=None, original=Side({"text": "a\ud800b"}), reason="lone surrogate")
    assert from_json(to_json(one).encode("utf-8")) == one


def test_scores_are_rounded_when_made_and_may_be_infinite() -> None:
    side = Side({"text": "x"}, 0, (0.12345678, float("-inf")))
    assert side.scores == (0.123457, float("-inf"))
    assert from_json(to_json(outcome(original=side))).original == side


def test_text_joins_fields() -> None:
    assert Side({"text": "one"}).text == "one"
    assert Side({"premise": "one", "hypothesis": "two"}).text == "one\ntwo"


def _without(key: str) -> dict[str, object]:
    return {k: v for k, v in json.loads(to_json(outcome())).items() if k != key}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "one line of JSON"),
        ("[]", "must be an object"),
        ("[" * 100_000, "one line of JSON"),
        (json.dumps(_without("queries")), "lacks 'queries'"),
        (json.dumps({**_without(""), "label": "1"}), "'label' must be a whole number, got '1'"),
        (json.dumps({**_without(""), "label": True}), "'label' must be a whole number"),
        (json.dumps({**_without(""), "status": "won"}), "must be one of success, failed, skipped, error"),
        (json.dumps({**_without(""), "original": {"fields": {"text": 3}}}), "'original.fields.text' must be a string"),
        (json.dumps({**_without(""), "edits": [{"field": "text"}]}), "lacks 'edits.slot'"),
        (json.dumps({**_without(""), "adversarial": None}), "needs an adversarial side"),
        (json.dumps({**_without(""), "seconds": "soon"}), "'seconds' must be a number"),
    ],
)
def test_a_wrong_line_is_named_in_one_line(line: str, says: str) -> None:
    with pytest.raises(RecordError, match=says) as caught:
        from_json(line)
    assert "\n" not in str(caught.value)


def test_keys_of_later_versions_are_passed_over() -> None:
    assert from_json(json.dumps({**_without(""), "later": [1]})) == outcome()


def test_compare_key_sets_aside_what_the_company_decides() -> None:
    one = outcome(queries=Queries(3, 2, 1), seconds=1.0)
    assert compare_key(one) == compare_key(outcome(queries=Queries(3, 2, 2), seconds=9.0))
    for other in (outcome(queries=Queries(4, 2, 1)), outcome(queries=Queries(3, 2, 1), label=0)):
        assert compare_key(one) != compare_key(other)
    moved = outcome(queries=Queries(3, 2, 1), original=Side({"text": "good"}, 1, (0.100001, 0.9)))
    assert compare_key(one) != compare_key(moved)
    assert compare_key(one, scores=False) == compare_key(moved, scores=False)


def test_edits_between_name_field_slot_and_kind() -> None:
    origin = Text.of({"premise": "a moving film", "hypothesis": "it is good"}, Words())
    now = origin.drop(1).put(4, "was").insert(5, "very", after=False)
    assert edits_between(origin, now) == (
        Edit("premise", 1, "delete", "moving", ""),
        Edit("hypothesis", 4, "replace", "is", "was"),
        Edit("hypothesis", 5, "insert", "good", "very good"),
    )
    assert edits_between(origin, origin) == ()
