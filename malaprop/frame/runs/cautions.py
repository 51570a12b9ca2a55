"""What is said of the texts before a run: their language, truncated by the victim, no spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from malaprop.assets.alike import has_tables
from malaprop.assets.languages import (
    AUTO,
    CHINESE,
    ENGLISH,
    LANGUAGES,
    Language,
    can_recognize,
    is_in_script,
    open_language,
    parse_languages,
    recognize_language,
)
from malaprop.assets.languages import find_languages as count_languages
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs
from malaprop.attacks.candidates.lookup import CloseSynonyms, NearWords, Vocabulary, WordNetSynonyms
from malaprop.attacks.candidates.masked import Likely, MaskedWords
from malaprop.attacks.search.rewrites import Rewrites
from malaprop.attacks.search.sentences import Sentences
from malaprop.attacks.sentences.distract import Distract
from malaprop.attacks.sentences.rewriters import PACKAGED_TRANSLATORS, BackTranslation, Rewriter
from malaprop.attacks.sentences.syntax import Syntax
from malaprop.core.text import is_unspaced

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack, Candidates
    from malaprop.core.example import Example
    from malaprop.core.victim import Fields, Victim


MOST = 1000  # texts that are examined
_SHARE = 0.02  # share of texts from which on other languages matter: a few quotations do no harm
_NAMED = 3  # languages that a line names
MANY = 20_000  # texts whose language is guessed
_MANY = 0.1  # share of texts from which on the warning on unspaced texts is given
_LONG = 30  # letters from which on a "word" counts as text without spaces
_WORD = re.compile(r"\S+")
_ENGLISH = {  # candidates that have English words alone
    Vocabulary: "frequent English words",
    MaskedWords: "a masked language model of English; name one of your own with --set model=FOLDER",
    Likely: "a language model of English",
}
_SYNONYMS = (WordNetSynonyms, NearWords, CloseSynonyms)


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
    many = sum(_is_one_word(" ".join(example.fields.values())) for example in some)
    if many < max(1, _MANY * len(some)):
        return ""
    return (
        f"{many:,} of {len(some):,} texts are one long word: {attack.name} takes a phrase for a single word, so a low "
        "success says little about the victim; put spaces between the words, or try attacks on characters "
        "(bad-characters, textbugger)"
    )


def _is_one_word(text: str) -> bool:
    """Return whether most letters are in words that are too long; scripts without spaces are cut into words."""
    words = _WORD.findall(text)
    long = sum(len(word) for word in words if len(word) >= _LONG and not is_unspaced(word))
    return long > sum(map(len, words)) / 2


def find_languages(setting: str, examples: Iterable[Example]) -> dict[str, int]:
    """Return the languages of the setting, with 0 texts each; for auto those of the texts, with their numbers.

    English comes first, so that it takes the short texts that no language of the setting claims.
    """
    if given := parse_languages(setting):
        return dict.fromkeys(sorted(given, key=lambda code: code != ENGLISH), 0)
    return count_languages(_read_texts(examples))


def describe_setting(setting: str, examples: Iterable[Example]) -> Iterator[str]:
    """Yield a line where many texts are not in the script of a language that the user named, or none looks like one."""
    given = parse_languages(setting)
    if not given:
        return
    texts = [*_read_texts(examples)]
    strange = sum(not is_in_script(text, given) for text in texts)
    if strange >= max(1, _SHARE * len(texts)):
        yield f"{strange:,} of {len(texts):,} texts are in a script of none of --language {','.join(given)}"
    seen = {recognize_language(text) for text in texts if is_in_script(text, given)} - {""}
    if seen and seen.isdisjoint(given) and all(map(can_recognize, given)):
        yield f"0 of {len(texts):,} texts look {' or '.join(LANGUAGES[code].name for code in given)}"


def _read_texts(examples: Iterable[Example]) -> Iterator[str]:
    """Yield the texts whose language is guessed, each with its fields joined."""
    return (" ".join(example.fields.values()) for example in islice(examples, MANY))


def describe_languages(attack: Attack, languages: Mapping[str, int]) -> Iterator[str]:
    """Yield a line on the languages of the texts, and one on what the attack lacks in them; none for English alone."""
    others = [open_language(code) for code in languages if code != ENGLISH]
    stages = attack.stages or (attack,)
    candidates = [one.candidates for one in stages]
    chinese = any(isinstance(one, CharEdits) and {"homophone", "parts"} & {*one.kinds} for one in candidates)
    if chinese and CHINESE not in languages:
        yield f"{attack.name} changes Chinese characters alone, and no text looks Chinese"
    if not others:
        return
    named = {code: LANGUAGES[code].name for code in languages}
    order = sorted(named, key=lambda code: -languages[code])
    counted = [f"{named[code]} ({languages[code]:,} texts)" if languages[code] else named[code] for code in order]
    yield f"language: {', '.join(counted)}"
    yield from filter(None, (other.describe_lack() for other in others))
    if any(isinstance(one, _SYNONYMS) for one in candidates):
        yield from filter(None, (_describe_words(attack.name, other) for other in others))
    bare = [other.name for other in others if not other.has_keyboard]
    if bare and any(isinstance(one, CharEdits) and one.kinds == ("keyboard",) for one in candidates):
        yield f"{attack.name} knows no keyboard of {' and '.join(bare)}, so it changes nothing there; try homoglyph"
    plain = [other.name for other in others if not other.has_look_alikes]
    if plain and any(isinstance(one, Homoglyphs) for one in candidates):
        yield f"{attack.name} knows no look-alikes of {' and '.join(plain)}, so it changes little there"
    tables = any(isinstance(one.search, Rewrites) for one in stages)
    if bare := [other.name for other in others if tables and not has_tables(other.code)]:
        yield f"{attack.name} knows no names, places and contractions of {' and '.join(bare)}: digits alone change"
    rewriters = [rewriter for one in stages if isinstance(one.search, Sentences) for rewriter in one.search.rewriters]
    names = " and ".join(other.name for other in others)
    for line in filter(None, (_describe_rewriter(rewriter, names) for rewriter in rewriters)):
        yield f"{attack.name}: {line}"
    for source in filter(None, (_ENGLISH.get(type(one)) for one in candidates if not _names_a_model(one))):
        yield f"{attack.name} takes its words from {source}: what it puts into these texts may be English"


def _describe_rewriter(rewriter: Rewriter, names: str) -> str:
    """Return what a rewriter of English lacks in these languages; empty for one that rewrites any."""
    match rewriter:
        case BackTranslation(there=there, back=back) if (there, back) == PACKAGED_TRANSLATORS:
            return f"its translators read English, so they change nothing in {names}; name yours with there and back"
        case Syntax():
            return f"its rules of grammar are those of English, so they change nothing in {names}"
        case Distract(asides=()):
            return f"its sentences are English, so it adds none in {names}; give yours with asides"
    return ""


def _names_a_model(candidates: Candidates) -> bool:
    """Whether the user named the masked language model that these candidates ask."""
    return isinstance(candidates, MaskedWords) and candidates.model is not None


def _describe_words(name: str, language: Language) -> str:
    """Return a line on what stands for synonyms in a language that has none or few; empty where it has a thesaurus."""
    if language.has_synonyms:
        return ""
    if language.has_forms:
        few = "has few synonyms" if language.code == "de" else "has no synonyms"
        return f"{name} {few} for {language.name}: it also puts words into their other forms, which breaks grammar"
    return (
        f"{name} has no synonyms for {language.name}, so it changes nothing there; try attacks on characters "
        "(deepwordbug, homoglyph)"
    )


def describe_foreign(examples: Iterable[Example], setting: str = AUTO) -> str:
    """Return how many texts are not English, with their languages; empty if there are few.

    A user who names English alone, or other languages alone, is believed.
    """
    given = parse_languages(setting)
    if given == (ENGLISH,) or (given and ENGLISH not in given):
        named = ", ".join(LANGUAGES[code].name for code in given)
        return "" if ENGLISH in given else f"the texts are in {named}"
    found = find_languages(AUTO, examples)
    total, others = sum(found.values()), {code: many for code, many in found.items() if code != ENGLISH}
    if sum(others.values()) < max(1, _SHARE * total):
        return ""
    most = [LANGUAGES[code].name for code in others][:_NAMED] + ["..."] * (len(others) > _NAMED)
    return f"{sum(others.values()):,} of {total:,} texts do not look English ({', '.join(most)})"
