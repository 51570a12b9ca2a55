"""A victim's plain forward in the precision of its fast path, so that both are timed in the same precision."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from malaprop.core.victim import Victim

if TYPE_CHECKING:
    from malaprop.models.scorers.plain import Forward


def lowered(victim: Victim) -> Forward | None:
    """Return a transformer's forward with weights cast once, faster than autocast; None if its own forward will do."""
    import torch

    from malaprop.models.embeddings import last_linear
    from malaprop.models.gradients.tokens import TokenGradients
    from malaprop.models.scorers.int8 import quantise
    from malaprop.models.scorers.plain import make_forward
    from malaprop.models.victims.tokens import TokenVictim

    if not isinstance(victim, TokenVictim) or victim.precision == "fp32":
        return None
    assert isinstance(victim.gradients, TokenGradients), "as every transformer has them"
    if victim.precision == "int8":
        model = victim.gradients.module
        return make_forward(quantise(model, spare=last_linear(model)))
    return make_forward(deepcopy(victim.gradients.module).to(torch.bfloat16))
