"""Marking what changed: from edits where they explain the text, else by comparing words."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.text import Text, Words
from malaprop.frame.records import Edit, Outcome, Side, edits_between
from malaprop.frame.report import Patch, mark_changes, patches
from malaprop.frame.report.diff import show_unseen


def outcome(old: Mapping[str, str], new: Mapping[str, str], edits: tuple[Edit, ...] = ()) -> Outcome:
    return Outcome(
        id="a", status="success", label=0, original=Side(dict(old)), adversarial=Side(dict(new)), edits=edits
    )


def shown(one: Outcome) -> list[str]:
    marks = {"same": "{}", "old": "-{}-", "new": "+{}+"}
    return ["".join(marks[p.kind].format(p.text) for p in pieces) for pieces in mark_changes(one).values()]


def edited(old: Mapping[str, str], change: object) -> Outcome:
    origin = Text.of(old, Words())
    now = change(origin)  # type: ignore[operator]
    return outcome(old, now.fields, edits_between(origin, now))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t.put(1, "fine"), "a -good-+fine+ film, good"),
        (lambda t: t.drop(1), "a- good- film, good"),
        (lambda t: t.drop(0), "-a -good film, good"),
        (lambda t: t.insert(1, "very", after=False), "a +very +good film, good"),
        (lambda t: t.insert(2, "noir"), "a good film+ noir+, good"),
        (lambda t: t.put(3, "bad").put(0, "one"), "-a-+one+ good film, -good-+bad+"),
    ],
)
def test_edits_are_marked_where_they_stand(change: object, expected: str) -> None:
    assert shown(edited({"text": "a good film, good"}, change)) == [expected]


def test_fields_are_marked_each_by_itself() -> None:
    one = edited({"premise": "a man eats", "hypothesis": "he eats"}, lambda t: t.put(1, "guy").drop(3))
    assert shown(one) == ["a -man-+guy+ eats", "-he -eats"]


@pytest.mark.parametrize(
    "edits", [(), (Edit("text", 77, "replace", "x", "y"),), (Edit("text", 0, "replace", "x", "y"),)]
)
def test_edits_that_do_not_explain_the_text_are_set_aside(edits: tuple[Edit, ...]) -> None:
    assert shown(outcome({"text": "a good film"}, {"text": "a fine film!"}, edits)) == ["a -good-+fine+ film+!+"]


def test_a_text_that_repeats_itself_is_compared_quickly() -> None:
    old, new = "na " * 20_000 + "end", "x " + "na ba " * 15_000 + "stop"
    start = perf_counter()
    one = outcome({"text": old}, {"text": new})
    assert joined(one, ("same", "new")) == {"text": new}
    assert perf_counter() - start < 5


def test_no_adversarial_text_has_no_marks() -> None:
    one = Outcome(id="a", status="skipped", label=0, original=Side({"text": "a film"}))
    assert patches(one) == []
    assert shown(one) == ["a film"]


def test_a_lone_surrogate_is_compared_as_it_is() -> None:
    old, new = {"text": "a\ud800 b"}, {"text": "a\ud800 c"}
    assert patches(outcome(old, new, (Edit("text", 1, "replace", "b", "c"),))) == [Patch(0, 3, 4, "c")]


def joined(one: Outcome, kinds: tuple[str, ...]) -> dict[str, str]:
    return {name: "".join(p.text for p in pieces if p.kind in kinds) for name, pieces in mark_changes(one).items()}


@given(st.text(max_size=30), st.text(max_size=30))
def test_pieces_give_both_texts_back(old: str, new: str) -> None:
    one = outcome({"text": old}, {"text": new})
    assert joined(one, ("same", "old")) == {"text": old}
    assert joined(one, ("same", "new")) == {"text": new}


@given(st.data(), st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_edits_give_both_texts_back(data: st.DataObject, values: list[str]) -> None:
    old = {f"f{number}": value for number, value in enumerate(values)}
    origin = now = Text.of(old, Words())
    if origin.slots:
        word = st.sampled_from(["", "x", "two words", "é"])
        for slot in data.draw(st.sets(st.integers(0, origin.slots - 1), max_size=4)):
            now = now.put(slot, data.draw(word))
    one = outcome(old, now.fields, edits_between(origin, now))
    assert joined(one, ("same", "old")) == old
    assert joined(one, ("same", "new")) == now.fields


def test_what_nobody_sees_is_shown_by_its_number():
    assert show_unseen("wo\u200brd\b, \u202eab\u202c é\n") == "wo[U+200B]rd[U+0008], [U+202E]ab[U+202C] é\n"
    assert show_unseen("plain") == "plain"
