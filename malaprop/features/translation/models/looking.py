"""Where a translation looks: attention from the words of an output to those of its source."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from malaprop.features.translation.models.decoding import cut_pieces, device_of, limit_of
from malaprop.features.translation.models.subwords import BOS, SubWords


class Look(NamedTuple):
    """A row an output word, a column a source word; what goes to the end mark is missing from a row's sum."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: NDArray[np.float32]


@torch.inference_mode()
def look(model: nn.Module, subwords: SubWords, source: str, output: str) -> Look:
    """Sub-words of a source word are summed, those of an output word averaged."""
    device, limit = device_of(model), limit_of(model)
    ids = cut_pieces(subwords.ids(source), limit)
    before = [BOS, *subwords.ids(output)[:-2]][:limit]
    memory = model.encode(torch.tensor([ids], device=device), torch.tensor([len(ids)]))  # type: ignore[operator]
    found = model.attention(memory, torch.tensor([before], device=device))[0].float().cpu().numpy()  # type: ignore[operator]
    rows, columns = (_ends(subwords.counts(text), most) for text, most in ((output, len(before)), (source, len(ids))))
    summed = np.stack([found[:, a:b].sum(1) for a, b in columns], 1) if columns else found[:, :0]
    mean = [summed[a:b].mean(0) for a, b in rows]
    return Look(
        tuple(source.split()[: len(columns)]),
        tuple(output.split()[: len(rows)]),
        np.stack(mean) if mean else np.zeros((0, len(columns)), np.float32),
    )


def _ends(counts: list[int], most: int) -> list[tuple[int, int]]:
    """The pieces of each word, as far as they were read."""
    cuts = pairwise([0, *accumulate(counts)])
    return [(a, min(b, most)) for a, b in cuts if a < min(b, most)]
