"""Texts of a batch as the characters of their words, and the way back from a loss to each character."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.models.blocks.charwords import CharWords
from malaprop.models.blocks.rows import within
from malaprop.models.openvocab import NOTHING

Vectors = Float[Tensor, "batch token dim"]
Signs = Int[Tensor, "batch token char"]


class Spelling(NamedTuple):
    """The distinct words of a batch, and which of them stands where; most words of a batch are a few, over and over."""

    signs: Int[Tensor, "word char"]
    place: Int[Tensor, "batch token"]

    @property
    def everywhere(self) -> Signs:
        return self.signs[self.place]

    def vectors(self, words: CharWords) -> Vectors:
        return words.compose(words.embedding(self.signs), self.signs)[self.place]


def spelling(words: CharWords, ids: Int[Tensor, "batch token"]) -> Spelling:
    """How the words of these rows are read now, in training with the blanks of one draw."""
    return Spelling(*words.distinct(ids))


def char_gradients(words: CharWords, spelled: Spelling, towards: Vectors) -> Float[Tensor, "batch token char dim"]:
    """Gradient of a loss to the vector of each character at each place, from that to each word's vector, `towards`.

    So one backward pass serves the weights and the characters. A word's strongest windows depend on the word alone and
    are found once for each distinct word; only what flows back through them differs from place to place.
    """
    signs, place = spelled
    inside = signs != NOTHING
    with torch.no_grad():
        x = (words.embedding(signs) * inside[..., None]).transpose(1, 2)
        ends = inside.sum(1).clamp(min=words.least)
        found = [_winners(conv, x, ends) for conv in words.convs]
        strongest = torch.cat([values for values, _ in found], 1)[place]
    with torch.enable_grad():
        vectors = words.finished(strongest.requires_grad_())
        (back,) = torch.autograd.grad(vectors, strongest, towards.to(vectors.dtype))
    with torch.no_grad():
        total, at = torch.zeros(()), 0
        for conv, (values, winner) in zip(words.convs, found, strict=True):
            mine = back[..., at : (at := at + values.shape[1])].flatten(0, 1)
            total = total.to(back.device) + _through(conv, mine, winner[place].flatten(0, 1), signs.shape[1])
        return total.transpose(1, 2).reshape(*place.shape, *total.shape[:0:-1]) * inside[place][..., None]


def _winners(
    conv: nn.Module, x: Float[Tensor, "word dim char"], ends: Int[Tensor, " word"]
) -> tuple[Float[Tensor, "word filter"], Int[Tensor, "word filter"]]:
    """The strongest answer of each filter, and the window that gave it."""
    windows: Tensor = conv(x)
    width = x.shape[2] - windows.shape[2] + 1
    values, winner = windows.masked_fill(~within(ends - width + 1, windows.shape[2])[:, None], -torch.inf).max(2)
    return values, winner


def _through(
    conv: nn.Module, back: Float[Tensor, "place filter"], winner: Int[Tensor, "place filter"], chars: int
) -> Float[Tensor, "place dim char"]:
    """What reaches each character through the windows that won."""
    assert isinstance(conv, nn.Conv1d)
    windows = chars - conv.kernel_size[0] + 1
    spread = back.new_zeros(*back.shape, windows).scatter_(2, winner[..., None], back[..., None])
    return functional.conv_transpose1d(spread, conv.weight)
