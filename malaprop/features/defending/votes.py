"""Votes: combine the answers for several perturbed samples of a text into one."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import SettingError
from malaprop.core.score import Floats, winners
from malaprop.core.text import Ints
from malaprop.models.victims.ensemble import log_probabilities, log_softmax

Vote = Literal["majority", "logits", "probabilities"]
MOST = 4096  # samples of a text: beyond it a single text may not fit in memory


def check_samples(samples: int, what: str) -> None:
    if not isinstance(samples, int) or not 2 <= samples <= MOST:
        hint = "one sample is no vote" if samples == 1 else f"more than {MOST} do not fit in memory side by side"
        if not isinstance(samples, int) or samples < 1:
            hint = "there is nothing to vote over"
        raise SettingError(f"{what} must be from 2 to {MOST}, got {samples!r}: {hint}")


def check_vote(vote: str, what: str) -> None:
    if vote not in get_args(Vote):
        raise SettingError(f"{what} must be majority, logits or probabilities, got {vote!r}")


def add_own(scores: Floats, of: Ints, own: Floats) -> tuple[Floats, Ints]:
    """Append the answers for the texts themselves to those for the samples, so that the texts vote too."""
    return np.concatenate([scores, own]).astype(np.float32), np.concatenate([of, np.arange(len(own))])


def poll(scores: Floats, of: Ints, texts: int, vote: Vote) -> Floats:
    """Combine the scores of samples into scores [text, label]; `of` has the text of each row, and every text occurs.

    majority: the share of the samples that each label wins. logits: the softmax of the mean of the logits;
    log-probabilities do as well, for the softmax ignores a constant. probabilities: their mean.
    """
    votes: NDArray[np.float64]
    if vote == "majority":
        votes = np.eye(scores.shape[1])[winners(scores)]
    else:
        votes = log_probabilities(scores)
        votes = votes if vote == "logits" else np.exp(votes)
    total = np.zeros((texts, scores.shape[1]))
    np.add.at(total, of, votes)
    mean = total / np.maximum(np.bincount(of, minlength=texts), 1)[:, None]
    return np.asarray(np.exp(log_softmax(mean)) if vote == "logits" else mean, np.float32)
