"""Word-level differential reaction (Mosca et al. 2022): an adversarial text's label depends on a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers, ask, find_leads, need_sklearn
from malaprop.features.defending.detection.trees import apply_trees, learn_trees


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDifferences:
    """A small classifier over what leaving out each word does to the lead of the predicted label.

    The lead is the log-probability of the label that the whole text gets, less that of the best other one (the paper's
    difference of logits). Leads are sorted; the `least` smallest ones, some quantiles and the lead of the whole text
    are the features. The classifier is boosted trees, as in the paper, by scikit-learn.
    """

    least: int = 8
    needs_attacked: ClassVar[bool] = True
    counts_words: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.least < 1:
            raise SettingError(f"wdr: least is a number of words, 1 or more, got {self.least}")

    def check(self, victim: Victim) -> None:
        del victim
        need_sklearn("wdr")

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        return learn_trees(self, victim, lessons)

    def study(self, victim: Victim, lessons: Lessons) -> tuple[Learnt, Numbers]:
        """Return an empty `Learnt`, for the features need nothing, and the features of the texts."""
        known = Learnt()
        return known, self.describe(victim, known, lessons.texts, exact=False)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        return apply_trees(learnt.arrays, self.describe(victim, learnt, texts, exact=exact))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt
        return text.slots

    def describe(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return the features [text, feature]: leads without each word, sorted and summarised."""
        del learnt
        groups = [_leave_out(text) for text in texts]
        return np.stack([*map(self._summarise, find_leads(ask(victim, groups, exact=exact), groups))])

    def _summarise(self, leads: Numbers) -> Numbers:
        own, others = leads[0], np.sort(leads[1:] if len(leads) > 1 else leads)
        least = np.full(self.least, others[-1])
        least[: len(others)] = others[: self.least]
        shape = np.quantile(others, (0.1, 0.25, 0.5, 0.75, 1.0))
        drops = own - others
        return np.asarray([own, *least, *(own - least), *shape, drops.mean(), drops.std(), (others < 0).mean()])


def _leave_out(text: Text) -> Variants:
    """Return the text itself, then the text without each of its words in turn."""
    slots = np.arange(text.slots)
    return Variants(text, slots, np.zeros(text.slots, np.int64), slots + 1, text.slots + 1)
