"""Goals of attacks on translation: what the output must become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import NamedTuple, Protocol, TypeVar

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, plain
from malaprop.core.text import word_pattern
from malaprop.models import bleu

Predicate = Callable[[str, str], bool | float]
Translate = Callable[[list[str]], list[str]]
Made = TypeVar("Made")
READY = ("word-appears", "translation-disappears")


class TranslatedSource(NamedTuple):
    """A source, the victim's translation, and the reference translation of the data."""

    source: str
    output: str
    reference: str


class Lead(NamedTuple):
    """A word whose probability guides the search, towards more (`sign` 1) or less (-1)."""

    word: str
    sign: int


class TranslationGoal(Protocol):
    """A goal: `lead` guides models that give probabilities, `value` rates an output; larger is nearer to the goal."""

    @property
    def name(self) -> str: ...

    @property
    def lead(self) -> Lead | None: ...

    @property
    def guarded(self) -> bool:
        """Whether a replacement could reach the goal by itself, so that it has to be translated alone first."""

    def pointless(self, seen: TranslatedSource) -> str:
        """Why this source needs no attack or cannot be attacked; empty if it can."""

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool: ...

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float: ...

    def holds(self, word: str) -> bool:
        """Whether a word of the source must stay unchanged."""

    def given_away(self, word: str, alone: str) -> bool:
        """Whether a replacement is trivial, as its own translation `alone` reaches the goal."""

    def ready(self, translate: Translate) -> TranslationGoal:
        """Return the goal after asking the victim for what it needs to know before the attack."""


# Shared methods of goals that rate outputs alone: any word may change to any other.


def _hold_nothing(goal: object, word: str) -> bool:
    del goal, word
    return False


def _give_nothing_away(goal: object, word: str, alone: str) -> bool:
    del goal, word, alone
    return False


def _ask_nothing(goal: Made, translate: Translate) -> Made:
    del translate
    return goal


def words_in(text: str) -> set[str]:
    """Return the words of a text, case-folded."""
    return {word.casefold() for word in word_pattern().findall(text)}


def stands_in(word: str, text: str) -> bool:
    """Return whether a text contains a word, or several words in a row, in any case."""
    wanted = [part.casefold() for part in word_pattern().findall(word)]
    found = [part.casefold() for part in word_pattern().findall(text)]
    return any(found[i : i + len(wanted)] == wanted for i in range(len(found) - len(wanted) + 1))


