"""Candidates thinned out by rules of their own."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.attacks.attack import Candidates, WordRule
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.text import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """Of other candidates those that pass constraints on words, for a source that is one of several in an attack."""

    of: Candidates
    rules: tuple[WordRule, ...] = ()

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        words = yield from self.of.words(trial, slots)
        for rule in self.rules:
            flags = yield from rule.words(trial, slots, words)
            words = [some[fine] for some, fine in zip(words, flags, strict=True)]
        return words
