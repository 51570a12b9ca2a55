"""What is said of texts before they are attacked."""

from __future__ import annotations

import pytest
import toy

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.chars import Homoglyphs
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.attacks.search.greedy import Greedy
from malaprop.frame.runs.cautions import describe_cut, describe_languages, describe_long_words, other_language

PWWS = Attack(name="pwws", candidates=WordNetSynonyms(), search=Greedy())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the film is not as good as it was in the book", ""),
        ("a moving, funny film", ""),  # no function words of any kind
        ("Der Film ist nicht so gut wie das Buch", "German"),
        ("Le film n'est pas aussi bon que le livre", "French"),
        ("La película es muy larga pero los actores son buenos", "Spanish"),
        ("Il film non è bello come il libro", "Italian"),
        ("O filme não é tão bom, mas os atores são muito bons", "Portuguese"),
        ("De film is niet zo goed, maar het boek wel", "Dutch"),
        ("这部电影很好看", "Chinese"),
        ("Фильм очень хороший", "Cyrillic script"),
        ("", ""),
        ("10/10 !!!", ""),
        ("die hard was the best film of the year, and so on", ""),
        ("an homage to Les Enfants du Paradis, with all of the charm that it has", ""),
    ],
)
def test_other_languages_are_noticed(text, language):
    assert other_language(text) == language


def test_english_words_for_german_texts_are_warned_of():
    texts = toy.examples(["Der Film ist nicht gut"] * 3 + ["a good film"] * 7)
    line = describe_languages(PWWS, texts)
    assert line.startswith("3 of 10 texts do not look English (German), and pwws takes its words from WordNet")
    assert not describe_languages(PWWS, texts[3:])
    assert not describe_languages(Attack(name="h", candidates=Homoglyphs(), search=Greedy()), texts)


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
