"""Internals of a model: attention between words, hidden states of words, its first attention layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.insight import Focus
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.models.gradients.layout import Layout, TokenLayout
from malaprop.models.gradients.tokens import pad_rows
from malaprop.models.precision import full_precision
from malaprop.models.scorers.plain import second_segment
from malaprop.models.tokens.batches import Bounds, batches

Ids = Int[Tensor, "batch token"]
Lengths = Int[Tensor, " batch"]
Vectors = Float[Tensor, "batch token dim"]
Weights = Float[Tensor, "layer batch head query token"]


class InsightNetwork(Protocol):
    """A network that shows its parts; in evaluation mode its forward is `head(pooled(ids, lengths))`."""

    embedding: nn.Module  # word ids to vectors
    head: nn.Module

    def __call__(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]: ...

    def from_vectors(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        """Return the logits with `vectors` in place of `embedding(ids)`; each text has a token (`fill_empty_rows`)."""
        ...

    def pooled(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        """Return the vector that the classifier reads."""
        ...

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        """Return a vector for each token: the word's own, then after each layer in turn; zeros beyond a text.

        Layers may differ in width, and the separator of a pair has zeros where a layer reads each side by itself.
        """
        ...

    @property
    def attends(self) -> bool:
        """Return whether there is attention to show."""
        ...

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:
        """Return weights on tokens, which sum to 1 for each query within a text; 0 beyond it.

        Queries are the tokens themselves, or a single one that stands for the whole text.
        """
        ...


Weigh = Callable[[Ids, Lengths], Weights]
Maps = NDArray[np.float32]  # [layer, head, query, slot]
_BOUNDS = Bounds(rows=64, tokens=1 << 12)  # of each token there are weights on all others, in every head and layer


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordAttention:
    """Attention between the words of a text: what a word gets is the sum over its tokens, what it pays their mean.

    What goes to special tokens and to marks between the words is left out, so rows need not sum to 1.
    """

    layout: Layout
    weigh: Weigh
    device: torch.device | str = "cpu"
    pad: int = 0
    masks: bool = True  # whether padding is masked; if not, batches are of one length
    first: bool = False  # whether a first token stands for the whole text

    @torch.inference_mode()
    def words(self, text: Text) -> Maps:
        """Return attention [layer, head, query, slot]; queries are the slots, or one that stands for the whole text."""
        (laid,) = self.layout.lay([text])
        row = torch.from_numpy(laid.row)[None].to(self.device)
        found = self.weigh(row, torch.tensor([len(laid.row)], device=self.device))[:, 0].float().cpu().numpy()
        inside = np.zeros((text.slots, len(laid.row)), np.float32)
        for slot, (start, size) in enumerate(zip(laid.start.tolist(), laid.size.tolist(), strict=True)):
            inside[slot, start : start + max(0, size)] = 1
        paid: Maps = found @ inside.T
        if found.shape[2] == 1:
            return paid
        return np.asarray((inside / np.maximum(1, inside.sum(1, keepdims=True))) @ paid, np.float32)

    @torch.inference_mode()
    def focus(self, looks: Sequence[Focus]) -> list[Floats]:
        """Return the attention on each slot, for many texts in few passes."""
        laid = self.layout.lay([look.text for look in looks])
        out: list[Floats] = [np.empty(0, np.float32)] * len(looks)
        lengths = np.fromiter((len(one.row) for one in laid), np.int64, len(laid))
        for part in batches(lengths, _BOUNDS, even=not self.masks):
            mine = part.tolist()
            ids, sizes = pad_rows([laid[i].row for i in mine], self.pad, self.device)
            found = self.weigh(ids, sizes).float().mean(2)  # [layer, batch, query, token]
            for at, i in enumerate(mine):
                out[i] = _by_slot(self._line(found[:, at, :, : len(laid[i].row)], looks[i]), laid[i])
        return out

    def _line(self, maps: Float[Tensor, "layer query token"], look: Focus) -> Floats:
        """Return the attention on each token of one text in one layer."""
        layers, queries, tokens = maps.shape
        if not -layers <= look.layer < layers:
            raise SettingError(f"layer must lie from 0 to {layers - 1} (-1 is the last), got {look.layer}")
        map_ = maps[look.layer]
        if queries == 1:
            row = map_[0]
        elif look.direction == "received":
            row = map_[:tokens].mean(0)
        elif self.first:
            row = map_[0]
        else:
            raise SettingError(
                "direction=cls needs a victim that classifies by its first token, as BERT does; use direction=received"
            )
        found: Floats = row.cpu().numpy()
        return found


def _by_slot(line: Floats, laid: TokenLayout) -> Floats:
    """Sum the attention over the tokens of each word; nan for words that truncation leaves out."""
    ends = np.concatenate([[0], np.cumsum(line, dtype=np.float64)])
    sizes = np.maximum(laid.size, 0)
    start = np.minimum(laid.start, len(line))
    return np.where(laid.size < 0, np.nan, ends[np.minimum(start + sizes, len(line))] - ends[start]).astype(np.float32)


def read_attention(model: Any, *, separator: int | None = None) -> Weigh:
    """Return a reader of a transformers classifier's attention, by its eager kernels: fused ones do not expose it."""

    def weigh(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "l b h q t"]:
        inside = (torch.arange(ids.shape[1], device=ids.device)[None] < lengths[:, None]).long()
        more = {} if separator is None else {"token_type_ids": second_segment(ids, separator) * inside}
        kind = model.config._attn_implementation
        model.set_attn_implementation("eager")
        try:
            found = model(input_ids=ids, attention_mask=inside, output_attentions=True, **more).attentions
        finally:
            model.set_attn_implementation(kind)
        if not found or any(layer is None for layer in found):
            raise VictimError(f"{type(model).__name__} does not show its attention")
        return torch.stack(list(found))

    return weigh


Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FirstLayer:
    """Weights of the first self-attention layer, by head.

    The score of word j for word i in head h is (x_i query[h] + offset[h]) . (x_j key[h]), times `scale`, plus a
    part that does not depend on j.
    """

    query: Doubles  # [head, dim, each]
    key: Doubles  # [head, dim, each]
    offset: Doubles  # [head, each]
    scale: float

    def norms(self) -> Doubles:
        """Return the product of the two spectral norms, for each head: the theorem's C."""
        return np.asarray(
            [np.linalg.norm(q, 2) * np.linalg.norm(k, 2) for q, k in zip(self.query, self.key, strict=True)]
        )


