"""Chooses the scorer of a transformers classifier in the precision that the user wants."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from malaprop.models.embeddings import last_linear
from malaprop.models.precision import ROUNDING
from malaprop.models.scorers import Scorer
from malaprop.models.scorers.bert import BertScorer, readable
from malaprop.models.scorers.buckets import Buckets
from malaprop.models.scorers.int8 import quantise
from malaprop.models.scorers.packedmodel import pack
from malaprop.models.scorers.packing import Packing, can_pack
from malaprop.models.scorers.plain import Forward, Plain, make_forward
from malaprop.models.tokens.batches import Bounds
from malaprop.models.tokens.splice import Splice

_SAME = 1e-5  # of two logits in float32, relative to the largest


@torch.inference_mode()
def takes_added_mask(model: Any, rows: Sequence[Sequence[int]], *, pad: int, separator: int | None = None) -> bool:
    """Return whether a mask in the added form gives these rows the same answers as one of ones and zeros.

    transformers turns a mask of ones and zeros into the form that attention adds to its products. On the way it asks
    the device whether the mask is full, so every pass waits for the GPU, and none can be recorded (a CUDA graph). A
    mask that has the added form already is passed on as it is. `rows` are finished rows of tokens of several lengths:
    padded to one width, a mask that is not heeded shows.
    """
    if len({len(row) for row in rows}) < 2:
        return False
    device, longest = next(model.parameters()).device, max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    plain: Tensor = make_forward(model, separator=separator)(ids, lengths).float()
    try:
        found: Tensor = make_forward(model, separator=separator, added=True)(ids, lengths).float()
    except Exception:  # noqa: BLE001 - a model fails in its own way at a mask that it was not meant to be given
        return False
    most = _SAME * max(1.0, float(plain.abs().max()))
    return found.shape == plain.shape and bool((found - plain).abs().max() <= most)


_TOKENS = 1 << 14  # of a packed batch


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScorerChoice:
    """A classifier and what trials of it showed when it was loaded; chooses its fast scorer."""

    model: Any
    separator: int | None  # behind which the second segment begins; None: it knows no segments
    pad: int
    limit: int
    rows: Sequence[Sequence[int]]  # of a few texts, on which roads are tried
    masks: bool = True  # whether padding changes no answer
    independent: bool = True  # whether rows of one length change none of each other's

    @property
    def forward(self) -> Forward:
        return make_forward(self.model, separator=self.separator)

    @property
    def bounds(self) -> Bounds | None:
        """Return the limits of a batch: small on a CPU, which a few hundred tokens keep busy, to pad little."""
        if not self.independent:
            return Bounds(rows=1)
        return Bounds(rows=32, waste=0.03) if self.model.device.type == "cpu" else None

    def scorer(self, precision: str) -> Scorer | None:
        """Return the fast scorer for fp32, bf16 or int8; None where the model's own forward is the fastest."""
        if self._as_weights:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            return BertScorer(model=self.model, separator=self.separator, dtype=dtype, int8=precision == "int8")
        if precision == "fp32":
            return None
        return self._in_int8() if precision == "int8" else self._in_half()

    @property
    def _as_weights(self) -> bool:
        """Return whether our own BERT forward serves the model: on a GPU BERT alone, on a CPU its relatives too."""
        named = type(self.model).__name__
        return readable(self.model) and (self.model.device.type == "cpu" or named == "BertForSequenceClassification")

    def nears(self, precision: str) -> bool:
        """Return whether scores in this precision stay within half of its `ROUNDING` on the sample rows."""
        scorer = self.scorer(precision)
        if scorer is None or not self.rows:
            return scorer is None
        work = Splice.of_rows(self.rows, limit=self.limit, pad=self.pad, device=self.model.device)
        plain = Plain(forward=self.forward, masks=self.masks, pad=self.pad, bounds=self.bounds)
        apart = scorer.logits(work).softmax(-1) - plain.logits(work).softmax(-1)
        return float(apart.abs().max()) <= ROUNDING[precision] / 2

    def _in_half(self) -> Scorer:
        """Return a bf16 scorer: packed if attention can be, else padded in few shapes, else batches of one length."""
        on_gpu = self.model.device.type == "cuda"
        if on_gpu and can_pack():
            network = pack(self.model, [r for r in self.rows if r], separator=self.separator, dtype=torch.bfloat16)
            if network is not None:
                return Packing(network=network, longest=self.limit, tokens=max(_TOKENS, self.limit))
        half = deepcopy(self.model).to(torch.bfloat16)
        if on_gpu and self.masks:
            added = takes_added_mask(self.model, self.rows, pad=self.pad, separator=self.separator)
            forward = make_forward(half, separator=self.separator, added=added)
            return Buckets(forward=forward, pad=self.pad, longest=self.limit)
        forward = make_forward(half, separator=self.separator)
        return Plain(forward=forward, masks=False, pad=self.pad, bounds=self.bounds)

    def _in_int8(self) -> Scorer:
        """Return a scorer with large products in int8; the head, which reads the last vector, stays in fp32."""
        spare = last_linear(self.model) or getattr(self.model, "score", None)
        forward = make_forward(quantise(self.model, spare=spare), separator=self.separator)
        return Plain(forward=forward, masks=self.masks, pad=self.pad, bounds=self.bounds)
