"""The vector that a classifier reads: where it comes from, and how far edits move it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.core.insight import Apart
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints
from malaprop.core.variants import Variants
from malaprop.models.scorers.plain import Forward

_ROWS = 1 << 15  # vectors held at a time

Vectors = Callable[[Pool, Ints], Float[Tensor, "wanted dim"]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class L1:
    """Distances in the sum of absolute differences, between vectors that `vectors` gives for variants of a pool."""

    vectors: Vectors

    @torch.inference_mode()
    def apart(self, looks: Sequence[Apart]) -> list[Floats]:
        if not looks:
            return []
        origins = Pool([Variants.itself(look.origin) for look in looks])
        home = self.vectors(origins, np.arange(len(looks)))
        sizes = [look.variants.count for look in looks]
        pool = Pool([look.variants for look in looks])
        whose = np.repeat(np.arange(len(looks)), sizes)
        out = np.empty(len(whose), np.float32)
        for begin in range(0, len(whose), _ROWS):
            wanted = np.arange(begin, min(begin + _ROWS, len(whose)))
            there = self.vectors(pool, wanted)
            here = home[torch.from_numpy(whose[wanted]).to(home.device)]
            out[wanted] = (there - here).abs().sum(-1).cpu().numpy()
        if not np.isfinite(out).all():
            raise VictimError("the victim's vectors are not finite numbers (NaN or infinity)")
        return np.split(out, np.cumsum(sizes)[:-1])


def last_linear(model: Any) -> nn.Linear | None:
    """The layer of a transformers classifier that gives the labels' scores; None where it reads token by token."""
    if getattr(model, "score", None) is not None:  # decoders score each token and pick one afterwards
        return None
    labels = int(model.config.num_labels)
    found = [m for m in model.modules() if isinstance(m, nn.Linear) and m.out_features == labels]
    return found[-1] if found else None


def read_by(layer: nn.Module, forward: Forward) -> Forward:
    """A forward that gives what `layer` reads in the course of another one."""

    def pooled(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
        with _heard(layer) as heard:
            forward(ids, lengths)
        if len(heard) != 1 or heard[0].ndim != 2:
            raise VictimError("this classifier does not read one vector a text; EC recipes cannot use it")
        return heard[0]

    return pooled


@contextmanager
def _heard(layer: nn.Module) -> Iterator[list[Tensor]]:
    heard: list[Tensor] = []

    def note(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        heard.append(inputs[0].detach())

    hook = layer.register_forward_pre_hook(note)
    try:
        yield heard
    finally:
        hook.remove()
