"""Plain: whole forward passes over length-sorted batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from malaprop.core.text import Ints
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.splice import Splice

# ids [batch, token] padded, lengths [batch] -> logits [batch, label]
Forward = Callable[[Int[Tensor, "batch token"], Int[Tensor, " batch"]], Float[Tensor, "batch label"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """Scores by the model's own forward; a model that does not mask padding gets batches of one length."""

    forward: Forward
    masks: bool = True
    pad: int = 0
    bounds: Bounds | None = None

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        bounds = self.bounds or bounds_for(work.device)
        parts = list(batches(work.length, bounds, even=not self.masks))
        return in_order(work, parts, [self._answered(work, part) for part in parts])

    def _answered(self, work: Splice, part: Ints) -> Float[Tensor, "batch label"]:
        """Return the logits of a batch, in halves where it does not fit: its memory is not known beforehand."""
        try:
            if work.device.type == "cuda" and self.masks:
                return self._in_bucket(work, part)
            return self.forward(*work.rows(part))
        except torch.OutOfMemoryError:
            if len(part) == 1:
                raise
        if work.device.type == "cuda":
            torch.cuda.empty_cache()
        half = len(part) // 2
        return torch.cat([self._answered(work, part[:half]), self._answered(work, part[half:])])

    def _in_bucket(self, work: Splice, part: Ints) -> Float[Tensor, "batch label"]:
        """Return a batch's logits, padded to a recurring shape: a GPU searches for the best kernel at each new one."""
        rows = max(16, 1 << (len(part) - 1).bit_length())
        ids, lengths = work.rows(np.pad(part, (0, rows - len(part)), mode="edge"))
        width = min(-(-ids.shape[1] // 16) * 16, max(work.limit, ids.shape[1]))
        ids = F.pad(ids, (0, width - ids.shape[1]), value=self.pad)
        return self.forward(ids, lengths)[: len(part)]


def in_order(work: Splice, parts: list[Ints], answers: list[Tensor]) -> Float[Tensor, "variant label"]:
    """Return the answers of all batches in the order of the variants."""
    (back,) = work.ship(np.argsort(np.concatenate(parts)))
    return torch.cat(answers)[back]


def second_segment(ids: Int[Tensor, "batch token"], separator: int) -> Int[Tensor, "batch token"]:
    """Return 1 behind the first separator of each row, 0 up to and with it."""
    here = (ids == separator).long()
    return (here.cumsum(1) - here).clamp_(max=1)


def make_forward(model: Any, *, separator: int | None = None, added: bool = False) -> Forward:
    """Return the forward of a transformers classifier, with padding masked.

    Load the model with `dtype=torch.float32`: transformers takes a checkpoint's own precision, and a half-precision
    forward is both slower on a CPU and some 1e-4 off what BertScorer gives.

    `separator` is for models that tell segments apart by `token_type_ids`: the token behind which the second begins.
    `added` gives the mask as attention adds it (see `malaprop.models.scorers.select_scorer`).
    """

    def forward(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        inside = (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None]).long()
        more = {} if separator is None else {"token_type_ids": second_segment(ids, separator) * inside}
        mask = as_added(inside, model.dtype) if added else inside
        with without_padding(model):
            logits: Tensor = model(input_ids=ids, attention_mask=mask, **more).logits
        return logits

    return forward


def as_added(inside: Int[Tensor, "batch token"], dtype: torch.dtype) -> Float[Tensor, "batch one one token"]:
    """Convert a mask to what attention adds to its products: zero for a token, the least number for padding."""
    blank = torch.zeros(inside.shape, dtype=dtype, device=inside.device)
    return blank.masked_fill_(inside == 0, torch.finfo(dtype).min)[:, None, None]


@contextmanager
def without_padding(model: Any) -> Iterator[None]:
    """Let a model that states no padding token read several unpadded texts; the library would take one at a time.

    It looks for the last token that is not the stated one, so one that never occurs makes it take the last.
    """
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    if getattr(config, "pad_token_id", None) is not None:
        yield
        return
    config.pad_token_id = -1
    try:
        yield
    finally:
        config.pad_token_id = None
