"""The first layer of self-attention, as the matrices with which a score between two words is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FirstLayer:
    """Score of word j for word i in head h: (x_i query[h] + offset[h]) . (x_j key[h]), times `scale`, and a part that j
    has no share in.
    """

    query: Doubles  # [head, dim, each]
    key: Doubles  # [head, dim, each]
    offset: Doubles  # [head, each]
    scale: float

    def norms(self) -> Doubles:
        """The product of the two spectral norms, for each head: the theorem's C."""
        return np.asarray(
            [np.linalg.norm(q, 2) * np.linalg.norm(k, 2) for q, k in zip(self.query, self.key, strict=True)]
        )


def of_transformers(model: Any) -> FirstLayer | None:
    """Of a BERT or what is built like one; None for others."""
    try:
        found = model.base_model.encoder.layer[0].attention.self
        query, key, heads = found.query, found.key, int(found.num_attention_heads)
    except (AttributeError, IndexError, TypeError):
        return None
    if not isinstance(query, nn.Linear) or not isinstance(key, nn.Linear):
        return None
    return _split(query.weight, key.weight, query.bias, heads)


def _split(query: Tensor, key: Tensor, offset: Tensor, heads: int) -> FirstLayer:
    """Weights as torch has them, [out, in], cut into heads."""
    (q, k), b = (_doubles(w) for w in (query, key)), _doubles(offset)
    wide, dim = q.shape
    each = wide // heads
    return FirstLayer(
        query=q.reshape(heads, each, dim).transpose(0, 2, 1),
        key=k.reshape(heads, each, dim).transpose(0, 2, 1),
        offset=b.reshape(heads, each),
        scale=each**-0.5,
    )


def _doubles(tensor: Tensor) -> Doubles:
    return np.asarray(tensor.detach().double().cpu().numpy(), np.float64)
