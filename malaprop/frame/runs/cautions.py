"""Warnings about the texts before a run: truncated by the victim, not English, or without spaces between words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from malaprop.attacks.candidates.lookup import Misspellings, NearWords, Vocabulary, WordNetSynonyms

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.core.victim import Fields, Victim


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
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST = 2  # function words of another language that a text must have


def other_language(text: str) -> str:
    """Return the language of a text that does not look English, by its script and function words; else "".

    It is meant for whole sentences; a text without any of these words counts as English.
    """
    words = [word.casefold() for word in _LETTERS.findall(text)]
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


MOST = 1000  # texts that are examined
_MANY = 0.1  # share of texts from which on the warning on unspaced texts is given
_LONG, _RUN = 30, 5  # letters from which on a "word" counts as unspaced text; the same in a script without spaces
_WORD = re.compile(r"\S+")
_UNSPACED = re.compile(  # Thai and Lao, Burmese, Khmer, Japanese, Han
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)
_SHARE = 0.02  # share of texts from which on the warning on other languages is given: a few quotations do no harm
_ENGLISH = {
    WordNetSynonyms: "WordNet",
    NearWords: "English word vectors",
    Misspellings: "English misspellings",
    Vocabulary: "frequent English words",
}


@runtime_checkable
class Cuts(Protocol):
    """A victim that truncates long texts."""

    def count_cut(self, texts: Sequence[Fields]) -> int:
        """Return how many of these texts it truncates."""


def describe_cut(victim: Victim, some: Sequence[Example]) -> str:
    """Return a line on how many of these texts the victim truncates; empty if it truncates none."""
    model = victim
    while model.inside is not None:
        model = model.inside
    if not isinstance(model, Cuts):
        return ""
    try:
        many = model.count_cut([tuple(example.fields.values()) for example in some])
    except Exception:  # noqa: BLE001 - a bad text gets its own error when it is attacked
        return ""
    if not many:
        return ""
    return (
        f"{many:,} of {len(some):,} texts are longer than {victim.name} reads: changes in what it leaves out do nothing"
    )


def describe_long_words(attack: Attack, examples: Iterable[Example]) -> str:
    """Return a line on texts without spaces, which an attack takes for one word; empty if there are few."""
    some = list(islice(examples, MOST))
    many = sum(_is_unspaced(" ".join(example.fields.values())) for example in some)
    if many < max(1, _MANY * len(some)):
        return ""
    return (
        f"{many:,} of {len(some):,} texts are one long word, or in a script without spaces: {attack.name} takes a "
        "phrase for a single word, so a low success says little about the victim; put spaces between the words, or try "
        "attacks on characters (bad-characters, textbugger)"
    )


def _is_unspaced(text: str) -> bool:
    """Return whether most letters are in words that are too long, or in runs of a script without spaces."""
    words = _WORD.findall(text)
    long = sum(len(word) for word in words if len(word) >= _LONG or (len(word) >= _RUN and _UNSPACED.search(word)))
    return long > sum(map(len, words)) / 2


def describe_languages(attack: Attack, examples: Iterable[Example]) -> str:
    """Return a line on texts that do not look English, if the attack takes its words from an English source."""
    sources = (_ENGLISH.get(type(one.candidates)) for one in attack.stages or (attack,))
    source = next(filter(None, sources), None)
    found = describe_foreign(examples) if source else ""
    return found and (f"{found}, and {attack.name} takes its words from {source}: what it puts into them is English")


def describe_foreign(examples: Iterable[Example]) -> str:
    """Return how many texts do not look English, with their languages; empty if there are few."""
    some = list(islice(examples, MOST))
    found = Counter(filter(None, (other_language(" ".join(example.fields.values())) for example in some)))
    if found.total() < max(1, _SHARE * len(some)):
        return ""
    most = ", ".join(language for language, _ in found.most_common(2))
    return f"{found.total():,} of {len(some):,} texts do not look English ({most})"
