"""Hidden states of a victim: a vector for each word of a text, below the first layer and after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.core.errors import VictimError
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.models.gradients.layout import Laid, Layout
from malaprop.models.inside.firstlayer import FirstLayer
from malaprop.models.inside.network import Ids, Lengths, Vectors
from malaprop.models.precision import full_precision
from malaprop.models.scorers.plain import second_segment

Read = Callable[[Ids, Lengths], tuple[Vectors, ...]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordStates:
    """The state of a word is the mean over its tokens; `below` of the states that `read` gives precede the one that
    the first layer reads, and are left out.

    `first` gives the first layer's weights, where that is one of self-attention.
    """

    layout: Layout
    read: Read
    below: int = 0
    first: Callable[[], FirstLayer | None] | None = None
    device: torch.device | str = "cpu"

    @torch.inference_mode()
    def words(self, text: Text) -> list[Floats]:
        """[slot, dim] of each layer in turn, beginning with what the first one reads; nan where a word is not read."""
        laid, found = self.tokens(text)
        share = np.zeros((text.slots, len(laid.row)), np.float32)
        for slot, (start, size) in enumerate(zip(laid.start.tolist(), laid.size.tolist(), strict=True)):
            share[slot, start : start + max(0, size)] = 1 / max(1, size)
        share[laid.size < 0] = np.nan
        return [share @ layer for layer in found]

    @torch.inference_mode()
    def tokens(self, text: Text) -> tuple[Laid, list[Floats]]:
        """[token, dim] of the same layers, and where the words lie among the tokens."""
        (laid,) = self.layout.lay([text])
        row = torch.from_numpy(laid.row)[None].to(self.device)
        with full_precision(self.device):
            found = self.read(row, torch.tensor([len(laid.row)], device=self.device))[self.below :]
        return laid, [layer[0].float().cpu().numpy() for layer in found]


def from_transformers(model: Any, *, separator: int | None = None) -> Read:
    """The states of a transformers model: word, place and segment together, then each layer."""

    def read(
        ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch token dim"], ...]:
        inside = (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None]).long()
        more = {} if separator is None else {"token_type_ids": second_segment(ids, separator) * inside}
        found = model(input_ids=ids, attention_mask=inside, output_hidden_states=True, **more).hidden_states
        if not found:
            raise VictimError(f"{type(model).__name__} does not show its hidden states")
        return tuple(found)

    return read
