"""The lead of a predicted label over the others, in a text and in texts made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from malaprop.core.variants import Variants
from malaprop.defences.detection.suspicion import Numbers

_MOST = 12.0  # log-odds beyond which a lead says no more


def split_answers(answers: Numbers, groups: Sequence[Variants]) -> Iterator[Numbers]:
    """The answers to each group of variants."""
    return iter(np.split(answers, np.cumsum([group.count for group in groups])[:-1]))


def find_leads(answers: Numbers) -> Numbers:
    """[variant]: the log-probability of the label that the first one gets, less that of the best other one."""
    label = int(answers[0].argmax())
    rest = np.delete(answers, label, 1).max(1)
    return np.asarray(np.clip(answers[:, label] - rest, -_MOST, _MOST))
