"""What is said of texts before they are attacked."""

from __future__ import annotations

import pytest
import toy

from malaprop.assets import segment, wordlists
from malaprop.assets.languages import open_language
from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.errors import AssetError
from malaprop.frame.runs.cautions import (
    describe_cut,
    describe_foreign,
    describe_languages,
    describe_long_words,
    describe_setting,
    find_languages,
)
from malaprop.frame.runs.make_attack import recipe

PWWS = Attack(name="pwws", candidates=WordNetSynonyms(), search=Greedy())


def test_the_languages_of_the_texts_and_what_is_missing_in_them_are_said(monkeypatch):
    monkeypatch.setattr(wordlists, "has_base_forms", lambda code: code == "ru")
    texts = toy.examples(["Der Film ist nicht gut"] * 3 + ["a good film of the year"] * 7)
    languages = find_languages("auto", texts)
    assert languages == {"en": 7, "de": 3}
    assert next(describe_languages(PWWS, languages)) == "language: English (7 texts), German (3 texts)"
    assert not [*describe_languages(PWWS, find_languages("auto", texts[3:]))]
    assert find_languages("fr,de", texts) == {"fr": 0, "de": 0}
    line = [*describe_languages(PWWS, {"ko": 5})][-1]
    assert line.startswith("pwws has no synonyms for Korean, so it changes nothing there; try attacks on characters")
    line = [*describe_languages(PWWS, {"ru": 5})][-1]
    assert line.startswith("pwws has no synonyms for Russian: it also puts words into their other forms")
    assert len([*describe_languages(Attack(name="h", candidates=Homoglyphs(), search=Greedy()), {"ru": 5})]) == 1


def test_who_names_the_language_of_the_texts_is_believed():
    """The judge of meaning reads English: it took short German texts for English though the user had said German."""
    german, english = (toy.examples([text] * 3) for text in ("Der Film ist nicht gut", "film great"))
    assert describe_foreign(german) == "3 of 3 texts do not look English (German)"
    others = ("Le film n'est pas aussi bon que le livre", "这部电影很好看", "Фильм очень хороший")
    mixed = [*german, *toy.examples(others)]
    assert describe_foreign(mixed).endswith("6 of 6 texts do not look English (German, French, Chinese, ...)")
    assert describe_foreign(german, "en") == ""
    assert describe_foreign(english) == ""
    assert describe_foreign(english, "de") == "the texts are in German"
    assert describe_foreign(german, "en,de") == describe_foreign(german)


def test_texts_that_no_named_language_fits_are_counted():
    english, french = "the film is not as good as it was", "Le film n'est pas aussi bon que le livre"
    some = toy.examples([english, french, "film", "schöner Film", "这部电影很好看", "ภาพยนตร์เรื่องนี้ดีมาก"])

    def lines(setting, texts=some):
        return [*describe_setting(setting, texts)]

    strange = "2 of 6 texts are in a script of none of --language"
    assert lines("auto") == lines("en,fr,zh,th") == []
    assert lines("fr,en") == [f"{strange} fr,en"]
    assert lines("de,es") == [f"{strange} de,es", "0 of 6 texts look German or Spanish"]
    assert lines("fr", some[:1]) == ["0 of 1 texts look French"]
    assert lines("fr", some[2:4]) == lines("ms", some[:1]) == []  # nothing tells these from others
    assert [*find_languages("de,en", some)] == ["en", "de"]  # English takes short texts of plain letters


@pytest.mark.parametrize(
    ("name", "settings", "line"),
    [
        ("back-translation", {}, "its translators read English, so they change nothing in French; name yours with"),
        ("back-translation", {"there": "own:there", "back": "own:back"}, ""),
        ("syntax", {}, "its rules of grammar are those of English, so they change nothing in French"),
        ("distract", {}, "its sentences are English, so it adds none in French; give yours with asides"),
        ("distract", {"asides": "Bon."}, ""),
        ("sentence-then-words", {"sentences": "distract"}, "its sentences are English, so it adds none in French"),
    ],
)
def test_recipes_of_english_sentences_say_where_they_change_nothing(name, settings, line):
    found = [one for one in describe_languages(recipe(name, **settings), {"fr": 5, "en": 2}) if one.startswith(name)]
    assert len(found) == bool(line)
    assert line in "".join(found)
    assert not [*describe_languages(recipe(name, **settings), {"en": 5})]


def test_texts_that_a_model_does_not_read_to_their_end_are_counted():
    class Short(toy.White):
        inside = None

        def count_cut(self, texts):
            return sum(len(fields[0].split()) > 3 for fields in texts)

    line = describe_cut(Short(toy.victim()), toy.examples(["a good film", "a good film, and a long one"]))
    assert line == "1 of 2 texts are longer than toy reads: changes in what it leaves out do nothing"


def test_attacks_on_chinese_and_on_keys_say_where_they_change_nothing():
    def lines(kind, code):
        attack = Attack(name="it", candidates=CharEdits(kinds=(kind,)), search=Greedy())
        return [*describe_languages(attack, {code: 5})][-1:]

    assert lines("parts", "en") == ["it changes Chinese characters alone, and no text looks Chinese"]
    assert lines("keyboard", "hi")[0].startswith("it knows no keyboard of Hindi")
    assert lines("keyboard", "en") == []
    korean = [*describe_languages(Attack(name="h", candidates=Homoglyphs(), search=Greedy()), {"ko": 5})]
    assert korean[-1] == "h knows no look-alikes of Korean, so it changes little there"


def test_a_list_of_words_that_cannot_be_had_is_said_and_characters_are_words(monkeypatch):
    def missing(code):
        raise AssetError("no network")

    monkeypatch.setattr(segment, "open_segmenter", missing)
    attack = Attack(name="h", candidates=Homoglyphs(), search=Greedy())
    assert [*describe_languages(attack, {"zh": 5})][-1] == (
        "each character of Chinese is taken for a word, as its list of words is missing: no network"
    )
    assert open_language("zh").cut("很好") == ["很", "好"]


def test_texts_of_one_long_word_are_noticed():
    long = toy.examples(["DieseeinigewörterhabenallekeinenZwischenraum", "a_" * 20], label=0)
    english = toy.examples(
        [
            "a good film",
            "see https://a-very-long-address.org now, it is a fine film with a good story that I liked",
            "👍",
        ]
        * 10,
        label=0,
    )
    chinese = toy.examples(["这部电影拍得非常好看演员很棒演员很棒演员很棒演员很棒演员很棒"], label=0)
    line = describe_long_words(PWWS, long)
    assert line.startswith("2 of 2 texts are one long word: pwws takes")
    assert "bad-characters" in line
    assert not describe_long_words(PWWS, chinese)  # cut into words
    assert not describe_long_words(PWWS, english + long)  # two of 32 are no matter
