"""How much each word of a text matters to a model: the length of the gradient at its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from malaprop.core.capability import Capability
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.models.gradients import differentiable, log_odds
from malaprop.models.gradients.layout import TokenLayout
from malaprop.models.gradients.tokens import TokenGradients, capture_embedding, pad_rows
from malaprop.models.tokens.batches import batches, bounds_for
from malaprop.zoo.gradients.character_edits import CharGradients


class WordSizes(NamedTuple):
    """The gradient lengths of one text, read once forward and once backward."""

    laid: TokenLayout
    sizes: Floats  # [slot]; -1 where the model does not read that far, or reads no token
    answer: Floats  # [label] probabilities


def token_gradients(victim: Victim) -> TokenGradients | None:
    """Return a victim's gradients at tokens; None where it has none."""
    found = victim.parts.get(Capability.GRADIENTS)
    if isinstance(found, CharGradients):
        return found.by_word
    return found if isinstance(found, TokenGradients) else None


def word_sizes(gradients: TokenGradients, texts: Sequence[Text]) -> list[WordSizes]:
    """Return the Euclidean length of the gradient at each token, summed over the tokens of a word.

    The loss is how far the label that the model itself gives is behind the others: labels are not wanted. The log loss
    of that label has the same gradient times a number of the text's own, so it ranks words alike.
    """
    laid = gradients.layout.lay(texts)
    lengths = np.fromiter((len(one.row) for one in laid), np.int64, len(laid))
    bounds = gradients.bounds or bounds_for(torch.device(gradients.device), bytes_per_token=1 << 18)
    out: list[WordSizes | None] = [None] * len(laid)
    for part in batches(lengths, bounds, even=not gradients.masks):
        mine = part.tolist()
        for i, found in zip(mine, _batch(gradients, [laid[i] for i in mine]), strict=True):
            out[i] = found
    return [one for one in out if one is not None]


def _batch(gradients: TokenGradients, laid: list[TokenLayout]) -> list[WordSizes]:
    ids, lengths = pad_rows([one.row for one in laid], gradients.pad, gradients.device)
    with differentiable(gradients.module), capture_embedding(gradients.embedding) as caught:
        logits = gradients.forward(ids, lengths).float()
        (slope,) = torch.autograd.grad(log_odds(logits, logits.argmax(1)).sum(), caught[-1:])
    with torch.no_grad():
        size = slope.float()[:, : ids.shape[1]].norm(dim=-1).double().cumsum(1).cpu().numpy()
        answers = logits.detach().softmax(-1).cpu().numpy()
    up_to = np.pad(size, ((0, 0), (1, 0)))
    return [WordSizes(one, _summed(one, row), answer) for one, row, answer in zip(laid, up_to, answers, strict=True)]


def _summed(laid: TokenLayout, up_to: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Floats:
    """Sum over the tokens of each slot, from sums up to each token; -1 for a slot without tokens."""
    some = laid.size > 0
    start = np.where(some, laid.start, 0)
    total = up_to[start + np.where(some, laid.size, 0)] - up_to[start]
    return np.where(some, total, -1).astype(np.float32)
