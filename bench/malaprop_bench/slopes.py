"""Gradients of a victim of ours in the peers' form: one row for each word of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from malaprop.core.errors import CapabilityError
from malaprop.core.gradient import Aim
from malaprop.core.score import Floats
from malaprop.core.text import Text, Words


def word_slopes(victim: Any, text: str, label: int, *, away: bool = True) -> tuple[list[str], Floats]:
    """Return the words of a text, and for each the mean gradient at its tokens [word, dim] of the loss of `label`.

    With away=False the gradient points to a lower loss. A word that the victim does not read has zeros.
    """
    from malaprop.models.gradients.tokens import pad_rows

    at = gradients_of(victim)
    laid = at.layout.lay([Text.of(text, Words())])[0]
    ids, lengths = pad_rows([laid.row], at.pad, at.device)
    found = at.slopes(ids, lengths, [Aim(label=label, away=away)])[0][0].cpu().numpy()
    words = Text.of(text, Words()).strings
    out = np.zeros((len(words), found.shape[1]), np.float32)
    for slot, (start, size) in enumerate(zip(laid.start.tolist(), laid.size.tolist(), strict=True)):
        if size > 0:
            out[slot] = found[start : start + size].mean(0)
    return list(words), out


def token_slopes(victim: Any, tokens: Sequence[str], label: int) -> Floats:
    """Return the gradient at each of these tokens [token, dim] that lowers the loss of `label`.

    The victim must be a word model, for which every token is one id.
    """
    from malaprop.models.gradients.tokens import pad_rows

    at = gradients_of(victim)
    cut = [(row or [at.unknown])[0] for row in victim.cut(list(tokens))]
    ids, lengths = pad_rows([np.asarray(cut[: victim.limit], np.int64)], at.pad, at.device)
    found: Floats = at.slopes(ids, lengths, [Aim(label=label, away=False)])[0][0].cpu().numpy()
    out = np.zeros((len(tokens), found.shape[1]), np.float32)
    out[: len(found)] = found[: len(tokens)]
    return out


def gradients_of(victim: Any) -> Any:
    """Return the victim's gradients at tokens; raise if it has none."""
    found = getattr(victim, "gradients", None)
    if not hasattr(found, "slopes"):
        raise CapabilityError(f"{victim.name} has no gradients at its words; use another victim")
    return found
