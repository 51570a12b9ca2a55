"""Languages: what attacks know of each. The values are small; their data are read when they are first asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from malaprop.assets import chinese, lexicon
from malaprop.assets.download import say
from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, SettingError
from malaprop.core.settings import split_list
from malaprop.core.text import Cut, is_unspaced, split_characters

ENGLISH, CHINESE = "en", "zh"
AUTO = "auto"  # a setting: as the texts seem to be


@dataclass(frozen=True, slots=True)
class Language:
    """A language as attacks see it: its synonyms, stop words, forms, letters and keys.

    What is not to be had is empty: an attack on characters needs none of it, and one on words says what is missing.
    """

    code: str  # ISO 639-1
    name: str
    rows: tuple[str, ...] = ()  # the letter rows of its keyboard; empty: not known
    elides: bool = False  # a short word drops its vowel before another one and is written with it: l'homme

    @property
    def is_english(self) -> bool:
        return self.code == ENGLISH

    @property
    def has_synonyms(self) -> bool:
        """Whether there is a large source of synonyms."""
        from malaprop.assets.omw import has_thesaurus

        return self.is_english or has_thesaurus(self.code)

    @property
    def has_forms(self) -> bool:
        """Whether the forms of its words are known."""
        from malaprop.assets.wordlists import has_base_forms

        return self.is_english or has_base_forms(self.code)

    @property
    def cut(self) -> Cut:
        """What cuts a run of a script without spaces into words; it reads its list of words when first called."""
        return lambda run: self._cut(run)

    def _cut(self, run: str) -> Sequence[str]:
        from malaprop.assets.segment import open_segmenter

        try:
            return open_segmenter(self.code)(run)
        except AssetError:  # `describe_lack` says so before a run
            return split_characters(run)

    def describe_lack(self) -> str:
        """Return a line on why words cannot be told apart in a script without spaces; empty where they can."""
        from malaprop.assets.segment import open_segmenter

        try:
            open_segmenter(self.code)
        except AssetError as error:
            return f"each character of {self.name} is taken for a word, as its list of words is missing: {error}"
        return ""

    def stop_words(self) -> frozenset[str]:
        """Return function words in lower case; empty where there is no list."""
        return lexicon.stop_words() if self.is_english else lexicon.foreign_stop_words(self.code)

    def synonyms(self, word: str, *, wide: bool = False) -> tuple[str, ...]:
        """Return the words that share a sense with the word, sorted; in its form where the forms are known.

        With `wide` those of rare senses too.
        """
        from malaprop.assets.omw import open_thesaurus

        return self._behind_elision(word, lambda one: open_thesaurus(self.code).synonyms(one, wide))

    def forms(self, word: str) -> tuple[str, ...]:
        """Return the other forms of the word's base form, sorted; none where the language's forms are not known."""
        from malaprop.assets.omw import open_thesaurus

        if self.elides and word[:2].lower() in _BEFORE_SINGULARS:
            return ()  # les amis has no elision
        return self._behind_elision(word, open_thesaurus(self.code).forms)

    @property
    def has_keyboard(self) -> bool:
        """Whether it is known which keys are next to each other."""
        return bool(self.rows) or self.code == CHINESE

    @property
    def has_look_alikes(self) -> bool:
        """Whether letters of its script look like others."""
        return self.code not in _NO_LOOK_ALIKES

    def replacements(self, word: str, *, wide: bool = False) -> tuple[str, ...]:
        """Return the word's synonyms, sorted; its other forms too if `wide`, or with no large source of synonyms.

        Numbers, single letters and what stands for an address have none.
        """
        if word.lower() in _NO_WORDS or (len(word) < 2 and not is_unspaced(word)) or not word[:1].isalpha():
            return ()
        found = self.synonyms(word, wide=wide)
        return found if self.has_synonyms and not wide else tuple(sorted({*found, *self.forms(word)}))

    def _behind_elision(self, word: str, find: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
        """Return what `find` gives for the word; of l'homme for homme, and only words that l' may stand before."""
        split = _ELIDED.fullmatch(word) if self.elides else None
        if split is None:
            return tuple(find(word))
        return tuple(split[1] + found for found in find(split[2]) if found[:1].lower() in _VOWELS)

    def letters(self) -> str:
        """Return the letters that may be put into a word, in lower case; none where they are not known."""
        found = lexicon.keyboard(rows=self.rows) if self.rows else {}
        return "".join(sorted(key for key in found if key.isalpha() and key == key.lower()))

    def keyboard(self, *, reach: float = 1.3) -> Mapping[str, tuple[str, ...]]:
        """Return the keys whose middles are less than `reach` key widths from a letter's, for each letter.

        In Chinese the characters whose pinyin has one such key in it.
        """
        if self.code == CHINESE:
            return chinese.slips()
        return lexicon.keyboard(reach=reach, rows=self.rows) if self.rows else {}

    def homoglyphs(self) -> Mapping[str, tuple[str, ...]]:
        """Return for each letter those of other alphabets that look like it; in Chinese also characters that do."""
        if self.code == CHINESE:
            try:
                return {**lexicon.homoglyphs_both_ways(), **chinese.look_alikes()}
            except AssetError as error:
                say(f"look-alikes of Chinese characters are left out: {error}")
        return lexicon.homoglyphs() if self.is_english else lexicon.homoglyphs_both_ways()

    def homophones(self) -> Mapping[str, tuple[str, ...]]:
        """Return for each Chinese character common ones that sound like it; in other languages none."""
        return chinese.homophones() if self.code == CHINESE else {}

    def splits(self) -> Mapping[str, tuple[str, ...]]:
        """Return for each Chinese character of two parts side by side these parts; in other languages none."""
        return chinese.splits() if self.code == CHINESE else {}


_BEFORE_SINGULARS = frozenset({"l'", "l’"})  # noqa: RUF001 - the article
_NO_WORDS = frozenset({"http", "https", "www", "rt"})
_ELIDED = re.compile(r"([^\W\d_]{1,6}['’])([^\W\d_].*)")  # noqa: RUF001
_VOWELS = frozenset("aeiouhyàâæéèêëìîïòôœùûü")

_NORDIC = ("`1234567890+", "qwertyuiopå", "asdfghjklöä", "zxcvbnm,.-")
_DANISH = ("`1234567890+", "qwertyuiopå", "asdfghjklæø", "zxcvbnm,.-")
_SLAVIC = ("`1234567890", "qwertzuiopšđ", "asdfghjklčćž", "yxcvbnm,.-")
_ARABIC = ("`1234567890-=", "ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ")
_KEYBOARDS: dict[str, tuple[str, ...]] = {
    "ar": _ARABIC,
    "bg": ("`1234567890-=", "уеишщксдзц;", "ьяаожгтнвмч", "юйъэфхпрлб"),
    "da": _DANISH,
    "de": ("`1234567890ß", "qwertzuiopü+", "asdfghjklöä#", "yxcvbnm,.-"),
    "el": ("`1234567890-=", ";ςερτυθιοπ[]", "ασδφγηξκλ", "ζχψωβνμ,."),
    "es": ("`1234567890'¡", "qwertyuiop`+", "asdfghjklñ", "zxcvbnm,.-"),
    "fa": ("`1234567890-=", "ضصثقفغعهخحجچ", "شسیبلاتنمکگ", "ظطزرذدپو"),
    "fi": _NORDIC,
    "fr": ("²&é\"'(-è_çà)=", "azertyuiop^$", "qsdfghjklmù*", "wxcvbn,;:!"),
    "he": ("`1234567890-=", "/'קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    "hr": _SLAVIC,
    "it": ("`1234567890'ì", "qwertyuiopè+", "asdfghjklòàù", "zxcvbnm,.-"),
    "nb": _DANISH,
    "nn": _DANISH,
    "pt": ("`1234567890'«", "qwertyuiop+", "asdfghjklçº~", "zxcvbnm,.-"),
    "ru": ("`1234567890-=", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю."),
    "sl": _SLAVIC,
    "sv": _NORDIC,
    "tr": ("`1234567890*-", "qwertyuıopğü", "asdfghjklşi", "zxcvbnmöç."),  # noqa: RUF001
    "uk": ("`1234567890-=", "йцукенгшщзхї", "фівапролджє", "ячсмитьбю."),
}
_NO_LOOK_ALIKES = frozenset({"ko", "ta", "bn", "gu"})
_UNKNOWN_KEYS = ("zh", "ja", "ko", "th", "hi", "ta", "ur", "bn", "gu")  # in a script for which there is no layout here
_NAMES = {
    "en": "English", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "ms": "Malay", "nb": "Norwegian", "nl": "Dutch", "nn": "Nynorsk", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovene", "sq": "Albanian",
    "sv": "Swedish", "ta": "Tamil", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_ELIDING = frozenset({"fr", "it", "ca"})
LANGUAGES: Mapping[str, Language] = {
    code: Language(code, name, _KEYBOARDS.get(code, () if code in _UNKNOWN_KEYS else lexicon.KEYS), code in _ELIDING)
    for code, name in _NAMES.items()
}


def open_language(code: str) -> Language:
    """Return the language of a code such as de; raise on an unknown one, with the nearest known ones."""
    if code not in LANGUAGES:
        raise unknown("language", code, LANGUAGES)
    return LANGUAGES[code]


def parse_languages(given: str) -> tuple[str, ...]:
    """Parse a setting of languages: codes separated by commas; none for auto."""
    codes = dict.fromkeys(split_list(given))
    if not codes:
        raise SettingError("there is no language; give auto, or codes such as de or de,fr")
    if [*codes] == [AUTO]:
        return ()
    return tuple(open_language(code).code for code in codes)


# Frequent function words of each language in Latin letters. A word that English has too, as German "die", is left out
# of the others; so is one that says little, as it stands in several of them.
_FREQUENT = {
    "en": "the of and to in is it that was for with as be at on have this not but by from or are you he she we "
    "they his her its an there their which what will would has had been were who if so about more than",
    "de": "der das und ist nicht ein eine einen einem einer von zu mit auf für dem den des sich auch es wird sind "
    "wie aber ich sie wir haben nur noch nach bei über sehr kein keine schon jetzt heute mich mir dich dir mein meine "
    "dann wenn weil doch alle immer vom zum zur im als oder kann gibt bin bist da hier um ja mal neue gegen ihr uns",
    "fr": "le les et est une des du dans que qui pas pour sur avec ce cette il elle nous vous mais plus au aux par "
    "sont être été ont très",
    "es": "el los las y es una en que del por con para su se lo como más pero este esta muy fue ser está son",
    "it": "il gli che di è un una per non con sono della del le si ma come più anche questo questa molto nel alla",
    "pt": "os e é um uma que não em para com do da dos das por mais como mas foi ao ele ela muito são está",
    "nl": "het een van en niet dat zijn op te voor met die er ook maar wordt deze heeft naar bij uit geen wel",
    "sv": "och att det som är på av för inte jag till från eller efter bara när också vara mycket",
    "da": "og det som er på af ikke jeg til fra efter kun når også være meget men blev hvor bliver",
    "nb": "og å det som er på av ikke jeg til fra etter bare når også være mye men ble hvor blir",
    "fi": "ja ei että oli mutta hän kun niin myös tämä ovat jos vain joka kuin mitä olen ole sen",
    "pl": "nie się że jest jak ale tak za od przez był była czy tylko dla już",
    "cs": "je že ale jako jsem by pro jsou byl byla jen nebo když tak už ještě který",
    "sk": "je že ale ako som pre sú bol bola len alebo keď tak už ešte ktorý nie",
    "sl": "je pa ki tudi kot še bilo samo zelo ker lahko kako",
    "hr": "je što ali kao nije bio bila samo koji koja vrlo ili su sam",
    "ro": "și în nu că este cu pe din pentru mai care sunt dar fost când foarte această lui să",
    "hu": "az és hogy nem egy ez volt meg már csak mint ha ki vagy nagyon szerint lesz",
    "tr": "bir ve bu için çok ile gibi daha ama değil olarak kadar sonra var",
    "id": "yang dan ini itu dengan untuk tidak dari pada adalah akan juga ke saya ada bisa sudah karena",
    "ca": "els és amb als dels però més aquest aquesta molt són aquests perquè només",
    "lt": "ir kad yra tai bet kaip iš buvo ne į jis dar apie tik už labai arba nuo",
}
_WORDS = {code: frozenset(words.split()) for code, words in _FREQUENT.items()}
_FOREIGN = {code: words - _WORDS[ENGLISH] for code, words in _WORDS.items() if code != ENGLISH}
_LEAST = 2  # function words of another language that a text must have
_SURE = 4  # from which on one text alone is taken for what it seems to be
_WORD = re.compile(r"[^\W\d_]+")
_LOOKED_AT = 400  # letters
_SCRIPTS = (  # where most letters are of one; the first pattern that fits decides
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("fa", re.compile("[پچژگ]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("gu", re.compile("[\u0a80-\u0aff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("uk", re.compile("[іїєґ]")),
    ("bg", re.compile("^(?=.*ъ)[^ыэё]*$", re.DOTALL)),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_BEYOND_LATIN = re.compile("[\u0370-\u1dff\u3040-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Guess:
    """The language that a text seems to be in; the code is empty where nothing says that it is not English."""

    code: str = ""
    sure: bool = False


def guess_language(text: str) -> Guess:
    """Guess the language of a text by its script and its function words. It is meant for whole sentences."""
    words = [word.casefold() for word in _WORD.findall(text)]
    letters = "".join(words)[:_LOOKED_AT]
    if _is_beyond_latin(letters):
        code = _guess_by_script(letters)
        return Guess(code, bool(code))
    if letters.isascii() and sum(word in _WORDS[ENGLISH] for word in words) * 4 > len(words):
        return Guess()  # the usual case, which no other language can win
    counts = {code: sum(word in known for word in words) for code, known in _FOREIGN.items()}
    best = max(counts, key=lambda code: counts[code])
    english = sum(word in _WORDS[ENGLISH] for word in words)
    if counts[best] < _LEAST or counts[best] <= english:
        return Guess()
    return Guess(best, counts[best] >= max(_SURE, 3 * english))


def recognize_language(text: str) -> str:
    """Return the code of the language that a text seems to be in; empty where nothing tells."""
    return guess_language(text).code or (ENGLISH if _is_english(text) else "")


def can_recognize(code: str) -> bool:
    """Whether texts in the language are told from others by their function words or by a script of its own."""
    return code in _WORDS or any(code == one for one, _ in _SCRIPTS)


def find_languages(texts: Iterable[str]) -> dict[str, int]:
    """Count the texts of each language, the most frequent one first; one that only a text or two hint at is left out.

    Texts that say nothing count as the most frequent one of their script, if that has many texts, and English few; else
    as English, which then comes before the others of its script, so that `choose_language` decides likewise.
    """
    found: Counter[str] = Counter()
    sure: set[str] = {ENGLISH}
    doubtful: list[tuple[str, str]] = []  # the code and the text
    for text in texts:
        guess = guess_language(text)
        code = guess.code or (ENGLISH if _is_english(text) else "")
        found[code] += 1
        if guess.sure:
            sure.add(code)
        elif code != ENGLISH:
            doubtful.append((code, text))
    least = max(2, found.total() // 20)
    kept = {code: many for code, many in found.items() if code and (code in sure or many >= least)}
    silent = sum(not code and _find_script(text) == _LATIN for code, text in doubtful)
    most = max((many for code, many in kept.items() if _script_of(code) == _LATIN), default=0)
    spoken = 2 * most > silent and most > 4 * found[ENGLISH]
    weights = {**kept, ENGLISH: found[ENGLISH] if spoken else most}
    order = sorted(weights, key=lambda code: (-weights[code], code != ENGLISH))
    counts = {code: kept.get(code, 0) for code in order}
    for code, text in doubtful:
        if code not in kept:
            counts[_choose_by_letters(text, order)] += 1
    return {code: many for code, many in counts.items() if many}


def choose_language(text: str, codes: tuple[str, ...]) -> Language:
    """Return the language of a text among some: the one that it seems to be in, or else one that fits its letters."""
    if len(codes) == 1:
        return open_language(codes[0])
    found = recognize_language(text)
    return open_language(found if found in codes else _choose_by_letters(text, codes))


def is_in_script(text: str, codes: Iterable[str]) -> bool:
    """Whether one of these languages is written in the script of most letters; true of a text without letters."""
    script = _find_script(text)
    return not script or any(_script_of(code) == script for code in codes)


def _choose_by_letters(text: str, codes: Sequence[str]) -> str:
    """Return the first language of the text's script; one with a key for a letter that English lacks comes first."""
    script = _find_script(text)
    fitting = [code for code in codes if _script_of(code) == script]
    if not fitting:
        return ENGLISH if script and ENGLISH in codes else codes[0]
    marks = {sign for sign in text.lower() if sign.isalpha() and not sign.isascii()}
    if script != _LATIN or not marks:
        return fitting[0]
    return next((code for code in fitting if marks & {*open_language(code).letters()}), fitting[0])


