"""A victim's plain forward in the bits of its fast road, so that forward passes alone are timed in the same ones."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from malaprop.core.victim import Victim

if TYPE_CHECKING:
    from malaprop.models.scorers.plain import Forward


def lowered(victim: Victim) -> Forward | None:
    """A BERT's forward with its weights cast once, which is faster than autocast; None: the victim's own will do."""
    from malaprop.models.scorers.bert import BertScorer
    from malaprop.models.scorers.plain import attended
    from malaprop.models.victims.tokens import TokenVictim

    if not isinstance(victim, TokenVictim) or not isinstance(victim.scorer, BertScorer) or not victim.scorer.half:
        return None
    scorer = victim.scorer
    return attended(deepcopy(scorer.model).to(scorer.dtype), separator=scorer.separator)
