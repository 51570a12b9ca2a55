"""Valence: what the two lexicons say, what is estimated for other words, and the stored table."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tiny

from malaprop.assets import polarity
from malaprop.assets.polarity import Polarity
from malaprop.assets.relations import Relations
from malaprop.core.errors import AssetError
from malaprop.models.encoders.valence import spread

VADER = "good\t1.9\t0.9\t[2]\n:-)\t1.3\t0.5\t[1]\nsad-faced\t-2.1\t0.9\t[-2]\n\n"
ADJECTIVES = (
    '<word form="dull" pos="JJ" sense="a" polarity="-0.5" subjectivity="1.0" />\n'
    '<word form="dull" pos="JJ" sense="b" polarity="0.1" subjectivity="1.0" />\n'
    '<word form="13th" pos="JJ" sense="c" polarity="0.0" subjectivity="0.0" />\n'
)


def test_lexicons_are_read_as_data(tmp_path):
    (tmp_path / "vader").write_text(VADER, encoding="utf-8")
    (tmp_path / "adjectives").write_text(ADJECTIVES, encoding="utf-8")
    assert polarity.read_ratings(tmp_path / "vader") == {"good": 1.9, "sad-faced": -2.1}
    assert polarity.read_adjectives(tmp_path / "adjectives") == {"dull": pytest.approx(-0.2)}


def test_a_form_has_the_valence_of_its_base(tmp_path, monkeypatch):
    polarity.write(tmp_path / "table.npz", {"good": 1.9, "film": 0.02, "awful": -9.0})
    table = polarity.read(tmp_path / "table.npz")
    wordnet = tiny.wordnet(tmp_path / "wordnet")
    monkeypatch.setattr(polarity, "open_wordnet", lambda: wordnet)
    assert table.valence("Good") == table.valence("better") == pytest.approx(1.9, abs=0.02)
    assert (table.valence("awful"), table.valence("zzz")) == (-4, None)
    assert table.valence("films") == pytest.approx(0.02, abs=0.02)


def test_the_packaged_table_needs_nothing_from_outside(monkeypatch):
    table = polarity.open_polarity()
    monkeypatch.setattr(polarity, "open_wordnet", lambda: SimpleNamespace(bases=lambda word, pos: ()))
    assert table.valence("good") == pytest.approx(1.9, abs=0.02), "as rated in VADER"
    assert table.valence("insipid") < -0.5 < 0.5 < table.valence("mesmerizing"), "estimated"
    assert abs(table.valence("table")) < 0.5
    assert table.valence("qqqq") is None


def test_a_damaged_table_is_refused():
    with pytest.raises(AssetError, match="2 words and 1 valences"):
        Polarity(["a", "b"], np.zeros(1, np.int8))


def test_other_words_get_an_estimate_from_their_vector_and_their_synonyms(tmp_path):
    wordnet = tiny.wordnet(tmp_path)
    relations = Relations(wordnet, tmp_path / "wordnet")
    words = ["good", "bad", "dull", "table", "nice", "fine", "poor"]  # rated first, then by frequency
    vectors = np.asarray([(1, 0), (-1, 0), (-1, 0), (0, 1), (0, -1), (0.9, 0.44), (-0.9, 0.44)], np.float32)
    found = spread(words, vectors, {"good": 2.0, "bad": -2.0}, {"dull": -0.5}, wordnet, relations)
    assert list(found) == words
    assert (found["good"], found["bad"]) == (2.0, -2.0), "what is rated stays as it is"
    assert found["dull"] < 0 < found["fine"]
    assert found["poor"] < 0
    assert abs(found["table"]) < 0.5
