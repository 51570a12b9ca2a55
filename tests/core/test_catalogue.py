"""Catalogues, seeds, examples, capabilities and errors."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.capability import Capability, check
from malaprop.core.catalogue import Catalogue, unknown
from malaprop.core.errors import CapabilityError, MalapropError, SettingError, TextError, plain
from malaprop.core.example import Example, content_id, number_rows
from malaprop.core.seeds import generator

TABLE = {"greedy": "malaprop.core.text:Words", "beam": "no.such.module:Beam"}


@pytest.fixture
def searches(monkeypatch) -> Catalogue:
    points = [
        EntryPoint("swarm", "malaprop.core.text:Text", "malaprop.search"),
        EntryPoint("greedy", "malaprop.core.text:Text", "malaprop.search"),
    ]
    monkeypatch.setattr(
        "malaprop.core.catalogue.entry_points", lambda *, group: points if group == "malaprop.search" else []
    )
    return Catalogue("search", TABLE)


def test_nothing_is_imported_before_it_is_asked_for(searches):
    assert searches["greedy"].__name__ == "Words"
    assert "beam" in searches
    with pytest.raises(ModuleNotFoundError):
        searches["beam"]


def test_plug_ins_are_added_but_never_replace_ours(searches):
    assert list(searches) == ["greedy", "beam", "swarm"]
    assert len(searches) == 3
    assert searches["swarm"].__name__ == "Text"
    assert searches["greedy"].__name__ == "Words"
    assert "swarm" in searches
    assert "bees" not in searches


def test_get_gives_the_default_where_there_is_none(searches):
    assert searches.get("greedy").__name__ == "Words"
    assert searches.get("swarm").__name__ == "Text"
    assert searches.get("bees") is None
    assert searches.get("bees", "none") == "none"


def test_a_wrong_name_gets_the_near_ones_or_all(searches):
    with pytest.raises(SettingError, match="no search is called 'greddy'; did you mean greedy"):
        searches["greddy"]
    with pytest.raises(SettingError, match="known: beam, greedy, swarm"):
        searches["xyz"]


def test_near_names_do_not_mind_case():
    assert "did you mean LSTM-W-GloVe-1" in str(unknown("model", "lstm-w-glove", ["LSTM-W-GloVe-1", "BERT"]))


def test_a_generator_depends_on_seed_and_names_alone():
    def draw(seed: int, *names: str) -> list[float]:
        return generator(seed, *names).random(3).tolist()

    assert draw(1, "a") == draw(1, "a")
    assert len({tuple(draw(*how)) for how in [(1, "a"), (2, "a"), (1, "b"), (1, "a", "b"), (1, "ab"), (1,)]}) == 6
    draw(0, "lone \ud800 surrogate")
    generator(2**70, "a")
    with pytest.raises(SettingError, match="seed must be 0 or more, got -1"):
        generator(-1, "a")


def test_streams_of_neighbouring_examples_are_unlike():
    draws = np.stack([generator(0, f"example {n}").random(50) for n in range(40)])
    apart = np.corrcoef(draws) - np.eye(40)
    assert np.abs(apart).max() < 0.7


def test_equal_rows_have_equal_ids_and_repeated_ones_are_numbered():
    rows = [({"text": "a"}, 1), ({"text": "b"}, 1), ({"text": "a"}, 1), ({"text": "a"}, 0), ({"text": "a"}, 1)]
    made = list(number_rows(rows, ("text",)))
    ids = [example.id for example in made]
    assert ids[2] == f"{ids[0]}-2"
    assert ids[4] == f"{ids[0]}-3"
    assert len(set(ids)) == 5
    assert made[0].editable == ("text",)
    assert content_id({"text": "a"}, 1) == ids[0]
    assert content_id({"text": "\ud800"}, 1)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3), st.integers(0, 3))
def test_ids_are_short(fields, label):
    assert len(content_id(fields, label)) == 12


def test_all_fields_are_open_unless_some_are_named():
    fields = {"premise": "a", "hypothesis": "b"}
    assert Example("x", fields, 0).open == ("premise", "hypothesis")
    assert Example("x", fields, 0, ("hypothesis",)).open == ("hypothesis",)


def test_a_missing_capability_is_named_before_the_first_query():
    check("pwws", {Capability.SCORES}, "toy", {Capability.SCORES, Capability.LABELS})
    with pytest.raises(CapabilityError, match="hotflip needs attention, gradients, which toy does not offer"):
        check("hotflip", [Capability.GRADIENTS, Capability.ATTENTION], "toy", [Capability.SCORES])
    with pytest.raises(CapabilityError, match="it offers nothing"):
        check("pwws", [Capability.SCORES], "toy", [])


def test_errors_in_one_line():
    assert plain(TextError("two\n  lines")) == "two lines"
    assert plain(ValueError("bad")) == "ValueError: bad"
    assert plain(KeyError()) == "KeyError: KeyError"
    assert issubclass(SettingError, MalapropError)
