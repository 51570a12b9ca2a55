"""The lead of a predicted label over the others, in a text and in texts made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from malaprop.core.variants import Variants
from malaprop.features.defending.detection.suspicion import Numbers

_MOST = 12.0  # log-odds beyond which a lead says no more


def find_leads(answers: Numbers, groups: Sequence[Variants]) -> Iterator[Numbers]:
    """Of each group [variant]: the log-probability of the label that its first one gets, less the best other one's."""
    counts = np.asarray([group.count for group in groups], np.int64)
    ends, every = np.cumsum(counts), np.arange(len(answers))
    label = np.repeat(answers[ends - counts].argmax(1), counts)
    rest = answers.copy()
    rest[every, label] = -np.inf
    return iter(np.split(np.clip(answers[every, label] - rest.max(1), -_MOST, _MOST), ends[:-1]))
