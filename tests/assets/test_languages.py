"""Languages: which one a text is in, its keys, look-alikes, synonyms and forms."""

from __future__ import annotations

import gzip
import lzma
from io import BytesIO

import pytest

from malaprop.assets import lexicon, omw, store, wordlists
from malaprop.assets.languages import (
    LANGUAGES,
    Language,
    choose_language,
    find_languages,
    guess_language,
    open_language,
    parse_languages,
)
from malaprop.core.errors import SettingError
from malaprop.core.text import Text, Words


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the film is not as good as it was in the book", ""),
        ("a moving, funny film", ""),  # no function words of any kind
        ("Der Film ist nicht so gut wie das Buch", "de"),
        ("Le film n'est pas aussi bon que le livre", "fr"),
        ("La película es muy larga pero los actores son buenos", "es"),
        ("Il film non è bello come il libro", "it"),
        ("O filme não é tão bom, mas os atores são muito bons", "pt"),
        ("De film is niet zo goed, maar het boek wel", "nl"),
        ("Filmen är inte så bra, men jag har också läst boken", "sv"),
        ("Ten film nie jest tak dobry, ale książka już była", "pl"),
        ("这部电影很好看", "zh"),
        ("この映画はとても面白い", "ja"),
        ("이 영화는 정말 재미있다", "ko"),
        ("ภาพยนตร์เรื่องนี้ดีมาก", "th"),
        ("Фильм очень хороший", "ru"),
        ("Фільм дуже цікавий", "uk"),
        ("الفيلم جيد جدا", "ar"),
        ("این فیلم خوب چیزی ندارد", "fa"),
        ("הסרט טוב מאוד", "he"),
        ("η ταινία είναι καλή", "el"),
        ("यह फिल्म बहुत अच्छी है", "hi"),
        ("", ""),
        ("10/10 !!!", ""),
        ("die hard was the best film of the year, and so on", ""),
        ("an homage to Les Enfants du Paradis, with all of the charm that it has", ""),
    ],
)
def test_the_language_of_a_text(text, code):
    assert guess_language(text).code == code


def test_a_file_has_the_languages_of_its_texts():
    german, english, silent = "Der Film ist nicht gut", "the film is not good", "toller Film"
    assert find_languages([english] * 30 + [german]) == {"en": 31}  # one text of little weight says nothing
    assert find_languages([english] * 30 + ["这部电影很好看"]) == {"en": 30, "zh": 1}  # its script leaves no doubt
    assert find_languages([german] * 8 + [silent] * 2) == {"de": 10}
    assert find_languages([silent] * 9 + [german] * 2) == {"en": 9, "de": 2}
    assert choose_language(silent, ("de", "en")).code == "de"
    assert choose_language(english, ("de", "en")).code == "en"
    assert choose_language(english, ("de",)).code == "de"


def test_languages_are_named_by_their_codes():
    assert parse_languages("auto") == ()
    assert parse_languages("de, fr,de") == ("de", "fr")
    for wrong in ("German", "", "auto,de"):
        with pytest.raises(SettingError):
            parse_languages(wrong)


def test_keys_and_letters_of_a_language():
    assert open_language("de").keyboard()["z"][:2] == ("t", "u")
    assert open_language("en").keyboard() == lexicon.keyboard()
    assert "ü" in open_language("de").letters()
    assert open_language("ru").keyboard()["ф"][0] == "ы"
    assert open_language("zh").letters() == ""
    assert all(len(key) == 1 for one in LANGUAGES.values() for keys in one.keyboard().values() for key in keys)


def test_look_alikes_in_both_directions():
    table = open_language("ru").homoglyphs()
    assert "a" in table["а"]
    assert {"ü"}.isdisjoint(table["ü"])
    assert open_language("en").homoglyphs() == lexicon.homoglyphs()


@pytest.mark.parametrize("text", ["كتاب جميل، جدا!", "אני אוהב את הסֵפֶר.", "این می‌خواهم خوب است", "l'été, là-bas"])
def test_scripts_from_right_to_left_are_cut_at_spaces_and_joined_again(text):
    found = Text.of(text, Words())
    assert str(found) == text
    assert [word.strip("،,.!") for word in text.split()] == found.strings


@pytest.fixture
def french(tmp_path, monkeypatch):
    """A thesaurus of three senses, with forms and frequent words."""
    rows = {
        "00000001-n": ["chien", "toutou"],
        "00000002-n": ["homme", "humain", "type", "être humain"],
        "00000003-s": ["grand", "joli"],
    }
    text = "# French\tfra\n" + "".join(f"{s}\tfra:lemma\t{w}\n" for s, words in rows.items() for w in words)
    omw.convert({"fra/wn-data-fra.tab": lambda: BytesIO(text.encode())}, tmp_path)
    forms = {"grands": "grand", "grande": "grand", "joli": "joli", "jolis": "joli", "jolie": "joli", "chiens": "chien"}
    forms |= {"toutous": "toutou", "jolib": "joli"}
    (tmp_path / "fr.plzma").write_bytes(lzma.compress(front_code(forms)))
    listed = [["chien", "toutou", "toutous"], ["joli", "jolis", "jolie", "humain", "type"]]
    (tmp_path / "small_fr.msgpack.gz").write_bytes(gzip.compress(pack(listed)))
    monkeypatch.setattr(store, "locate", lambda name: tmp_path)
    for cached in (omw.open_thesaurus, wordlists.base_forms, wordlists.frequent_words):
        cached.cache_clear()
    yield open_language("fr")
    for cached in (omw.open_thesaurus, wordlists.base_forms, wordlists.frequent_words):
        cached.cache_clear()


def front_code(pairs):
    out, before = b"SMFC1\0" + bytes([len(pairs)]), b""
    for key, value in sorted((k.encode(), v.encode()) for k, v in pairs.items()):
        shared = next((i for i, (a, b) in enumerate(zip(key, before, strict=False)) if a != b), 0)
        out += bytes([shared, len(key) - shared]) + key[shared:] + bytes([255, len(value)]) + value
        before = key
    return out


def pack(groups):
    out = bytes([0x91 + len(groups)]) + bytes([0x81, 0xA1]) + b"v" + bytes([1])
    for group in groups:
        out += bytes([0x90 + len(group)]) + b"".join(bytes([0xA0 + len(w.encode())]) + w.encode() for w in group)
    return out


def test_synonyms_share_a_sense_and_take_the_form_of_the_word(french):
    assert french.synonyms("chien") == ("toutou",)
    assert french.synonyms("Chiens") == ("toutous",)
    assert french.synonyms("grands") == ("jolis",)
    assert french.synonyms("Grande") == ("jolie",)
    assert french.synonyms("rien") == ()
    assert french.forms("joli") == ("jolie", "jolis")  # jolib is in no list of words


def test_a_word_behind_an_elision_takes_words_that_begin_with_a_vowel(french):
    assert french.synonyms("homme") == ("humain", "type")
    assert french.synonyms("l'homme") == ("l'humain",)
    assert Language("de", "German").synonyms("l'homme") == ()
