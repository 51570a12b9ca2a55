"""Texts of a batch as the characters of their words, and the way back from a loss to each character."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.models.tokens.vocab import NOTHING
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.gradients.characters import through, windows

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
    with torch.no_grad():
        values, where = windows(words, signs)
        strongest = values[place]
    with torch.enable_grad():
        vectors = words.finished(strongest.requires_grad_())
        (back,) = torch.autograd.grad(vectors, strongest, towards.to(vectors.dtype))
    with torch.no_grad():
        return through(words, back, where, place, signs.shape[1]) * (signs != NOTHING)[place][..., None]