def _checked(word: str, what: str) -> None:
    if not word_pattern().findall(word):
        raise SettingError(f"{what} must be a word, got {word!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordAppears:
    """Brings a word into the output that did not contain it (Cheng et al. 2018).

    A replacement that is itself translated to the keyword does not count, unless `free` is set.
    """

    word: str
    free: bool = False

    def __post_init__(self) -> None:
        _checked(self.word, "a keyword")

    @property
    def name(self) -> str:
        return f"keyword {self.word}"

    @property
    def lead(self) -> Lead:
        return Lead(self.word, 1)

    @property
    def guarded(self) -> bool:
        return not self.free

    def pointless(self, seen: TranslatedSource) -> str:
        return f"{self.word!r} stands in the translation already" if stands_in(self.word, seen.output) else ""

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool:
        return stands_in(self.word, seen.output) and not stands_in(self.word, first.output)

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float:
        del first
        matcher = SequenceMatcher(None, b=self.word.casefold(), autojunk=False)
        best = 0.0
        for word in sorted(words_in(seen.output)):
            matcher.set_seq1(word)
            best = max(best, matcher.ratio())
        return best

    def holds(self, word: str) -> bool:
        del word
        return False

    def given_away(self, word: str, alone: str) -> bool:
        return self.word.casefold() in word.casefold() or stands_in(self.word, alone)

    def ready(self, translate: Translate) -> KeywordAppears:
        del translate
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class BleuDrop:
    """Lowers sentence BLEU against the reference by this share of its first value."""

    share: float = 0.5
    name: str = field(default="bleu", init=False)
    lead: None = field(default=None, init=False)
    guarded: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingError(f"the drop must be above 0 and at most 1, got {self.share}")

    def pointless(self, seen: TranslatedSource) -> str:
        if not seen.reference:
            return "there is no reference to score the translation by"
        return "" if self._bleu(seen) >= 1 else f"BLEU is {self._bleu(seen):.1f} without an attack"

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool:
        return self._bleu(seen) <= (1 - self.share) * self._bleu(first)

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float:
        del first
        return -self._bleu(seen)

    def _bleu(self, seen: TranslatedSource) -> float:
        return bleu.sentence(seen.output, seen.reference)

    holds, given_away, ready = _hold_nothing, _give_nothing_away, _ask_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class NonOverlap:
    """Changes every word of the output at its place (Cheng et al. 2018).

    An output that is shorter than the first does not count, as its last places hold no words to differ.
    """

    name: str = field(default="non-overlap", init=False)
    lead: None = field(default=None, init=False)
    guarded: bool = field(default=False, init=False)

    def pointless(self, seen: TranslatedSource) -> str:
        return "" if word_pattern().findall(seen.output) else "the translation has no words"

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool:
        return self.value(seen, first) >= 1

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float:
        """Return the share of the first output's places whose word has changed."""
        before, now = (word_pattern().findall(one.output.casefold()) for one in (first, seen))
        return sum(1.0 for a, b in zip(before, now, strict=False) if a != b) / max(1, len(before))

    holds, given_away, ready = _hold_nothing, _give_nothing_away, _ask_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Disappears:
    """Removes the translation of a word from the output while the word stays in the source."""

    word: str
    translation: str = ""  # empty: the victim's translation of the word alone

    def __post_init__(self) -> None:
        _checked(self.word, "the word of translation-disappears")

    @property
    def name(self) -> str:
        return f"translation-disappears:{self.word},{self.translation}"

    @property
    def lead(self) -> Lead:
        return Lead(self.translation, -1)

    @property
    def guarded(self) -> bool:
        return False

    def pointless(self, seen: TranslatedSource) -> str:
        if not stands_in(self.word, seen.source):
            return f"the source does not hold {self.word!r}"
        if not stands_in(self.translation, seen.output):
            return f"{self.translation!r} does not stand in the translation"
        return ""

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool:
        del first
        return stands_in(self.word, seen.source) and not stands_in(self.translation, seen.output)

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float:
        del first
        return -float(stands_in(self.translation, seen.output))

    def holds(self, word: str) -> bool:
        return stands_in(word, self.word)

    given_away = _give_nothing_away

    def ready(self, translate: Translate) -> Disappears:
        if self.translation:
            return self
        found = word_pattern().findall(translate([self.word])[0])
        if not found:
            raise SettingError(
                f"the victim gives no word for {self.word!r} alone; say its translation: "
                f"translation-disappears:{self.word},TRANSLATION"
            )
        return replace(self, translation=max(found, key=len))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Makes a user's function of source and output true; of a function that returns a number, 1 or more is true."""

    name: str
    call: Predicate
    lead: None = field(default=None, init=False)
    guarded: bool = field(default=False, init=False)

    def pointless(self, seen: TranslatedSource) -> str:
        return "the probe is true without an attack" if self._value(seen) >= 1 else ""

    def met(self, seen: TranslatedSource, first: TranslatedSource) -> bool:
        del first
        return self._value(seen) >= 1

    def value(self, seen: TranslatedSource, first: TranslatedSource) -> float:
        del first
        return self._value(seen)

    def _value(self, seen: TranslatedSource) -> float:
        try:
            return float(self.call(seen.source, seen.output))
        except Exception as error:  # a user's own function may raise anything
            raise SettingError(f"the probe {self.name} failed: {plain(error)[:200]}") from error

    holds, given_away, ready = _hold_nothing, _give_nothing_away, _ask_nothing


def probe(spec: str, resolve: Callable[[str], object]) -> TranslationGoal:
    """Return a built-in probe by name, or the user's own `module:function`, which `resolve` finds."""
    name, _, rest = spec.partition(":")
    if name == "word-appears":
        return KeywordAppears(word=rest)
    if name == "translation-disappears":
        word, _, translation = rest.partition(",")
        return Disappears(word=word.strip(), translation=translation.strip())
    if not rest:
        raise unknown("probe", spec, [f"{ready}:WORD" for ready in READY] + ["module:function"])
    found = resolve(spec)
    if not callable(found):
        raise SettingError(f"{spec} is not a function; a probe takes source and output and says whether it is reached")
    return Probe(name=spec, call=found)
