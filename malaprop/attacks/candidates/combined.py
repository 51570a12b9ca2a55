"""Candidates made of other candidates: the union of several, those that pass rules, those that agree in form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from malaprop.assets.inflection import MARKS, find_marks, follows_article, list_forms
from malaprop.assets.wordnet import PARTS, WordNet
from malaprop.attacks.attack import Candidates, WordRule
from malaprop.attacks.candidates.lookup import WORDNET_PART, recase
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The union of several sources: each word that any of them offers for a slot."""

    of: tuple[Candidates, ...]

    def __post_init__(self) -> None:
        if not self.of:
            raise SettingError("Union needs at least one source of candidates, got none")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        found: list[list[Ints]] = []
        for source in self.of:
            found += [(yield from source.words(trial, slots))]
        strings = trial.origin.table.strings
        return [
            np.asarray(sorted({*np.concatenate(rows).tolist()}, key=strings.__getitem__), np.int64)
            for rows in zip(*found, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """Other candidates, filtered by constraints on words; for one of several sources in an attack."""

    of: Candidates
    rules: tuple[WordRule, ...] = ()

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        words = yield from self.of.words(trial, slots)
        for rule in self.rules:
            flags = yield from rule.words(trial, slots, words)
            words = [some[fine] for some, fine in zip(words, flags, strict=True)]
        return words


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreeing:
    """Other candidates of the part of speech that the word has in its text, inflected as the word is.

    By WordNet's lists and the rules of spelling: *mesmerizing* gets *hypnotizing*, where the candidate is *hypnotize*.
    Words without such a form are dropped, and so are words that are usually of another part of speech, or that do not
    agree with a preceding *a* or *an*. Insertions beside a word pass.
    """

    of: Candidates

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        from malaprop.assets.wordnet import open_wordnet

        found = yield from self.of.words(trial, slots)
        tags = yield from trial.tags()
        wordnet, table, strings = open_wordnet(), trial.origin.table, trial.origin.strings
        out = []
        for slot, options in zip(slots.tolist(), found, strict=True):
            word, part = strings[slot], WORDNET_PART.get(tags[slot], "")
            before = strings[slot - 1] if slot else ""
            made: set[str] = set()
            for option in options.tolist():
                key = ("agreeing", word, part, option)
                forms: tuple[str, ...] | None = table.notes.get(key)
                if forms is None:
                    forms = table.notes[key] = tuple(agree(wordnet, table.strings[option], word, part))
                made.update(forms)
            fine = sorted(form for form in made - {word} if follows_article(before, form))
            out.append(table.ids(fine) if fine else np.empty(0, np.int64))
        return out


def agree(wordnet: WordNet, option: str, word: str, part: str) -> Iterator[str]:
    """Yield the option as it is where it agrees with the word, else in each form that the word may have."""
    if " " in option:
        yield option
        return
    usual = {pos for bit, pos in enumerate(PARTS) if wordnet.usual(option) >> bit & 1}
    if part == "a" and part not in usual and word.endswith(("ing", "ed")):  # a participle tagged as an adjective
        part = "v"
    if part not in usual:
        return
    wanted, has = find_marks(wordnet, word, part), find_marks(wordnet, option, part)
    is_base = "" in has and "" not in wanted  # run may be the participle, too: filmed gets ran as well
    if not wanted or (wanted & has and not is_base):
        yield option
        return
    forms = list_forms(wordnet, wordnet.bases(option, part)[-1], part)
    found = (recase(forms[mark], word) for mark in MARKS[part] if mark in wanted and mark in forms)
    yield from dict.fromkeys(found)
