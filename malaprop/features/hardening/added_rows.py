"""Append rows of perturbed texts to a training batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.text import Ints
from malaprop.models.padded_rows import Ragged
from malaprop.zoo.training import Batch


class AddedRows(NamedTuple):
    """Token rows that a training method appends to a batch; row i has the label of the batch's row of[i]."""

    rows: Sequence[Sequence[int]]
    of: Ints


def append_rows(batch: Batch, rows: Sequence[Sequence[int]], of: Ints, pad: int) -> Batch:
    """Append rows to a batch; row i has the label of the batch's row of[i]."""
    return add_rows(batch, rows, batch.labels[torch.from_numpy(of).to(batch.labels.device)], batch.rows[of], pad)


def add_rows(
    batch: Batch, rows: Sequence[Sequence[int]], labels: Int[Tensor, " row"] | Sequence[int], of: Ints, pad: int
) -> Batch:
    """Append rows with labels of their own to a batch; row i is another wording of the training row of[i]."""
    sizes = Ragged.of(rows).size
    width = max(batch.ids.shape[1], int(sizes.max()))
    more = np.full((len(rows), width), pad)
    for line, row in zip(more, rows, strict=True):
        line[: len(row)] = row
    device = batch.ids.device
    return Batch(
        torch.cat(
            [functional.pad(batch.ids, (0, width - batch.ids.shape[1]), value=pad), torch.from_numpy(more).to(device)]
        ),
        torch.cat([batch.lengths, torch.from_numpy(sizes).to(device)]),
        torch.cat([batch.labels, torch.as_tensor(labels, device=device)]),
        np.concatenate([batch.rows, of]),
        batch.step,
        len(batch.labels) if batch.own < 0 else batch.own,
    )
