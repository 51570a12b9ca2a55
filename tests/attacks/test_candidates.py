"""What each kind of candidates offers for a word."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st
from toy import listed

from malaprop.assets import synonyms
from malaprop.attacks.attack import Candidates
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs, LetterEdits, edits
from malaprop.attacks.candidates.lookup import (
    CloseSynonyms,
    Listed,
    Misspellings,
    NearWords,
    Vocabulary,
    WordNetSynonyms,
    recase,
)
from malaprop.attacks.candidates.masked import Likely
from malaprop.attacks.constraints.edits import levenshtein
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.engine.drive import drive


def offered(candidates: Candidates, text: str, *, seed: int = 0, table: Words | None = None) -> list[list[str]]:
    """The replacements of each word of a text."""
    origin = Text.of(text, table or Words())
    trial = Trial(listed(candidates=candidates), Example("id", {"text": text}, 1), origin, seed, "?")

    def steps():
        space = yield from trial.space()
        assert space.slots.tolist() == list(range(origin.slots))
        return [[origin.table.strings[w] for w in words.tolist()] for words in space.words]

    ((_, found),) = drive([(0, steps())], toy.toy_services(toy.victim()), width=1)
    return found


def test_listed_in_the_case_of_the_word():
    table = {"good": ("nice", "fine", "good", "nice", "")}
    assert offered(Listed(table=table), "good Good GOOD x") == [
        ["fine", "nice"],
        ["Fine", "Nice"],
        ["FINE", "NICE"],
        [],
    ]


@pytest.mark.parametrize(
    ("word", "like", "made"),
    [
        ("fine", "Good", "Fine"),
        ("fine", "GOOD", "FINE"),
        ("fine", "good", "fine"),
        ("fine", "I", "Fine"),
        ("", "A", ""),
    ],
)
def test_recase(word, like, made):
    assert recase(word, like) == made


def test_wordnet_offers_the_same_part_of_speech(tiny_assets):
    assert offered(WordNetSynonyms(), "good film unknown") == [["fine", "nice"], ["movie", "picture"], []]
    assert offered(WordNetSynonyms(), "Awful") == [["Bad", "Poor"]]
    assert offered(WordNetSynonyms(part="any"), "Film fine") == [["movie", "picture"], ["okay", "poor"]]


def test_proper_nouns_are_nouns_where_that_is_asked_for(tiny_assets, monkeypatch):
    monkeypatch.setitem(toy.TAGS, "film", "PROPN")
    assert offered(WordNetSynonyms(), "good Film") == [["fine", "nice"], []]
    assert offered(WordNetSynonyms(proper=True), "good Film") == [["fine", "nice"], ["Movie", "Picture"]]
    assert RECIPES["pwws:paper"]().candidates.proper, "as in the authors' code"
    assert not RECIPES["pwws"]().candidates.proper


def test_near_words_by_count_and_cosine(tiny_assets):
    assert offered(NearWords(), "good x") == [["fine", "nice"], []]
    assert offered(NearWords(count=1), "good") == [["fine"]]
    assert offered(NearWords(floor=0.7), "good") == [["fine"]]
    for wrong in ({"count": 0}, {"floor": 2.0}):
        with pytest.raises(SettingError, match="NearWords needs"):
            NearWords(**wrong)


def test_close_synonyms_by_count_and_score_and_form(tiny_assets, monkeypatch):
    assert offered(CloseSynonyms(), "Good x") == [["Fine", "Nice"], []]
    assert offered(CloseSynonyms(count=1), "good") == [["fine"]]
    assert offered(CloseSynonyms(floor=0.7), "good") == [["fine"]]
    for wrong in ({"count": 0}, {"floor": 0.0}, {"floor": 1.5}):
        with pytest.raises(SettingError, match="CloseSynonyms needs"):
            CloseSynonyms(**wrong)
    held = synonyms.open_synonyms()
    held.forms[held.index["fine"]] = 2  # no form of good any more
    monkeypatch.setattr("malaprop.assets.synonyms.open_synonyms", lambda: held)
    assert offered(CloseSynonyms(), "good") == [["nice"]]
    assert offered(CloseSynonyms(count=1), "good") == [["nice"]]  # counted among those of the form


def test_one_table_serves_parts_of_other_settings(tiny_assets):
    table = Words()
    assert offered(NearWords(), "good", table=table) == [["fine", "nice"]]
    assert offered(NearWords(count=1), "good", table=table) == [["fine"]]
    assert offered(WordNetSynonyms(part="any"), "good", table=table) == [["fine", "nice"]]
    assert offered(Misspellings(), "good", table=table) == [["godo", "goood"]]
    assert offered(Listed(table={"good": ("x",)}), "good", table=table) == [["x"]]


def test_misspellings_that_people_made(tiny_assets):
    assert offered(Misspellings(), "Good film plot") == [["Godo", "Goood"], ["flim"], []]


def test_vocabulary_is_the_same_in_every_slot(tiny_assets):
    words = ["bad", "film", "good", "okay", "poor", "the"]
    assert offered(Vocabulary(), "good plot") == [[w for w in words if w != "good"], words]
    assert offered(Vocabulary(size=2), "plot") == [["film", "the"]]


def test_likely_keeps_what_the_language_model_finds_least_surprising():
    table = {"good": ("a", "bb", "ccc", "dddd"), "film": ("x", "yy")}
    assert offered(Likely(of=Listed(table=table), keep=2), "good film") == [["a", "bb"], ["x", "yy"]]
    with pytest.raises(SettingError, match="Likely needs"):
        Likely(of=Listed(table=table), keep=0)


def test_likely_reads_the_window_around_the_slot():
    asked: list[str] = []
    services = toy.toy_services(toy.victim())
    function = services["language-model"].function
    services["language-model"].function = lambda items: asked.extend(items) or function(items)
    attack = listed(candidates=Likely(of=Listed(table={"e": ("x", "y")}), keep=1, window=2))
    toy.only(attack, "a b c d e f g h", services=services, label=0)
    assert sorted(asked) == ["c d x f g", "c d y f g"]


CASES = {
    "swap": (["bac", "acb"], "abc"),
    "drop": (["bc", "ac", "ab"], "abc"),
    "keyboard": (["s", "q", "w", "z"], "a"),
}


@pytest.mark.parametrize("kind", CASES)
def test_character_edits_by_hand(kind):
    made, word = CASES[kind]
    assert sorted(offered(CharEdits(kinds=(kind,)), word)[0]) == sorted(made)


def test_character_edits_that_insert_and_substitute():
    assert len(offered(CharEdits(kinds=("substitute",)), "ab")[0]) == 2 * 25
    inserted = offered(CharEdits(kinds=("insert",)), "ab")[0]
    assert {"xab", "axb"} <= set(inserted)
    assert len(inserted) == 26 + 26 - 1  # "aab" comes twice
    assert "Xb" in offered(CharEdits(kinds=("substitute",)), "Ab")[0]


def test_inner_edits_spare_the_ends():
    for kind in ("swap", "drop", "insert", "substitute", "keyboard", "homoglyph"):
        for made in offered(CharEdits(kinds=(kind,), inner=True), "abcd")[0]:
            assert made[0] == "a"
            assert made[-1] == "d"
    assert offered(CharEdits(inner=True), "ab a abc")[:2] == [[], []]


def test_drawn_edits_are_one_of_each_kind_and_depend_on_the_seed():
    candidates = CharEdits(each=1)
    first = offered(candidates, "wonderful wonderful", seed=1)
    assert all(1 <= len(words) <= 4 for words in first)
    assert first == offered(candidates, "wonderful wonderful", seed=1)
    assert first != offered(candidates, "wonderful wonderful", seed=2)
    assert first[0] != first[1]


def test_character_settings():
    with pytest.raises(SettingError, match=r"CharEdits\.kinds takes some of"):
        CharEdits(kinds=("twist",))
    with pytest.raises(SettingError, match=r"CharEdits\.kinds takes some of"):
        CharEdits(kinds=())
    with pytest.raises(SettingError, match="at least 1"):
        CharEdits(each=0)


@given(st.text("abAB'-é\u0301", min_size=1, max_size=8))
def test_every_character_edit_is_one_word_one_edit_away(word):
    for slot in Text.of(word, Words()).strings:
        for kind in ("swap", "drop", "insert", "substitute"):
            (made,) = offered(CharEdits(kinds=(kind,)), slot)
            assert made == sorted(set(made) - {slot})
            for other in made:
                assert Text.of(other, Words()).strings == [other]
                assert levenshtein(slot, other) <= (2 if kind == "swap" else 1)


def test_edits_name_their_place():
    assert [(i, made) for i, made in edits("abc", "drop", 1, 1)] == [(1, "ac")]


def test_a_token_of_thousands_of_letters_has_few_edits():
    word = "ab" * 2500
    for kind in ("swap", "drop", "insert", "substitute"):
        made = list(edits(word, kind, 0, len(word) - 1))
        assert 60 <= len({place for place, _ in made}) <= 64
        assert len(made) <= 64 * 26
    places = [place for place, _ in edits(word, "drop", 0, len(word) - 1)]
    assert places[0] == 0
    assert places[-1] > 4900, "spread over the whole of it"
    (offers,) = offered(Homoglyphs(), word)
    assert 2 <= len(offers) < 1000


def test_homoglyphs_one_letter_or_all():
    made = offered(Homoglyphs(), "ok 7")
    assert "\u043e\u03ba" in made[0]  # both
    assert {"\u043ek", "o\u03ba"} <= set(made[0])
    assert made[1] == []
    assert "\u043e\u03ba" not in offered(Homoglyphs(whole=False), "ok")[0]


@pytest.mark.assets
def test_the_real_wordnet(real_asset):
    real_asset("wordnet")
    (made,) = offered(WordNetSynonyms(part="any"), "film")
    assert "movie" in made


@pytest.mark.assets
def test_the_real_misspellings(real_asset):
    real_asset("misspellings")
    (made,) = offered(Misspellings(), "receive")
    assert "recieve" in made


@pytest.mark.assets
def test_the_real_vocabulary(real_asset):
    real_asset("glove")
    (made,) = offered(Vocabulary(size=500), "film")
    assert len(made) in (499, 500)
    assert "good" in made


def test_near_words_in_the_case_of_the_word(tiny_assets):
    assert offered(NearWords(), "Good GOOD good") == [["Fine", "Nice"], ["FINE", "NICE"], ["fine", "nice"]]


def test_near_words_leave_out_what_the_part_of_speech_forbids(tiny_assets):
    """The stand-in's tagger calls fine an adjective; okay is a noun or a verb, poor an adjective."""
    table = Words()
    origin = Text.of("fine Fine film", table)
    attack = listed(candidates=NearWords(), constraints=(SamePart(),))
    trial = Trial(attack, Example("id", {"text": "fine Fine film"}, 1), origin, 0, "?")
    ((_, space),) = drive([(0, trial.space())], toy.toy_services(toy.victim()), width=1)
    found = [[table.strings[w] for w in words.tolist()] for words in space.words]
    assert found == [["poor"], ["Poor"], ["movie", "picture"]]
    assert "okay" not in table.strings, "what is refused gets no number"


