"""Texts in and out of a translation network, in batches by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from malaprop.features.translation.models.beam import beam_search
from malaprop.features.translation.models.subwords import PAD, SubWords

BATCH = {"cpu": 4096, "cuda": 65_536}  # pieces of sources decoded together, beams included


def translate(
    model: nn.Module, subwords: SubWords, sources: Sequence[str], *, width: int = 5, batch: int | None = None
) -> list[str]:
    """Each source by beam search; what lies beyond the model's limit is left out."""
    device, limit = device_of(model), limit_of(model)
    rows = [cut_pieces(subwords.ids(source), limit) for source in sources]
    out: list[list[int]] = [[] for _ in rows]
    for part in batches([len(row) for row in rows], (batch or BATCH.get(device.type, 4096)) // width):
        ids, lengths = side_by_side([rows[i] for i in part])
        found = beam_search(model, ids.to(device), lengths, width=width, limit=limit)  # type: ignore[arg-type]
        for i, row in zip(part, found, strict=True):
            out[i] = row
    return subwords.text(out)


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def limit_of(model: nn.Module) -> int:
    return int(model.shape.limit)  # type: ignore[union-attr, arg-type]


def cut_pieces(ids: list[int], limit: int) -> list[int]:
    """At most so many pieces, the end mark among them."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def batches(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Numbers of rows that go together: of about one length, padded to no more than `most` pieces, or one alone."""
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    part: list[int] = []
    for i in order:
        if part and sizes[i] * (len(part) + 1) > most:
            yield part
            part = []
        part.append(i)
    if part:
        yield part


def side_by_side(rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, " batch"]]:
    """Rows padded to the longest, and their lengths."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = np.full((len(rows), int(lengths.max())), PAD)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    return torch.from_numpy(ids), torch.from_numpy(lengths)
