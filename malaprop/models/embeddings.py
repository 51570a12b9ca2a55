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
from malaprop.core.insight import Apart, Toward
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints
from malaprop.core.variants import Variants
from malaprop.models.scorers.plain import Forward

_ROWS = 1 << 15  # vectors held at a time
_LEAST = 1e-9  # length of a slope that points somewhere

Vectors = Callable[[Pool, Ints], Float[Tensor, "wanted dim"]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class L1:
    """Measures in L1 how far variants of a pool move between the vectors that `vectors` gives.

    `readout` makes logits of them; where it is known, so is the way to the nearest border.
    """

    vectors: Vectors
    readout: nn.Module | None = None

    @torch.inference_mode()
    def apart(self, looks: Sequence[Apart]) -> list[Floats]:
        home = self._home(looks)
        return self._over(looks, lambda there, whose: (there - home[whose]).abs().sum(-1))

    def toward(self, looks: Sequence[Toward]) -> list[Floats]:
        if not looks:
            return []
        home = self._home(looks)
        way = self._ways(home, [look.label for look in looks])
        with torch.inference_mode():
            return self._over(looks, lambda there, whose: ((there - home[whose]) * way[whose]).sum(-1))

    @torch.inference_mode()
    def _home(self, looks: Sequence[Apart | Toward]) -> Tensor:
        if not looks:
            return torch.empty(0)
        return self.vectors(Pool([Variants.itself(look.origin) for look in looks]), np.arange(len(looks)))

    def _over(self, looks: Sequence[Apart | Toward], measure: Callable[[Tensor, Tensor], Tensor]) -> list[Floats]:
        """Return `measure` of the vectors of all variants, each given the number of its look."""
        if not looks:
            return []
        sizes = [look.variants.count for look in looks]
        pool = Pool([look.variants for look in looks])
        whose = np.repeat(np.arange(len(looks)), sizes)
        out = np.empty(len(whose), np.float32)
        for begin in range(0, len(whose), _ROWS):
            wanted = np.arange(begin, min(begin + _ROWS, len(whose)))
            there = self.vectors(pool, wanted)
            out[wanted] = measure(there, torch.from_numpy(whose[wanted]).to(there.device)).cpu().numpy()
        if not np.isfinite(out).all():
            raise VictimError("the victim's vectors are not finite numbers (NaN or infinity)")
        return np.split(out, np.cumsum(sizes)[:-1])

    def _ways(self, home: Tensor, labels: Sequence[int]) -> Tensor:
        """Return unit vectors [look, dim]: the shortest way from each vector to a point where another label wins."""
        if self.readout is None:
            raise VictimError(
                "geometry needs the layer that maps this classifier's last vector to the labels, and it is not known"
            )
        with torch.inference_mode(False), torch.enable_grad():
            here = home.clone().float().requires_grad_()
            logits = self.readout(here)
            rows = torch.arange(len(labels), device=home.device)
            own = logits[rows, torch.tensor(labels, device=home.device)]
            slopes, far = [], []
            for other in range(logits.shape[1]):
                lead = own - logits[:, other]
                (slope,) = torch.autograd.grad(lead.sum(), here, retain_graph=True)
                size = slope.norm(dim=1)
                slopes.append(-slope / size.clamp_min(_LEAST)[:, None])
                far.append(torch.where(size > _LEAST, lead.detach().abs() / size.clamp_min(_LEAST), torch.inf))
            return torch.stack(slopes, 1)[rows, torch.stack(far, 1).argmin(1)].detach()


def last_linear(model: Any) -> nn.Linear | None:
    """Return the layer of a transformers classifier that gives the labels' scores; None where it scores each token."""
    if getattr(model, "score", None) is not None:  # decoders score each token and pick one afterwards
        return None
    labels = int(model.config.num_labels)
    found = [m for m in model.modules() if isinstance(m, nn.Linear) and m.out_features == labels]
    return found[-1] if found else None


def read_by(layer: nn.Module, forward: Forward) -> Forward:
    """Return a forward that gives the input of `layer` during a pass of the given one."""

    def pooled(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
        with _capture_input(layer) as seen:
            forward(ids, lengths)
        if len(seen) != 1 or seen[0].ndim != 2:
            raise VictimError("this classifier does not read one vector a text; EC recipes cannot use it")
        return seen[0]

    return pooled


@contextmanager
def _capture_input(layer: nn.Module) -> Iterator[list[Tensor]]:
    seen: list[Tensor] = []

    def note(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen.append(inputs[0].detach())

    hook = layer.register_forward_pre_hook(note)
    try:
        yield seen
    finally:
        hook.remove()
