"""Goals on the output: what counts, what is pointless, what is given away."""

from __future__ import annotations

import pytest

from malaprop.core.errors import SettingError
from malaprop.features.translation.attacks.goals import (
    BleuDrop,
    Disappears,
    KeywordAppears,
    NonOverlap,
    Probe,
    TranslatedSource,
    probe,
    stands_in,
)

FIRST = TranslatedSource("the cat runs", "der Katze rennt.", "der Katze rennt.")


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        ("Hund", "ein hund!", True),
        ("Hund", "Hunde und Hundert", False),
        ("rot-weiß", "Ein rot-weiß Ball", True),
        ("alte Frau", "Die alte Frau", True),
        ("alte Frau", "Frau alte", False),
        ("x", "", False),
    ],
)
def test_a_word_stands_as_a_word(word, text, there):
    assert stands_in(word, text) is there


def test_a_keyword():
    goal = KeywordAppears(word="Hund")
    assert goal.met(FIRST._replace(output="der Hund"), FIRST)
    assert not goal.met(FIRST._replace(output="der Hunde"), FIRST)
    assert "already" in goal.pointless(FIRST._replace(output="Hund"))
    assert goal.given_away("puppy", "Hund.")
    assert goal.given_away("Hundred", "hundert")
    assert not goal.given_away("cat", "Katze")
    assert not KeywordAppears(word="Hund", free=True).guarded
    near, far = (goal.value(FIRST._replace(output=out), FIRST) for out in ("der Hunde", "der Katze"))
    assert near > far


def test_bleu_falls_by_a_share():
    goal = BleuDrop(share=0.5)
    assert not goal.pointless(FIRST)
    assert goal.met(FIRST._replace(output="ein Fisch"), FIRST)
    assert not goal.met(FIRST, FIRST)
    assert "BLEU is 0.0" in goal.pointless(FIRST._replace(output="Fisch"))
    assert "no reference" in goal.pointless(FIRST._replace(reference=""))


def test_no_word_stands_where_it_stood():
    goal = NonOverlap()
    values = [
        goal.value(FIRST._replace(output=out), FIRST)
        for out in ("der Katze rennt.", "Der Hund rennt", "ein Hund", "rennt der Katze", "ein Hund schläft gern")
    ]
    assert values == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
    assert [v >= 1 for v in values] == [
        goal.met(FIRST._replace(output=out), FIRST)
        for out in ("der Katze rennt.", "Der Hund rennt", "ein Hund", "rennt der Katze", "ein Hund schläft gern")
    ]
    assert goal.pointless(FIRST._replace(output="..."))


def test_a_translation_disappears():
    goal = Disappears(word="cat").ready(lambda texts: ["die Katze." for _ in texts])
    assert goal.translation == "Katze"
    assert not goal.pointless(FIRST)
    assert goal.holds("Cat")
    assert not goal.holds("runs")
    assert goal.met(TranslatedSource("a cat runs", "ein Tier rennt", ""), FIRST)
    assert not goal.met(TranslatedSource("a dog runs", "ein Hund rennt", ""), FIRST)
    assert "does not hold" in goal.pointless(TranslatedSource("a dog", "Katze", ""))
    assert "does not stand" in goal.pointless(TranslatedSource("a cat", "Hund", ""))
    with pytest.raises(SettingError, match="no word for"):
        Disappears(word="cat").ready(lambda texts: ["..." for _ in texts])


def test_probes_by_name():
    found = probe("mine:long", lambda spec: lambda source, output: len(output) > len(source))
    assert isinstance(found, Probe)
    assert found.met(TranslatedSource("a", "bcd", ""), FIRST)
    assert not found.met(TranslatedSource("abc", "b", ""), FIRST)
    assert isinstance(probe("word-appears:Hund", str), KeywordAppears)
    assert probe("translation-disappears:man, Mann", str) == Disappears(word="man", translation="Mann")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: probe("word-appears", str),
        lambda: probe("word-appears:", str),
        lambda: probe("a:b", lambda spec: 3),
        lambda: KeywordAppears(word=" , "),
        lambda: BleuDrop(share=0.0),
        lambda: probe("a:b", lambda spec: lambda source: 1).pointless(FIRST),
    ],
)
def test_what_cannot_be(wrong):
    with pytest.raises(SettingError):
        wrong()
