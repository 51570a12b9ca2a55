"""Small tables of words and letters: stop words, keyboard neighbours, misspellings, look-alike letters."""

from __future__ import annotations

import gzip
import json
import string
import unicodedata
import warnings
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path

from malaprop.assets import store
from malaprop.assets.archives import Members
from malaprop.core.errors import AssetError
from malaprop.core.text import word_pattern

KEYS = ("`1234567890-=", "qwertyuiop[]\\", "asdfghjkl;'", "zxcvbnm,./")
_STARTS = (0.0, 1.5, 1.75, 2.25)  # where each row begins on most keyboards, in key widths

# Cyrillic, Greek or Latin letters that most typefaces draw like the plain one. No full-width forms: they show.
_ALIKE = {
    "a": "\u0430\u0251", "b": "\u042c\u0184", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u04bd", "f": "\u0192",
    "g": "\u0261", "h": "\u04bb\u0570", "i": "\u0456", "j": "\u0458\u03f3", "k": "\u03ba", "l": "\u04cf", "m": "\u043c",
    "n": "\u0578", "o": "\u043e\u03bf", "p": "\u0440\u03c1", "q": "\u051b", "r": "\u0433", "s": "\u0455", "t": "\u0442",
    "u": "\u057d\u03c5", "v": "\u03bd\u0475", "w": "\u051d", "x": "\u0445\u03c7", "y": "\u0443", "z": "\u1d22",
    "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421\u03f9", "E": "\u0415\u0395", "H": "\u041d\u0397",
    "I": "\u0406\u0399", "J": "\u0408", "K": "\u041a\u039a", "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f",
    "P": "\u0420\u03a1", "S": "\u0405", "T": "\u0422\u03a4", "X": "\u0425\u03a7", "Y": "\u03a5", "Z": "\u0396",
}  # fmt: skip

# of languages whose list lacks words of several characters, or that have none
_MORE_STOP_WORDS = {"zh": ("chinese-words", "stop.txt"), "th": ("thai", "stopwords_th.txt")}
# Letters of other scripts that most typefaces draw alike: Arabic and Persian, Hebrew, kana and Han, Devanagari, Thai.
_ALIKE_ELSEWHERE = "\u064a\u06cc\u0649 \u0643\u06a9 \u0647\u06c1 \u0627\u0623\u0625 דר הח וז םס בכ גנ "
_ALIKE_ELSEWHERE += "カ力 ロ口 エ工 タ夕 ト卜 ハ八 ニ二 へヘ べベ りリ ンソ シツ बव भम घध षप ขช ดต คศ ฎฏ ผฝ พฟ ซช"
_DIGITS = {"a": "4@", "b": "8", "e": "3", "g": "96", "i": "1", "l": "1", "o": "0", "q": "9", "s": "5", "z": "2"}
# Marks on letters, least conspicuous and most widespread first: circumflex, caron, dot, acute, diaeresis, ring, grave,
# tilde, macron, breve, then those below.
_MARKS = "\u0302\u030c\u0307\u0301\u0308\u030a\u0300\u0303\u0304\u0306\u0327\u0328\u0323\u0331\u0325"


def read_packaged(name: str) -> str:
    return files("malaprop.assets").joinpath("words", name).read_text(encoding="utf-8")


@cache
def stop_words() -> frozenset[str]:
    """Return English function words in lower case, with contractions and the pieces into which splitting cuts them."""
    return frozenset(read_packaged("stop.txt").split())


@cache
def function_words() -> frozenset[str]:
    """Return the stop words and further words of grammar: rarer prepositions, conjunctions, pronouns, light verbs."""
    return stop_words() | frozenset(read_packaged("function.txt").split())


@cache
def quantity_words() -> frozenset[str]:
    """Return words that count, compare, order, date, negate, hedge or colour, in lower case: few, never, may, red."""
    return frozenset(read_packaged("quantity.txt").split())


def is_quantity(word: str) -> bool:
    """Whether a word is a number, a negation or another word of `quantity_words`, also where a hyphen joins it."""
    lower = word.lower().replace("\u2019", "'")
    if any(mark.isdigit() for mark in lower) or lower.endswith(("n't", "-fold")):
        return True
    return not quantity_words().isdisjoint((lower, lower.partition("-")[0]))


@cache
def keyboard(
    *, letters_only: bool = True, reach: float = 1.3, rows: tuple[str, ...] = KEYS
) -> dict[str, tuple[str, ...]]:
    """Return the keys next to each letter or digit on a keyboard, nearest first, in the case of the letter.

    Two keys are neighbours if their middles are less than `reach` key widths apart. With `letters_only` a letter's
    neighbours are letters, so that a typo leaves the word a word.
    """
    spots = {
        mark: (start + column, float(row))
        for row, (marks, start) in enumerate(zip(rows, _STARTS, strict=True))
        for column, mark in enumerate(marks)
    }
    table: dict[str, tuple[str, ...]] = {}
    for mark, (x, y) in spots.items():
        apart = {other: (a - x) ** 2 + (b - y) ** 2 for other, (a, b) in spots.items() if other != mark}
        near = sorted(
            (other for other, far in apart.items() if far < reach**2 - 1e-9), key=lambda other: (apart[other], other)
        )
        if mark.isalpha():
            kept = tuple(other for other in near if other.isalpha() or not letters_only)
            table[mark] = kept
            if len(mark.upper()) == 1 and mark.upper() != mark:  # neither ß nor letters without case
                table[mark.upper()] = tuple(other.upper() for other in kept if len(other.upper()) == 1)
        elif mark.isdigit():
            table[mark] = tuple(other for other in near if other.isdigit() or not letters_only)
    return table


