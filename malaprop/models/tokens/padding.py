"""Zero vectors in the place of words: the victim's answer as if it could not see one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.insight import Blank
from malaprop.core.score import Floats
from malaprop.core.text import Ints
from malaprop.models.gradients.layout import Layout
from malaprop.models.gradients.tokens import TokenGradients, pad_rows
from malaprop.models.precision import full_precision
from malaprop.models.scorers.plain import Forward
from malaprop.models.tokens.batches import batches, bounds_for


class _Hidden(NamedTuple):
    """A row of tokens with `size` of them from `start` on as zeros: slot number `slot` of look number `look`."""

    look: int
    slot: int
    row: Ints
    start: int
    size: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ZeroWords:
    """Sets the output of `embedding` for a word's tokens to zero on its way into the model.

    Place and segment, where a model adds them, stay. A word that the cut at the limit leaves out has no answer (nan).
    """

    forward: Forward
    embedding: nn.Module
    layout: Layout
    labels: int
    pad: int = 0
    masks: bool = True
    device: torch.device | str = "cpu"

    @classmethod
    def like(cls, gradients: TokenGradients, labels: int) -> ZeroWords:
        """Return zero words at the embedding whose gradients `gradients` takes."""
        return cls(
            forward=gradients.forward,
            embedding=gradients.embedding,
            layout=gradients.layout,
            labels=labels,
            pad=gradients.pad,
            masks=gradients.masks,
            device=gradients.device,
        )

    @torch.inference_mode()
    def blanked(self, looks: Sequence[Blank]) -> list[Floats]:
        out = [np.full((len(look.slots), self.labels), np.nan, np.float32) for look in looks]
        hidden = list(self._hidden(looks))
        lengths = np.fromiter((len(one.row) for one in hidden), np.int64, len(hidden))
        with full_precision(self.device):
            for part in batches(lengths, bounds_for(torch.device(self.device)), even=not self.masks):
                mine = [hidden[i] for i in part.tolist()]
                for one, scores in zip(mine, self._batch(mine), strict=True):
                    out[one.look][one.slot] = scores
        return out

    def _hidden(self, looks: Sequence[Blank]) -> Iterator[_Hidden]:
        for number, (look, laid) in enumerate(zip(looks, self.layout.lay([k.text for k in looks]), strict=True)):
            for place, slot in enumerate(look.slots.tolist()):
                if laid.size[slot] > 0:
                    yield _Hidden(number, place, laid.row, int(laid.start[slot]), int(laid.size[slot]))

    def _batch(self, hidden: Sequence[_Hidden]) -> Floats:
        ids, lengths = pad_rows([one.row for one in hidden], self.pad, self.device)
        seen = np.ones(tuple(ids.shape), np.float32)
        for line, one in zip(seen, hidden, strict=True):
            line[one.start : one.start + one.size] = 0
        with _dimmed(self.embedding, torch.from_numpy(seen).to(self.device)):
            logits = self.forward(ids, lengths)
        scores: Floats = logits.float().softmax(-1).cpu().numpy()
        return scores


@contextmanager
def _dimmed(embedding: nn.Module, seen: Float[Tensor, "batch token"]) -> Iterator[None]:
    """Multiply the output of the embedding for each token by `seen` within the block."""

    def dim(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        return output * seen[..., None].to(output.dtype)

    hook = embedding.register_forward_hook(dim)
    try:
        yield
    finally:
        hook.remove()
