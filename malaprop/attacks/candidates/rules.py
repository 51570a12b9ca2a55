"""Replacements by rules, each for one label and with a weight; they need no query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.attacks.rule_files import Best, Rules
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Floats, ranked
from malaprop.core.text import Ints

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWords:
    """Candidates by rules: of each word the strongest rule for the example's label, matched without regard to case.

    `names` are the names of the labels in the order of their numbers; without them the file's own numbers hold.
    """

    rules: Rules
    names: tuple[str, ...] = ()

    def for_labels(self, names: Sequence[str]) -> RuleWords:
        """Return the rules for data whose labels have these names; raise where none of them applies."""
        self.rules.best(names)
        return replace(self, names=tuple(names))

    def of(self, label: int) -> Best:
        return self.rules.best(self.names).get(label, {})

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        mine, strings, table = self.of(trial.example.label), trial.origin.strings, trial.origin.table
        out = []
        for slot in slots.tolist():
            found = mine.get(strings[slot].lower())
            word = strings[slot] if found is None else recase(found[0], strings[slot])
            out.append(_NONE if word == strings[slot] else table.ids([word]))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class BySalience:
    """A ranking of slots by the salience of their rules in `RuleWords`; ties go from left to right."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:  # noqa: ARG002
        yield from ()  # a generator like its siblings, though it asks nothing
        known = trial.attack.candidates
        assert isinstance(known, RuleWords), "rules are in order of what the rules say"
        able = space.able()
        order = ranked(weights(known.of(trial.example.label), [trial.origin.strings[s] for s in able.slots.tolist()]))
        words = [able.words[i] for i in order.tolist()]
        return Space(able.slots[order], words, [int(w[0]) for w in words])


def weights(rules: Best, words: Sequence[str]) -> Floats:
    """Return the salience of each word's rule, 0 where it has none."""
    return np.asarray([rules.get(word.lower(), ("", 0.0))[1] for word in words], np.float32)
