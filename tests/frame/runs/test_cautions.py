"""What is said of texts before they are attacked."""

from __future__ import annotations

import toy

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.chars import Homoglyphs
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.attacks.search.greedy import Greedy
from malaprop.frame.runs.cautions import describe_cut, describe_languages, describe_long_words, find_languages

PWWS = Attack(name="pwws", candidates=WordNetSynonyms(), search=Greedy())


def test_the_languages_of_the_texts_and_what_is_missing_in_them_are_said():
    texts = toy.examples(["Der Film ist nicht gut"] * 3 + ["a good film of the year"] * 7)
    languages = find_languages("auto", texts)
    assert languages == {"en": 7, "de": 3}
    assert next(describe_languages(PWWS, languages)) == "language: English (7 texts), German (3 texts)"
    assert not [*describe_languages(PWWS, find_languages("auto", texts[3:]))]
    assert find_languages("fr,de", texts) == {"fr": 0, "de": 0}
    line = [*describe_languages(PWWS, {"ru": 5})][-1]
    assert line.startswith("pwws has no synonyms for Russian, so it changes nothing there; try attacks on characters")
    assert len([*describe_languages(Attack(name="h", candidates=Homoglyphs(), search=Greedy()), {"ru": 5})]) == 1


def test_texts_that_a_model_does_not_read_to_their_end_are_counted():
    class Short(toy.White):
        inside = None

        def count_cut(self, texts):
            return sum(len(fields[0].split()) > 3 for fields in texts)

    line = describe_cut(Short(toy.victim()), toy.examples(["a good film", "a good film, and a long one"]))
    assert line == "1 of 2 texts are longer than toy reads: changes in what it leaves out do nothing"


def test_texts_in_a_script_without_spaces_are_noticed():
    chinese = toy.examples(["这部电影拍得非常好看演员很棒", "剧情太差了,演技糟糕让人讨厌", "ภาพยนตร์เรื่องนี้ดีมาก"], label=0)
    english = toy.examples(
        [
            "a good film",
            "see https://a-very-long-address.org now, it is a fine film with a good story that I liked",
            "👍",
        ]
        * 10,
        label=0,
    )
    line = describe_long_words(PWWS, chinese)
    assert line.startswith("3 of 3 texts are one long word, or in a script without spaces: pwws takes")
    assert "bad-characters" in line
    assert not describe_long_words(PWWS, english)
    assert not describe_long_words(PWWS, english + chinese)  # three of 33 are no matter
