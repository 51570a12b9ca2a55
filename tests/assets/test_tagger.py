from __future__ import annotations

import pytest
import tiny

from malaprop.assets import light_tagger, tagger
from malaprop.assets.light_tagger import LightTagger
from malaprop.assets.tagger import align, open_tagger, same_part
from malaprop.core.errors import AssetError, SettingError
from malaprop.core.text import word_pattern

TEXTS = [
    "the film was good",
    "They shoot the dogs , and he ran quickly .",
    "",
    "!?",
    "a remarkably-unseen thing in 1999",
]


def spans(text):
    return [match.span() for match in word_pattern().finditer(text)]


@pytest.fixture
def light(tmp_path, monkeypatch):
    small = tiny.wordnet(tmp_path)
    monkeypatch.setattr(light_tagger, "open_wordnet", lambda: small)
    return LightTagger()


@pytest.mark.parametrize(
    ("tokens", "slots", "expected"),
    [
        ([(0, 2, "AUX"), (2, 5, "PART")], [(0, 5)], ["PART"]),
        ([(0, 2, "A"), (2, 4, "B")], [(0, 4)], ["A"]),
        ([(0, 9, "NOUN")], [(0, 4), (5, 9)], ["NOUN", "NOUN"]),
        ([(5, 9, "NOUN")], [(0, 4)], ["X"]),
        ([], [(0, 4)], ["X"]),
        ([(0, 1, "A"), (2, 3, "B"), (4, 5, "C")], [(0, 1), (4, 5)], ["A", "C"]),
    ],
)
def test_slots_and_tokens(tokens, slots, expected):
    assert align(tokens, slots) == expected


def test_parts_that_count_as_one():
    assert same_part("AUX", "VERB")
    assert same_part("PROPN", "NOUN")
    assert not same_part("ADJ", "ADV")


def test_light_tags(light):
    found = light.tags(TEXTS, [spans(text) for text in TEXTS])
    assert found[0] == ["DET", "NOUN", "AUX", "ADJ"]
    assert found[1] == ["PRON", "VERB", "DET", "NOUN", "CCONJ", "PRON", "VERB", "ADV"]
    assert found[2:4] == [[], []]
    assert found[4][-1] == "NUM"


def test_light_tags_do_not_depend_on_the_batch(light):
    together = light.tags(TEXTS, [spans(text) for text in TEXTS])
    alone = [LightTagger().tags([text], [spans(text)])[0] for text in reversed(TEXTS)]
    assert together == alone[::-1]


def test_kinds(light, monkeypatch):
    def refuse():
        raise AssetError("no model")

    monkeypatch.setattr(tagger, "SpacyTagger", refuse)
    open_tagger.cache_clear()
    assert isinstance(open_tagger("light"), LightTagger)
    assert isinstance(open_tagger("auto"), LightTagger)
    with pytest.raises(AssetError):
        open_tagger("spacy")
    with pytest.raises(SettingError, match="best"):
        open_tagger("best")
    open_tagger.cache_clear()


def test_without_spacy(light, monkeypatch):
    monkeypatch.setattr(tagger.importlib.util, "find_spec", lambda name: None)
    open_tagger.cache_clear()
    assert isinstance(open_tagger(), LightTagger)
    with pytest.raises(AssetError, match=r"pip install 'malaprop\[lexicon\]'"):
        open_tagger("spacy")
    open_tagger.cache_clear()


@pytest.mark.assets
def test_spacy_and_light_mostly_agree(real_asset):
    pytest.importorskip("spacy")
    real_asset("tagger", "wordnet")
    texts = [*TEXTS, "I don't think the film's director was honest .", "an utterly charming and hilarious film"]
    slots = [spans(text) for text in texts]
    found = open_tagger("spacy").tags(texts, slots)
    assert found[0] == ["DET", "NOUN", "AUX", "ADJ"]
    assert found == [open_tagger("spacy").tags([text], [slot])[0] for text, slot in zip(texts, slots, strict=True)]
    light = open_tagger("light").tags(texts, slots)
    pairs = [(a, b) for one, two in zip(found, light, strict=True) for a, b in zip(one, two, strict=True)]
    assert sum(same_part(a, b) for a, b in pairs) / len(pairs) > 0.8
