"""A Transformer encoder trained from nothing, for single texts and for pairs."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import mean, within
from malaprop.models.scorers.plain import second_segment
from malaprop.models.tokens.vocab import SEP
from malaprop.zoo.blocks.classifier import Classifier, fresh_words

Inside = Bool[Tensor, "batch 1 1 token"]


class EncoderLayer(nn.Module):
    """A layer of Vaswani et al. 2017 with BERT's activation: attention and two linear layers, added and normed."""

    def __init__(self, dim: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.mixed = nn.Linear(dim, 3 * dim)
        self.joined = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, inner), nn.Linear(inner, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors, inside: Inside) -> Vectors:
        q, k, v = self._parts(x)
        share = self.dropout.p if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=inside, dropout_p=share)
        x = self.norms[0](x + self.dropout(self.joined(mixed.transpose(1, 2).flatten(2))))
        done: Tensor = self.norms[1](x + self.dropout(self.down(functional.gelu(self.up(x)))))
        return done

    def weights(self, x: Vectors, inside: Inside) -> Float[Tensor, "batch head query token"]:
        q, k, _ = self._parts(x)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        return scores.masked_fill(~inside, -torch.inf).softmax(-1)

    def _parts(self, x: Vectors) -> tuple[Float[Tensor, "batch head token each"], ...]:
        split: Tensor = self.mixed(x).view(*x.shape[:2], 3, self.heads, -1)
        return split.permute(2, 0, 3, 1, 4).unbind(0)


class SelfAttention(nn.Module):
    """A Transformer encoder; tokens beyond `places` share the last place.

    With `pairs`, tokens behind the first separator get another segment.
    """

    def __init__(
        self, dim: int, *, heads: int, inner: int, depth: int, places: int, pairs: bool, dropout: float
    ) -> None:
        super().__init__()
        if dim % heads:
            raise SettingError(f"a transformer's dim must be a multiple of heads={heads}, got {dim}")
        self.place_embedding = nn.Embedding(places, dim)
        self.segment_embedding = nn.Embedding(2, dim) if pairs else None
        self.norm = nn.LayerNorm(dim)
        self.stack = nn.ModuleList(EncoderLayer(dim, heads, inner, dropout) for _ in range(depth))
        self.dropout = nn.Dropout(dropout)
        self.apply(_begin)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:
        """Return the states of each layer, first the input of the lowest: word, place and segment."""
        place = torch.arange(ids.shape[1], device=ids.device).clamp(max=self.place_embedding.num_embeddings - 1)
        x = vectors + self.place_embedding(place)
        if self.segment_embedding is not None:
            x = x + self.segment_embedding(second_segment(ids, SEP))
        out = [self.dropout(self.norm(x))]
        for layer in self.stack:
            out.append(layer(out[-1], self._inside(ids, lengths)))
        return out

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        return mean(self.layers(vectors, ids, lengths)[-1], lengths)

    def attention(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Weights:
        below, inside = self.layers(vectors, ids, lengths), self._inside(ids, lengths)
        layers = [layer for layer in self.stack if isinstance(layer, EncoderLayer)]
        return torch.stack([layer.weights(x, inside) for layer, x in zip(layers, below, strict=False)])

    @staticmethod
    def _inside(ids: Ids, lengths: Lengths) -> Inside:
        return within(lengths, ids.shape[1])[:, None, None]


def _begin(module: nn.Module) -> None:
    """Set a module's weights as BERT's begin."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, 0, 0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def transformer(  # noqa: PLR0913 - users set them by name
    vocab: int,
    labels: int,
    *,
    dim: int = 192,
    heads: int = 12,
    inner: int = 768,
    depth: int = 3,
    places: int = 512,
    pairs: bool = False,
    dropout: float = 0.1,
) -> Classifier:
    """Build BERT_NOPT of Hsieh et al. 2019, section 2.2: BERT's encoder, three layers, no pre-training.

    Twelve heads, as in section 4; with `pairs`, segments as in BERT. Differs: words in the place of word pieces; the
    mean over the tokens in the place of a first token's state, so that all attention lies on tokens; 192 numbers a
    token, not BERT's 768, which small data cannot fill (the paper does not say).
    """
    encoder = SelfAttention(dim, heads=heads, inner=inner, depth=depth, places=places, pairs=pairs, dropout=dropout)
    return Classifier(fresh_words(vocab, dim), encoder, nn.Linear(dim, labels), attends=True, dropout=dropout)
