"""The front door: what `mp.attack` and `mp.recipe` take."""

from __future__ import annotations

import sys

import pytest
import toy

import malaprop as mp
from malaprop.attacks.goals.goal import LabelOnly, Targeted
from malaprop.core.errors import DataError, SettingError
from malaprop.frame.runs.make_attack import attack
from malaprop.models.victims.strings import StringVictim

TEXTS = [("a moving film", 1)]


def predict(texts):
    return [[0.2, 0.8] if "moving" in text else [0.7, 0.3] for text in texts]


def test_a_goal_may_be_written_as_on_the_command_line():
    assert mp.recipe("keyboard", goal="label-only") == mp.recipe("keyboard", goal=LabelOnly())
    assert mp.recipe("keyboard", goal="targeted:0") == mp.recipe("keyboard", goal=Targeted(target=0))
    (outcome,) = mp.attack("keyboard", predict, TEXTS, goal="targeted:0")
    assert outcome.status == "success"
    with pytest.raises(mp.MalapropError, match="label-only"):
        mp.recipe("keyboard", goal="labelonly")


def test_settings_that_would_do_nothing_are_refused():
    with pytest.raises(mp.MalapropError, match=r"share: settings go with the name of a recipe"):
        mp.attack(mp.recipe("keyboard"), predict, TEXTS, share=0.9)


@pytest.mark.parametrize("budget", [0, 2.5, "many"])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(mp.MalapropError, match="budget must be at least 1 query an example, a whole number"):
        mp.attack("keyboard", predict, TEXTS, budget=budget)


ROWS = [("a good film", "good"), ("an awful film", "bad")]


def tables():
    """The same two rows in all the forms that people have them in."""
    texts, labels = zip(*ROWS, strict=True)
    yield "pairs", ROWS
    yield "dictionaries", [{"text": text, "label": label} for text, label in ROWS]
    yield "columns", {"text": texts, "label": labels}
    try:
        import pandas

        yield "frame", pandas.DataFrame({"text": texts, "label": labels, "more": [1, 2]})
    except ImportError:
        pass
    try:
        import datasets

        yield "datasets", datasets.Dataset.from_dict({"text": list(texts), "label": list(labels)})
    except ImportError:
        pass


@pytest.mark.parametrize("items", [pytest.param(items, id=name) for name, items in tables()])
def test_examples_come_in_many_forms_and_labels_by_name(items):
    for names, expected in ((("bad", "good"), [1, 0]), (("good", "bad"), [0, 1])):
        turned = (lambda texts: [row[::-1] for row in toy.predict(texts)]) if names[0] == "good" else toy.predict
        victim = StringVictim(call=turned, name="toy", label_names=names)
        outcomes = attack(toy.listed(), victim, items)
        assert [o.label for o in outcomes] == expected
        assert all(o.original.prediction == o.label for o in outcomes)


def test_the_order_of_labels_may_be_given():
    victim = StringVictim(call=toy.predict, name="toy")
    assert [o.label for o in attack(toy.listed(), victim, ROWS, labels=("bad", "good"))] == [1, 0]
    assert [o.label for o in attack(toy.listed(), victim, ROWS, labels=("good", "bad"))] == [0, 1]
    with pytest.raises(DataError, match="the model knows yes, no"):
        attack(toy.listed(), StringVictim(call=toy.predict, name="toy", label_names=("yes", "no")), ROWS)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "holds no example"),
        ([("a", -1)], "an integer from 0 or a name"),
        ([("a", None)], "an integer from 0 or a name"),
        ([{"text": "a"}], "has the columns text"),
        ({"text": ["a", "b"], "label": [1]}, "unequal length"),
        (["a good film"], "written"),
    ],
)
def test_examples_that_are_none_are_refused(items, said):
    with pytest.raises(DataError, match=said):
        attack(toy.listed(), toy.victim(), items)


def test_outcomes_are_a_list_with_rows_and_a_frame(monkeypatch):
    found = mp.attack("keyboard", toy.predict, [("a good film", 1), ("a bad film", 1)])
    assert found == list(found)
    rows = found.to_dicts()
    assert [row["status"] for row in rows] == [one.status for one in found]
    assert rows[1]["adversarial"] is None
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["original"]) == ["a good film", "a bad film"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingError, match="a data frame needs pandas"):
        found.to_pandas()
