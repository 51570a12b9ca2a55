"""Guess whether a text is in another language than English, by its script and its function words.

It is meant for whole sentences; it finds nothing in a text without any of these words.
"""

from __future__ import annotations

import re
import unicodedata

# Frequent function words. Those of other languages that English has too, as German "die" or "was", are left out.
_WORDS = {
    "English": "the of and to in is it that was for with as be at on have this not but by from or are you he she we "
    "they his her its an there their which what will would has had been were who if so about more than",
    "German": "der das und ist nicht ein eine einen einem einer von zu mit auf für dem den des sich auch es wird sind "
    "wie aber ich sie wir haben nur noch nach bei über sehr",
    "French": "le les et est une des du dans que qui pas pour sur avec ce cette il elle nous vous mais plus au aux par "
    "sont être été ont très",
    "Spanish": "el los las y es una en que del por con para su se lo como más pero este esta muy fue ser está son",
    "Italian": "il gli che di è un una per non con sono della del le si ma come più anche questo questa molto nel alla",
    "Portuguese": "os e é um uma que não em para com do da dos das por mais como mas foi ao ele ela muito são está",
    "Dutch": "het een van en niet dat zijn op te voor met die er ook maar wordt deze heeft naar bij uit geen wel",
}
_LISTS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_OTHERS = {language: words - _LISTS["English"] for language, words in _LISTS.items() if language != "English"}
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 2  # function words of another language that a text must have


def other_language(text: str) -> str:
    """Return the language of a text that does not look English; empty where it does, or is too short to tell."""
    words = [word.casefold() for word in _WORD.findall(text)]
    if foreign := _script(words):
        return foreign
    english = sum(word in _LISTS["English"] for word in words)
    counts = {language: sum(word in known for word in words) for language, known in _OTHERS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= _LEAST and counts[best] > english else ""


def _script(words: list[str]) -> str:
    """Return the script of most letters, empty where that is Latin."""
    letters = "".join(words)[:400]
    scripts = [unicodedata.name(letter, "LATIN").split()[0].capitalize() for letter in letters]
    others = [script for script in scripts if script != "Latin"]
    if not letters or len(others) * 2 <= len(letters):
        return ""
    most = max(set(others), key=others.count)
    return "Chinese" if most == "Cjk" else f"{most} script"