def read_first_layer(model: Any) -> FirstLayer | None:
    """Return the first layer of BERT and models built like it; None for others."""
    try:
        found = model.base_model.encoder.layer[0].attention.self
        query, key, heads = found.query, found.key, int(found.num_attention_heads)
    except (AttributeError, IndexError, TypeError):
        return None
    if not isinstance(query, nn.Linear) or not isinstance(key, nn.Linear):
        return None
    return split_heads(query.weight, key.weight, query.bias, heads)


def split_heads(query: Tensor, key: Tensor, offset: Tensor, heads: int) -> FirstLayer:
    """Split torch's weights, [out, in], into heads."""
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


Read = Callable[[Ids, Lengths], tuple[Vectors, ...]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordStates:
    """Hidden states of words: the state of a word is the mean over its tokens.

    The first `below` of the states that `read` gives, before the input of the first layer, are left out.

    `first` gives the first layer's weights, where that is one of self-attention.
    """

    layout: Layout
    read: Read
    below: int = 0
    first: Callable[[], FirstLayer | None] | None = None
    device: torch.device | str = "cpu"

    @torch.inference_mode()
    def words(self, text: Text) -> list[Floats]:
        """Return [slot, dim] of each layer, beginning with the input of the first; nan where a word is not read."""
        laid, found = self.tokens(text)
        share = np.zeros((text.slots, len(laid.row)), np.float32)
        for slot, (start, size) in enumerate(zip(laid.start.tolist(), laid.size.tolist(), strict=True)):
            share[slot, start : start + max(0, size)] = 1 / max(1, size)
        share[laid.size < 0] = np.nan
        return [share @ layer for layer in found]

    @torch.inference_mode()
    def tokens(self, text: Text) -> tuple[TokenLayout, list[Floats]]:
        """Return where the words lie among the tokens, and [token, dim] of the same layers."""
        (laid,) = self.layout.lay([text])
        row = torch.from_numpy(laid.row)[None].to(self.device)
        with full_precision(self.device):
            found = self.read(row, torch.tensor([len(laid.row)], device=self.device))[self.below :]
        return laid, [layer[0].float().cpu().numpy() for layer in found]


def read_states(model: Any, *, separator: int | None = None) -> Read:
    """Return a reader of a transformers model's states: the sum of word, place and segment, then each layer."""

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