@pytest.mark.parametrize("instead", [False, True])
@given(word=st.text("abyz", max_size=6), case=st.sampled_from([str, str.upper, str.capitalize]), inner=st.booleans())
def test_letter_edits_are_those_of_the_alphabet_in_order(word, case, inner, instead):
    word, first, last = case(word), int(inner), len(word) - 1 - inner
    if not LetterEdits.fit(word, first, last):
        return
    made = LetterEdits(word, first, last, instead=instead)
    wanted = sorted({other for _, other in edits(word, "substitute" if instead else "insert", first, last)})
    assert [made[i] for i in range(len(made))] == wanted == sorted(made)
    assert made[-2:] == wanted[-2:]


def test_drawn_edits_are_those_that_the_seed_gave_before():
    """Outcomes of earlier releases stay what they are: the draw is that of numpy's `choice` from the sorted edits."""
    rng = np.random.default_rng(
        [3, *np.frombuffer(blake2b(b"id\x1fchars\x1f0", digest_size=16).digest(), "<u4").tolist()]
    )
    made = [sorted({e for _, e in edits("film", kind, 0, 3)}) for kind in ("swap", "insert")]
    wanted = [row[rng.choice(len(row), 1, replace=False)[0]] for row in made]
    assert offered(CharEdits(kinds=("swap", "insert"), each=1), "film", seed=3) == [sorted(wanted)]
