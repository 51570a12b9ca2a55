"""Dataset: sampling, fingerprints, Python values, names."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example, number_rows
from malaprop.data import Dataset, base, files, load, need_two_labels, of

TEN = of([(f"text {i}", i % 2) for i in range(10)])


@given(st.permutations(TEN.examples), st.integers(1, 12), st.integers(0, 5))
def test_a_sample_does_not_depend_on_the_order(order, count, seed):
    other = replace(TEN, examples=tuple(order))
    assert other.sample(count, seed).examples == TEN.sample(count, seed).examples
    assert other.fingerprint == TEN.fingerprint
    assert len(other.sample(count, seed)) == min(count, 10)


def test_a_small_sample_begins_a_larger_one_and_seeds_differ():
    assert TEN.sample(3).examples == TEN.sample(7).examples[:3]
    assert TEN.sample(10, 0).examples != TEN.sample(10, 1).examples
    with pytest.raises(SettingError, match="at least 1"):
        TEN.sample(0)


def test_the_fingerprint_sees_every_change():
    first = TEN.examples[0]
    for changed in (replace(first, label=1), replace(first, fields={"text": "text 0 "}), replace(first, id="x")):
        assert replace(TEN, examples=(changed, *TEN.examples[1:])).fingerprint != TEN.fingerprint


def test_python_values():
    data = of([("a b", 1), (("p", "h"), 0), ({"q": "x"}, 0), Example("mine", {"text": "t"}, 2)])
    assert [dict(e.fields) for e in data] == [
        {"text": "a b"},
        {"premise": "p", "hypothesis": "h"},
        {"q": "x"},
        {"text": "t"},
    ]
    assert data.examples[1].open == ("hypothesis",)
    assert data.examples[3].id == "mine"
    assert data.labels == ("0", "1", "2")


@pytest.mark.parametrize("items", [[], ["text"], [("a", "b", 1)], [("a", -1)], [("a", 0.5)], [("a", None)], [(3, 1)]])
def test_wrong_python_values(items):
    with pytest.raises(DataError):
        of(items)


def test_one_label_only():
    assert need_two_labels(TEN) is TEN
    with pytest.raises(DataError, match=r"one label only \(1\) in 2 rows"):
        need_two_labels(of([("a", 1), ("b", 1)]))


def test_unknown_names_list_near_ones(monkeypatch):
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    with pytest.raises(DataError, match="did you mean imdb"):
        load("imbd")
    with pytest.raises(DataError, match="set MALAPROP_DATA"):
        load("ag_news")
    with pytest.raises(SettingError, match="no split"):
        base.check_split("dev")


def test_hub_names():
    assert files.parse_hub_name("hub:imdb", "test") == ("imdb", None, "test")
    assert files.parse_hub_name("hub:nyu-mll/glue/sst2:validation", "test") == ("nyu-mll/glue", "sst2", "validation")
    with pytest.raises(DataError, match="hub:NAME"):
        files.parse_hub_name("hub:", "test")


def test_a_hub_out_of_reach_is_one_line(monkeypatch):
    datasets = pytest.importorskip("datasets")

    def refuse(*_, **__):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(DataError, match=r"hub:imdb could not be read \(no route\)"):
        load("hub:imdb")
    rows = datasets.Dataset.from_dict({"sentence": ["a", "b"], "label": [0, 1]})
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: rows)
    assert [e.fields["text"] for e in load("hub:imdb")] == ["a", "b"]


def test_labels_are_matched_to_a_model_by_name():
    rows = [({"text": "a"}, 0), ({"text": "b"}, 1), ({"text": "c"}, 0)]
    data = Dataset(name="d", examples=tuple(number_rows(rows)), labels=("negative", "positive"))
    turned = data.in_terms_of(("Positive", "Negative"))
    assert [e.label for e in turned] == [1, 0, 1]
    assert turned.labels == ("Positive", "Negative")
    assert data.in_terms_of(()) is data
    with pytest.raises(
        DataError, match="has the labels negative, positive, the model knows spam, ham; rename them, or"
    ):
        data.in_terms_of(("spam", "ham"))
    assert Dataset(name="d", examples=data.examples, labels=("0", "1")).in_terms_of(("b", "a")).labels == ("0", "1")
    with pytest.raises(DataError, match="has the label positive, the model knows negative, neutral"):
        data.in_terms_of(("negative", "neutral"))