@cache
def homoglyphs() -> dict[str, tuple[str, ...]]:
    """Return for each Latin letter one or two letters of other scripts that look like it."""
    return {letter: tuple(alike) for letter, alike in _ALIKE.items()}


@cache
def homoglyphs_both_ways() -> dict[str, tuple[str, ...]]:
    """Return look-alikes of Latin letters, with accents too, and of the letters of other scripts."""
    table = {letter: tuple(alike) for letter, alike in _ALIKE.items()}
    table |= {one: tuple(group.replace(one, "")) for group in _ALIKE_ELSEWHERE.split() for one in group}
    for letter, alike in _ALIKE.items():
        for twin in alike:
            others = (letter, *(one for one in alike if one != twin))
            table[twin] = tuple(dict.fromkeys((*table.get(twin, ()), *others)))
    for char in map(chr, range(0xC0, 0x250)):
        apart = unicodedata.normalize("NFD", char)
        if len(apart) > 1 and (alike := _ALIKE.get(apart[0], "")):
            table[char] = tuple(unicodedata.normalize("NFC", twin + apart[1:]) for twin in alike)
    return table


@cache
def foreign_stop_words(code: str) -> frozenset[str]:
    """Return the function words of another language, in lower case; empty where there is no list."""
    folder = store.locate("stop-words")
    names: dict[str, str] = json.loads((folder / "languages.json").read_text(encoding="utf-8"))
    name = names.get({"nn": "nb"}.get(code, code))
    found = [folder / f"{name}.txt"] if name else []
    if code in _MORE_STOP_WORDS:
        asset, file = _MORE_STOP_WORDS[code]
        found.append(store.locate(asset) / file)
    words = chain.from_iterable(path.read_text(encoding="utf-8-sig").lower().split() for path in found)
    return frozenset(filter(None, (word.strip('",') for word in words)))


@cache
def digits_alike() -> dict[str, tuple[str, ...]]:
    """Return digits and signs that stand for letters in slang: o and 0, a and @ (Sub-C of Li et al. 2019)."""
    return {letter: tuple(alike) for letter, alike in _DIGITS.items()}


@cache
def visual_neighbours() -> dict[str, tuple[str, ...]]:
    """Return for each Latin letter the characters that look much like it: with an accent, or a homoglyph.

    Derived from Unicode itself: precomposed letters whose decomposition is the letter and one mark. The one with the
    first of `_MARKS` comes first, then the look-alikes of other scripts, then the other accents.
    """
    found: dict[str, dict[str, int]] = {}
    for char in map(chr, (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))):
        base, _, mark = unicodedata.decomposition(char).partition(" ")
        if not mark or base.startswith("<") or " " in mark:
            continue
        letter = chr(int(base, 16))
        if letter.isascii() and letter.isalpha():
            found.setdefault(letter, {})[char] = _MARKS.find(chr(int(mark, 16))) % (len(_MARKS) + 1)
    table: dict[str, tuple[str, ...]] = {}
    for letter in string.ascii_letters:
        near = found.get(letter, {})
        accents = sorted(near, key=lambda char, ranks=near: (ranks[char], char))  # type: ignore[misc]
        if every := (*accents[:1], *_ALIKE.get(letter, ""), *accents[1:]):
            table[letter] = every
    return table


def is_known(word: str) -> bool:
    """Return whether a word in lower case is a function word, or a form of a word in WordNet."""
    from malaprop.assets.wordnet import PARTS, open_wordnet

    return word in stop_words() or any(open_wordnet().bases(word, part) for part in PARTS)


@cache
def misspellings() -> dict[str, tuple[str, ...]]:
    """Return people's misspellings of words in lower case, from the asset; without it a short list of our own."""
    try:
        path = store.locate("misspellings") / "misspellings.json"
    except AssetError as error:
        warnings.warn(f"using a short list of common misspellings: {error}", stacklevel=2)
        return {word: tuple(wrong) for word, wrong in _table(read_packaged("misspelt.txt")).items()}
    return {word: tuple(wrong) for word, wrong in json.loads(path.read_text(encoding="utf-8")).items()}


def _table(text: str) -> dict[str, list[str]]:
    """Parse a table of misspellings into lower case; an entry that would not fit in one slot is left out."""
    is_word = word_pattern().fullmatch
    found: dict[str, set[str]] = {}
    for word, *wrong in (line.split() for line in text.splitlines() if line.strip()):
        kept = {w.lower() for w in wrong if is_word(w)} - {word.lower()}
        found.setdefault(word.lower(), set()).update(kept)
    return {word: sorted(wrong) for word, wrong in sorted(found.items()) if wrong}


def convert(found: Members, out: Path) -> None:
    """Store `word misspelling misspelling ...` lines as one table."""
    ((name, opener),) = found.items()
    with opener() as stream:
        data = stream.read()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
    (out / "misspellings.json").write_text(json.dumps(_table(text), ensure_ascii=False), encoding="utf-8")
