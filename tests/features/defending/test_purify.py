"""Purification: spelling is restored, what is right stays, and a vote over refilled copies is repeatable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from malaprop.assets.plain_letters import make_plain, strip_unseen
from malaprop.attacks.candidates.unseen import swap_unseen
from malaprop.core.ask import Guesses
from malaprop.core.errors import SettingError
from malaprop.features.defending import purify, spellcheck
from malaprop.features.defending.purify import Purify
from malaprop.features.defending.spellcheck import Speller, is_one_edit
from malaprop.frame.runs.wrap import defend_by_spec
from malaprop.models.victims.strings import StringVictim

COMMON = ("the", "film", "movie", "terrible", "wonderful", "great", "good", "3d", "from", "form")
# Rare words follow after so many others that a correction is far more frequent.
WORDS = [*COMMON, *(f"w{number:05d}" for number in range(25_000)), "flim", "mesmerizing", "zorglub"]


@pytest.fixture(autouse=True)
def speller(monkeypatch: pytest.MonkeyPatch) -> Speller:
    made = Speller.of(WORDS, {"terrible": ("terible", "turrible"), "rare": ("raar",)})
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a TERRIBEL flim, wondreful!", "a TERRIBLE film, wonderful!"),  # swaps, in the case of the word
        ("a mid-moovie flim's", "a mid-movie film's"),  # parts of words
        ("Mooovie", "Mooovie"),  # two letters off: nobody knows
        ("moovie", "movie"),
        ("terrble", "terrible"),
        ("turrible", "terrible"),  # a known misspelling
        ("m\u200bovie", "movie"),  # a character of no width
        ("mo" + swap_unseen("v", "i") + "e", "movie"),  # stored as moive
        ("moxvie".replace("x", "x\b"), "movie"),  # a backspace takes x away
        ("\u0442\u0435rribl\u0435", "terrible"),  # Cyrillic letters among Latin ones
        ("wonderf\u00fcl", "wonderful"),
        ("t3rr1ble", "terrible"),
        ("form from 3d zorglub mesmerizing Xanthippe", "form from 3d zorglub mesmerizing Xanthippe"),  # all right
        ("goodn't film've", "goodn't film've"),  # a known word, shortened
        (
            "\u043c\u043e\u0441\u043a\u0432\u0430",
            "\u043c\u043e\u0441\u043a\u0432\u0430",
        ),  # a Russian word stays Russian
        ("", ""),
    ],
)
def test_words_come_back_as_they_were_meant(speller: Speller, given: str, expected: str) -> None:
    assert speller.restore(given) == expected


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [("film", "flim", True), ("film", "films", True), ("film", "fim", True), ("film", "fulm", True),
     ("film", "mlif", False), ("film", "fulmy", False), ("ab", "ba", True), ("abc", "cba", False)],
)  # fmt: skip
def test_one_edit(one: str, other: str, near: bool) -> None:
    assert is_one_edit(one, other) is is_one_edit(other, one) is near


def test_nothing_unseen_is_left() -> None:
    assert strip_unseen("a\u200b\u202eb\u2066c\ufeff\b") == "ab"
    assert strip_unseen("ab\bc\b\bd") == "d"
    assert strip_unseen("plain text") == "plain text"
    assert make_plain("caf\u00e9") == "cafe"


def count_terrible(texts: list[str]) -> Any:
    bad = np.asarray([text.lower().count("terrible") for text in texts], float)
    return np.stack([bad, 0.5 + 0 * bad], 1)


def test_a_victim_reads_the_restored_text_on_both_roads() -> None:
    inner = StringVictim(call=count_terrible, name="counts")
    victim: Any = defend_by_spec("purify:spell:context=false", inner)
    assert victim.name == "purify:context=False(counts)"
    assert victim.predict(["a terribel film"]).argmax() == 0
    assert inner.predict(["a terribel film"]).argmax() == 1
    assert victim.offers == inner.offers


class Fitting:
    """Finds `from` likelier than `form` wherever it is asked."""

    def fill(self, clozes: Any) -> list[Guesses]:
        assert all(cloze.text[cloze.start : cloze.end] == "form" for cloze in clozes)  # what is likeliest by itself
        return [Guesses(c.words, np.asarray([-9.0 * (word != "from") for word in c.words])) for c in clozes]


def test_of_several_corrections_the_one_that_fits_is_taken(monkeypatch: pytest.MonkeyPatch, speller: Speller) -> None:
    made = Speller.of([*COMMON, "frome", *WORDS[len(COMMON) :]], {"form": ("fromm",)})
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    assert made.restore("fromm") == "form"  # the known misspelling
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: Fitting())
    spell = Purify(real_words=False)
    assert spell._restore(["it is fromm here , fromm !", "a film"], "cpu") == ["it is from here , from !", "a film"]


class Reading:
    """Sees `flim` in several pieces; where a word is hidden it expects `film`, `from`, `the` or `good`."""

    asked: list[Any]
    tokenizer = SimpleNamespace(mask_token="[MASK]")

    def __init__(self) -> None:
        self.asked = []

    def fill(self, clozes: Any) -> list[Guesses]:
        self.asked += clozes
        return [Guesses(c.words, np.asarray(list(map(self.look, c.words)))) for c in clozes]

    def look(self, word: str) -> float:
        return np.nan if word.lower() == "flim" else -0.5 if word.lower() in ("film", "from", "the", "good") else -8.0


def test_words_that_are_spelt_rightly_but_do_not_fit_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    misspelt = {"from": ("form",), "the": ("he",)}
    made = Speller.of([*COMMON, "he", *WORDS[len(COMMON) :]], misspelt, lambda word: word == "flim")
    model = Reading()
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: model)
    text = "a good Flim form he film"
    assert Purify()._restore([text], "cpu") == [
        "a good Film from the film"
    ]  # the most frequent words are looked at too
    assert Purify(real_words=False)._restore([text], "cpu") == [text]


def test_words_are_hidden_in_turns_so_that_none_speaks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Reading()
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: model)
    made = Speller.of(WORDS, {"from": ("form",), "good": ("great",)})
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    assert Purify()._restore(["form great xx great"] * 2, "cpu") == ["from good xx good"] * 2
    seen = [(c.text, c.text[c.start : c.end], c.words[0]) for c in model.asked]
    assert seen == [
        ("[MASK] great xx [MASK]", "[MASK]", "form"),  # every third word at a time
        ("form [MASK] xx great", "[MASK]", "great"),
        ("[MASK] great xx [MASK]", "[MASK]", "great"),
    ]  # and equal texts once


def test_what_people_are_known_to_have_misspelt_so_is_likelier_than_a_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    class Even:
        """Finds `any` somewhat likelier than all other words."""

        def fill(self, clozes: Any) -> list[Guesses]:
            return [Guesses(c.words, np.asarray([2.5 * (word == "any") for word in c.words])) for c in clozes]

    made = Speller.of(["any", "funny", *WORDS[len(COMMON) :]], {"funny": ("fany",)})
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: Even())
    assert Purify(real_words=False)._restore(["fany", "aany"], "cpu") == ["funny", "any"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("and's film", "and film"),  # nothing is ever and's
        ("is'll it's that's he'll film's isn't", "is it's that's he'll film's isn't"),
        ("0f films", "of films"),  # a known misspelling that is no word of letters
        ("i'ts", "its"),
        ("10 20", "10 20"),
    ],
)
def test_marks_and_digits_in_words_where_nobody_writes_them(given: str, expected: str) -> None:
    words = ["and", "of", "is", "its", "film", "films", "ten", "10", *WORDS[len(COMMON) :]]
    made = Speller.of(words, {"and": ("and's",), "of": ("0f",), "its": ("i'ts", "it's"), "ten": ("10",)})
    assert made.restore(given) == expected


@pytest.mark.assets
def test_words_of_one_letter_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (doubt,) = (one for one in spellcheck.open_speller().find_alternatives("g film") if one.start == 0)
    assert doubt.options == ("a",)


@pytest.mark.assets
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("domestic drama with spikes off sly humor .", "domestic drama with spikes of sly humor ."),
        ("g french film with g more down-home flavor .", "a french film with a more down-home flavor ."),
        ("this is the best film off he year .", "this is the best film of the year ."),
        ("a wise and's powerful tale 0f race .", "a wise and powerful tale of race ."),
    ],
)
def test_words_that_an_attack_which_knows_the_defence_liked(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: str
) -> None:
    monkeypatch.undo()
    assert Purify()._restore([given, expected], "cpu") == [expected, expected]


class Refilling:
    """Expects the same two words everywhere."""

    def fill(self, clozes: Any) -> list[Guesses]:
        return [Guesses(("good", "great"), np.zeros(2, np.float32)) for _ in clozes]


def test_refilled_copies_vote_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: Refilling())
    inner = StringVictim(call=count_terrible, name="counts")
    victim: Any = defend_by_spec("purify:mlm:share=0.5:copies=6:vote=majority", inner)
    text = "a terrible film it is"
    assert victim.predict([text]).tolist() == victim.predict(["other words", text]).tolist()[1:]
    assert 0 < victim.predict([text])[0, 0] < 1  # the word is hidden in some of the copies
    whole: Any = defend_by_spec("purify:mlm:share=1:copies=3", inner)
    assert whole.predict([text]).argmax() == 1
    assert victim.predict([""]).shape == (1, 2)


@pytest.mark.parametrize("wrong", ["purify:by=magic", "purify:mlm:copies=0", "purify:mlm:share=0", "purify:words"])
def test_settings_that_cannot_be_are_refused(wrong: str) -> None:
    with pytest.raises(SettingError):
        defend_by_spec(wrong, StringVictim(call=count_terrible))
