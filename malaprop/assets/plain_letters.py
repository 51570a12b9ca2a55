"""Return words to plain Latin letters: look-alikes of other scripts, accents, invisible characters, digits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

# Two characters that are stored in the other order, with controls that draw them in this one (Boucher et al. 2022).
_SWAPPED = re.compile("\u202d\u2066\u202e\u2066(.)\u2069\u2066(.)\u2069\u202c\u2069\u202c", re.DOTALL)
_BACKSPACED = re.compile("[^\b]\b")


def strip_unseen(text: str) -> str:
    """Return the text as it is displayed: no zero-width characters, and nothing that a backspace deletes."""
    if text.isascii() and "\b" not in text:
        return text
    before = ""
    while before != text:
        before, text = text, _SWAPPED.sub(r"\2\1", text)
    text, before = "".join(sign for sign in text if unicodedata.category(sign) != "Cf"), ""
    while before != text:
        before, text = text, _BACKSPACED.sub("", text)
    return text.replace("\b", "")


@cache
def _letters() -> Mapping[int, str]:
    """Return the table from look-alikes of other scripts to the Latin letters that they look like."""
    from malaprop.assets.lexicon import homoglyphs

    return str.maketrans({sign: letter for letter, alike in homoglyphs().items() for sign in alike})


def make_plain(word: str) -> str:
    """Return the word in plain Latin letters where all its signs have some; else the word as it is."""
    if word.isascii():
        return word
    plain = "".join(
        sign for sign in unicodedata.normalize("NFKD", word.translate(_letters())) if not unicodedata.combining(sign)
    )
    return plain if plain.isascii() else word
