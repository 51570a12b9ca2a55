"""spaCy's recogniser as a victim: what it scores for many sentences is what its pipeline says of each alone."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from malaprop.core.errors import VictimError
from malaprop.features.tagging import spacy_tagger
from malaprop.features.tagging.spacy_tagger import load_spacy, wrap_spacy

SENTENCES = ["Anna went to sunny Paris .", "Anna went to rainy Paris .", "Paris", "it rains on the long way to Rome ."]


@pytest.fixture(scope="module")
def tagger():
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    model = spacy.blank("en")
    model.add_pipe("ner")
    row = Example.from_dict(model.make_doc("Anna saw Paris"), {"entities": [(0, 4, "PER"), (9, 14, "LOC")]})
    model.initialize(lambda: [row])
    for _ in range(3):
        model.update([row])
    return wrap_spacy(model, name="small")


def test_windows_that_are_encoded_once_change_no_score(tagger, monkeypatch):
    tokens = [sentence.split() for sentence in SENTENCES]
    fast = tagger.scores(tokens)
    monkeypatch.setattr(spacy_tagger, "_windows", lambda _: [])  # the way of another encoder
    for one, two in zip(fast, tagger.scores(tokens), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)
    monkeypatch.undo()
    assert [[tagger.tags[i] for i in rows.argmax(1)] for rows in fast] == tagger.tag(tokens)
    assert [rows.shape for rows in fast] == [(len(words), len(tagger.tags)) for words in tokens]
    assert len(spacy_tagger._windows(tagger.model.get_pipe("ner").model.layers[0])) == 8


def test_without_spacy_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(VictimError, match="needs spaCy; install it with"):
        load_spacy("en_core_web_md")


def test_a_pipeline_that_is_not_installed_is_named():
    pytest.importorskip("spacy")
    with pytest.raises(VictimError, match="no spaCy pipeline 'nope' is installed; the asset is spacy:en_core_web_md"):
        load_spacy("nope")
