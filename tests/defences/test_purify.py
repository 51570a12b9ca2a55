"""Purification: spelling is restored, what is right stays, and a vote over refilled copies is repeatable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from malaprop.attacks.candidates.unseen import swap_unseen
from malaprop.core.cloze import Guesses
from malaprop.core.errors import SettingError
from malaprop.defences import purify, spellcheck
from malaprop.defences.purify import Purify
from malaprop.defences.spellcheck import Speller, is_one_edit, make_plain, strip_unseen
from malaprop.defences.wrap import defend
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
    assert make_plain("caf\u00e9") == "cafe"


def count_terrible(texts: list[str]) -> Any:
    bad = np.asarray([text.lower().count("terrible") for text in texts], float)
    return np.stack([bad, 0.5 + 0 * bad], 1)


def test_a_victim_reads_the_restored_text_on_both_roads() -> None:
    inner = StringVictim(call=count_terrible, name="counts")
    victim: Any = defend("purify:spell:context=false", inner)
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
    assert Purify()._restore(["it is fromm here , fromm !", "a film"], "cpu") == ["it is from here , from !", "a film"]


class Reading:
    """Sees `flim` in several pieces, and expects `good` but not `form`; where it sees nothing, `film` and `from`."""

    asked: list[Any]

    def fill(self, clozes: Any) -> list[Guesses]:
        self.asked += [(c.text[c.start : c.end], c.hidden) for c in clozes]
        return [self.look(c) for c in clozes]

    def look(self, cloze: Any) -> Guesses:
        own = cloze.text[cloze.start : cloze.end].lower()
        if not cloze.hidden:
            found = [
                np.nan if own == "flim" else 0.0 if own == "good" and word == own else -4.0 for word in cloze.words
            ]
        else:
            found = [-0.5 if word.lower() in ("film", "from") else -8.0 for word in cloze.words]
        return Guesses(cloze.words, np.asarray(found))


def test_words_that_are_spelt_rightly_but_do_not_fit_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Speller.of(WORDS, {"from": ("form",)}, lambda word: word == "flim")  # which a dictionary has
    model = Reading()
    model.asked = []
    monkeypatch.setattr(spellcheck, "open_speller", lambda: made)
    monkeypatch.setattr(spellcheck, "_SURE", 0)
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: model)
    text = "a good Flim form here"
    assert Purify()._restore([text], "cpu") == ["a good Film from here"]
    assert Purify(real_words=False)._restore([text], "cpu") == [text]
    assert ("form", True) in model.asked
    assert ("good", True) not in model.asked  # what the model expects is not looked at again


class Refilling:
    """Expects the same two words everywhere."""

    def fill(self, clozes: Any) -> list[Guesses]:
        return [Guesses(("good", "great"), np.zeros(2, np.float32)) for _ in clozes]


def test_refilled_copies_vote_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purify, "_masked_lm", lambda *_: Refilling())
    inner = StringVictim(call=count_terrible, name="counts")
    victim: Any = defend("purify:mlm:share=0.5:copies=6:vote=majority", inner)
    text = "a terrible film it is"
    assert victim.predict([text]).tolist() == victim.predict(["other words", text]).tolist()[1:]
    assert 0 < victim.predict([text])[0, 0] < 1  # the word is hidden in some of the copies
    whole: Any = defend("purify:mlm:share=1:copies=3", inner)
    assert whole.predict([text]).argmax() == 1
    assert victim.predict([""]).shape == (1, 2)


@pytest.mark.parametrize("wrong", ["purify:by=magic", "purify:mlm:copies=0", "purify:mlm:share=0", "purify:words"])
def test_settings_that_cannot_be_are_refused(wrong: str) -> None:
    with pytest.raises(SettingError):
        defend(wrong, StringVictim(call=count_terrible))
