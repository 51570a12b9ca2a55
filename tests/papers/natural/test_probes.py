"""Probing functions and the counts that tell what a verb becomes."""

from __future__ import annotations

import pytest

from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.papers.natural.probes import VerbDropped, WordAppears, _with_forms, make, parse, translations
from malaprop.papers.natural.sentences import TranslatorUnderSearch

_PAIRS = [
    ("a man sits", "ein mann sitzt"),
    ("a dog sits", "ein hund sitzt"),
    ("a dog runs", "ein hund rennt"),
    ("a man runs", "ein mann rennt"),
    ("men sit", "männer sitzen"),
    ("the man sits", "der mann sitzt"),
]


def test_words_are_aligned_by_what_they_occur_with() -> None:
    table = translations(_PAIRS, frozenset({"sits", "runs", "man"}), floor=0.3)
    assert table == {"man": {"mann"}, "runs": {"rennt"}, "sits": {"sitzt"}}


def test_words_of_most_targets_translate_nothing() -> None:
    table = translations(_PAIRS * 20, frozenset({"sits", "a"}), common=0.6)
    assert "sitzt" in table["sits"]
    assert not any("ein" in words for words in table.values())


def test_forms_of_a_verb_share_their_translations() -> None:
    table = {"sits": frozenset({"sitzt"}), "sitting": frozenset({"sitzt", "sitzen"}), "eats": frozenset({"isst"})}
    assert _with_forms(table) == {"sits": {"sitzt", "sitzen"}, "sitting": {"sitzt", "sitzen"}, "eats": {"isst"}}


def test_alignment_needs_words() -> None:
    with pytest.raises(DataError, match="no pairs"):
        translations([], frozenset())
    with pytest.raises(DataError, match="no word"):
        translations([("a", "")], frozenset())


@pytest.mark.parametrize(
    ("word", "translation", "found"),
    [("stehen", "Leute Stehen.", True), ("stehen", "verstehen", False), ("stehen", "", False)],
)
def test_a_word_appears_as_a_word(word: str, translation: str, found: bool) -> None:
    assert WordAppears(word)("anything", translation) is found


def test_a_verb_is_dropped_where_another_is_kept() -> None:
    probe = VerbDropped(verbs={"sits": frozenset({"sitzt"}), "eats": frozenset({"isst", "frisst"})})
    assert probe("a man sits and eats", "ein mann sitzt")
    assert not probe("a man sits and eats", "ein mann sitzt und isst")
    assert not probe("a man sits and eats", "ein mann")  # nothing is translated: no verb was dropped beside another
    assert not probe("a man eats", "ein mann")
    assert probe.missing("a man sits and eats", "ein mann sitzt") == ("eats",)


@pytest.mark.parametrize("text", ["word-appears", "word-appears:", "verb", ""])
def test_wrong_probes_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="verb-dropped"):
        parse(text)


def test_a_word_is_one_word() -> None:
    with pytest.raises(SettingError, match="one word"):
        make("word-appears:zwei worte", (), ())


@pytest.mark.assets
def test_verbs_are_found_by_the_tagger() -> None:
    sentences = [f"A {who} {verb} outside." for who in ("man", "dog") for verb in ("sits", "runs")]
    probe = make("verb-dropped", sentences * 2, _PAIRS)
    assert isinstance(probe, VerbDropped)
    assert {"sits", "runs"} <= set(probe.verbs)
    assert "man" not in probe.verbs


def test_the_verb_that_is_dropped_is_one_of_the_originals() -> None:
    """A search may write a verb that was not there; that the translator passes over it says nothing of the original."""
    table = {"sits": frozenset({"sitzt"}), "eats": frozenset({"isst"}), "runs": frozenset({"rennt"})}
    probe = VerbDropped(verbs=table).beside("a man sits and eats", "ein mann sitzt und isst")
    assert probe("a man sits and eats there", "ein mann sitzt dort")
    assert not probe("a man sits eats runs", "ein mann sitzt und isst"), "runs was not there before"
    assert not probe("a man sits runs", "ein mann sitzt"), "eats is not in the source any more"
    half = VerbDropped(verbs=table).beside("a man sits and eats", "ein mann isst")
    assert not half("a man sits and eats there", "ein mann isst dort"), "sits was dropped before"


def test_both_verbs_stay_in_the_source() -> None:
    table = {"sits": frozenset({"sitzt"}), "eats": frozenset({"isst"}), "runs": frozenset({"rennt"})}
    begin = VerbDropped(verbs=table, both=True)
    probe = begin.beside("a man sits and eats", "ein mann sitzt und isst")
    assert probe.hopeless == ""
    assert probe("a dog sits and eats", "ein hund sitzt")
    assert not probe("a dog sits and runs", "ein hund sitzt"), "eats is gone from the source"
    assert not probe("a dog sits and eats", "ein hund"), "nothing of the two is left"
    assert "two verbs" in begin.beside("a man sits and eats", "ein mann sitzt").hopeless
    assert parse("verb-dropped:both") == ""


def test_an_original_without_a_translated_verb_is_skipped() -> None:
    asked = TranslatorUnderSearch(
        translate=lambda texts: list(texts), probe=VerbDropped(verbs={"sits": frozenset({"sitzt"})})
    )
    assert "no verb" in asked.nothing(Example("one", {"source": "a man in red"}, 0), "ein mann in rot")
    assert asked.nothing(Example("one", {"source": "a man sits"}, 0), "ein mann sitzt") == ""