_LATIN, _OTHER = "latin", "other"
_SHARED = {"ja": "zh", "fa": "ar", "ur": "ar", "uk": "ru", "bg": "ru"}  # languages written in the letters of another


def _script_of(code: str) -> str:
    """Return the script of a language: Latin, or the code of the first language that has it."""
    code = _SHARED.get(code, code)
    return code if any(code == one for one, _ in _SCRIPTS) else _LATIN


def _find_script(text: str) -> str:
    """Return the script of most letters of a text, as `_script_of` names it; empty without letters."""
    letters = "".join(_WORD.findall(text)).casefold()[:_LOOKED_AT]
    if _is_beyond_latin(letters):
        found = _guess_by_script(letters)
        return _script_of(found) if found else _OTHER
    return _LATIN if letters else ""


def _guess_by_script(letters: str) -> str:
    """Return the language that the script of these letters says; empty for a script that is not listed."""
    return next((code for code, pattern in _SCRIPTS if pattern.search(letters)), "")


def _is_beyond_latin(letters: str) -> bool:
    return len(_BEYOND_LATIN.findall(letters)) * 2 > len(letters)


def _is_english(text: str) -> bool:
    """Whether the text has two function words of English, and so is no text that says nothing."""
    return sum(word.casefold() in _WORDS[ENGLISH] for word in _WORD.findall(text)) >= _LEAST
