"""Answers: the labels that one model gives to many texts, and how fast it gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.score import winners
from malaprop.core.text import Ints
from malaprop.core.victim import Fields, Victim

if TYPE_CHECKING:
    from malaprop.models.victims.tokens import TokenVictim

_CHUNK = 8192  # texts asked about at once
_SAMPLE = 2048  # texts over which the plain forward is timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The labels that a model gives, in its own terms, -1 where it could not answer; plain forwards a second."""

    labels: tuple[int, ...]
    seconds: float
    forwards_a_second: float


def ask(victim: Victim, texts: Sequence[Fields]) -> Answers:
    """Puts all texts to a model, in large batches."""
    began = perf_counter()
    parts = [labels_of(victim, texts[at : at + _CHUNK]) for at in range(0, len(texts), _CHUNK)]
    seconds = perf_counter() - began
    labels = np.concatenate(parts).tolist() if parts else []
    rate = _rate(victim, texts[:_SAMPLE], len(texts) / max(seconds, 1e-9))
    return Answers(labels=tuple(labels), seconds=round(seconds, 3), forwards_a_second=rate)


def labels_of(victim: Victim, texts: Sequence[Fields]) -> Ints:
    """The label of each text by the victim's plain road; a text it fails on alone gets -1."""
    try:
        scores = victim.predict(texts)
        if scores.ndim != 2 or len(scores) != len(texts) or not np.isfinite(scores).all():
            raise VictimError(f"{victim.name} answered {len(texts)} texts with no score for each")
        return winners(scores)
    except Exception as error:
        if len(texts) == 1:
            return np.asarray([-1])
        if isinstance(error, MemoryError):
            raise
    half = len(texts) // 2
    return np.concatenate([labels_of(victim, texts[:half]), labels_of(victim, texts[half:])])


def _rate(victim: Victim, texts: Sequence[Fields], otherwise: float) -> float:
    """Plain forwards a second over texts that lie ready as tokens; what reads strings is taken as it came."""
    from malaprop.models.victims.tokens import TokenVictim

    if not isinstance(victim, TokenVictim) or len(texts) < 2:
        return otherwise
    took = min(_forward_seconds(victim, texts) for _ in range(2))
    return len(texts) / max(took, 1e-9)


def _forward_seconds(victim: TokenVictim, texts: Sequence[Fields]) -> float:
    import torch

    from malaprop.core.text import BREAK
    from malaprop.models.precision import full_precision
    from malaprop.models.scorers.plain import Plain
    from malaprop.models.tokens.splice import Splice

    rows = victim.encode_whole(texts) if victim.encode_whole else victim.cut([BREAK.join(t) for t in texts])
    work = Splice.of_rows(
        rows, limit=victim.limit, head=victim.head, tail=victim.tail, pad=victim.pad, device=victim.device
    )
    began = perf_counter()
    with torch.inference_mode(), full_precision(victim.device):
        Plain(forward=victim.forward, masks=victim.masks, pad=victim.pad).logits(work).sum().item()
    return perf_counter() - began
