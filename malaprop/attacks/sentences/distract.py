"""Distract: put a neutral sentence, which says nothing about the text, before or after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from malaprop.attacks.sentences.style import Sentence, write_like
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError

# Each is true of anything, and names nothing that a text could be about. The first two are those of Naik et al. 2018.
TAILS = ("and true is true", "and false is not true", "and what is so is so", "and that is that")
ASIDES = (
    "This is a sentence.",
    "What is written here is written here.",
    "It is what it is, as everything is.",
    "Each thing is the thing that it is.",
    "These words stand beside the others.",
    "One line follows another.",
    "A line is a line.",
    "Some things are one way and some are another.",
)
_END = re.compile(r"\s*[.!?]*['\")\]]*\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distract:
    """A neutral sentence at the end of each field, or at its beginning too (`start`); no word of the text changes.

    `asides` are the sentences; empty: eight of our own that are true of anything and name nothing, and four clauses
    such as "and true is true", which go before the last full stop. The judge of meaning reads the text without those of
    our own, as they say nothing; it reads yours.
    """

    asides: tuple[str, ...] = ()
    start: bool = True

    def __post_init__(self) -> None:
        if any(not re.search(r"\w", one) for one in self.asides):
            raise SettingError("an aside of Distract has no word; give sentences")

    def rewrite(self, trial: Trial, sentences: Sequence[Sentence]) -> Steps[list[list[str]]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        return [list(dict.fromkeys(self._add(sentence, trial))) for sentence in sentences]

    def _add(self, sentence: Sentence, trial: Trial) -> list[str]:
        given = self.asides
        if not given and not trial.language.is_english:
            return []
        text, made = sentence.text, []
        styled = [write_like(one, _with_end(text)) for one in given or ASIDES]
        if sentence.last:
            end = _END.search(text)
            cut = len(text) if end is None else end.start()
            made += [] if given else [text[:cut] + " " + tail + text[cut:] for tail in TAILS]
            made += [f"{_with_end(text)} {aside}" for aside in styled]
        if sentence.first and self.start:
            made += [f"{aside} {text}" for aside in styled]
        return made


def _with_end(text: str) -> str:
    """Return a text that ends with a mark; a full stop is put where there is none."""
    if text.rstrip().rstrip("'\")]").endswith((".", "!", "?")):
        return text
    return text.rstrip() + (" ." if re.search(r"\w [.,;:!?]", text) else ".")


def _pattern() -> re.Pattern[str]:
    said = [re.sub(r"\W+", r"\\W+", one.strip(" .")) for one in (*ASIDES, *TAILS)]
    return re.compile(r"(?:^|(?<=\s))(?:" + "|".join(said) + r")(?=\W*(?:\s|$))[ ]?[.!?]?", re.IGNORECASE)


_KNOWN = _pattern()


def strip_asides(original: str, changed: str) -> str:
    """Return a changed text without the neutral sentences of our own that the original does not have."""
    if _KNOWN.search(changed) is None or _KNOWN.search(original) is not None:
        return changed
    stripped = re.sub(r"[ \t]+", " ", _KNOWN.sub(" ", changed)).strip()
    return original if _plain(stripped) == _plain(original) else stripped


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()
