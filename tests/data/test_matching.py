"""How labels of data and labels of a victim find each other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from malaprop.core.errors import DataError
from malaprop.core.example import number_rows
from malaprop.data.base import Dataset
from malaprop.data.matching import agree, describe_match


@dataclass
class Known:
    """A victim as far as labels are concerned."""

    labels: int | None
    label_names: tuple[str, ...] = ()
    name: str = "mine"


def data(*labels: str, numbers: tuple[int, ...] = ()) -> Dataset:
    rows = [({"text": f"text {n}"}, n) for n in numbers or range(len(labels))]
    return Dataset(name="d.csv", examples=tuple(number_rows(rows)), labels=labels)


@pytest.mark.parametrize(
    ("labels", "victim", "expected"),
    [
        (("negative", "positive"), Known(2, ("positive", "negative")), [1, 0]),
        (("neg", "pos"), Known(4, ("neg", "other", "pos", "mixed")), [0, 2]),  # a model of four, matched by name
        (("neg", "pos"), Known(2), [0, 1]),
        (("neg", "pos"), Known(2, ("0", "1")), [0, 1]),  # numbers are no names
        (("0", "1"), Known(2, ("neg", "pos")), [0, 1]),
        (("0", "1"), Known(2, ("1", "0")), [1, 0]),
        (("2", "3"), Known(5, ("1", "2", "3", "4", "5")), [1, 2]),  # stars
        (("neg", "pos"), Known(None), [0, 1]),  # a function that was not asked yet
    ],
)
def test_labels_are_matched_by_name_or_by_number(labels, victim, expected):
    assert [e.label for e in agree(data(*labels), victim)] == expected


@pytest.mark.parametrize(
    ("labels", "victim", "message"),
    [
        (("praise", "slur"), Known(2, ("negative", "positive")), "has the labels praise, slur, the model knows"),
        (("neg", "pos"), Known(4), r"2 labels \(neg, pos\), mine scores 4; .*--labels a,b,c,\.\.\."),
        (("neg", "pos"), Known(3), r"2 labels \(neg, pos\), mine scores 3; .*in its order with --labels a,b,c$"),
        (("0", "1"), Known(4, ("World", "Sports", "Business", "Tech")), r"mine scores 4 \(World, Sports, Business"),
        (("0", "1", "2"), Known(2), "mine scores 2"),
        (("spam",), Known(2), r"1 label \(spam\), mine scores 2"),
    ],
)
def test_what_cannot_be_matched_is_refused(labels, victim, message):
    with pytest.raises(DataError, match=message):
        agree(data(*labels), victim)


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (("praise", "slur"), ("slur", "praise"), [1, 0]),
        (("0", "1"), ("1", "0"), [1, 0]),
        (("0", "1"), ("negative", "positive"), [0, 1]),  # names for numbers
        (("spam",), ("ham", "spam"), [1]),
        (("neg", "pos"), ("a", "neg", "b", "POS"), [1, 3]),
    ],
)
def test_the_user_gives_the_order(labels, given, expected):
    ordered = data(*labels).ordered_as(given)
    assert [e.label for e in ordered] == expected
    assert ordered.labels == given
    assert agree(ordered, Known(len(given), tuple("abcdefgh"[: len(given)]))) is ordered
    with pytest.raises(DataError, match="scores 7"):
        agree(ordered, Known(7))


@pytest.mark.parametrize("given", [("praise",), ("praise", "praise"), ("a", "b")])
def test_an_order_that_does_not_name_the_labels_is_refused(given):
    with pytest.raises(DataError, match="labels"):
        data("praise", "slur").ordered_as(given)


def test_labels_that_do_not_occur_need_no_match():
    some = data("negative", "neutral", "positive", numbers=(0, 2))
    assert [e.label for e in agree(some, Known(2, ("positive", "negative")))] == [1, 0]


def test_what_was_taken_by_number_is_said():
    assert "neg is 0, pos is 1" in describe_match(data("neg", "pos"), Known(2))
    assert not describe_match(data("neg", "pos"), Known(2, ("pos", "neg")))
    assert not describe_match(data("0", "1"), Known(2))
