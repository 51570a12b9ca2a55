"""The characters of a batch's words, the gradient of a loss for each, and how many of them may change."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.models.tokens.vocab import BETWEEN, NOTHING, OTHER
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.gradients.characters import symbols, through, windows

Vectors = Float[Tensor, "batch token dim"]
CharIds = Int[Tensor, "batch token char"]


class Spelling(NamedTuple):
    """The distinct words of a batch, and which of them stands where; most words of a batch are a few, over and over."""

    signs: Int[Tensor, "word char"]
    place: Int[Tensor, "batch token"]

    @property
    def everywhere(self) -> CharIds:
        return self.signs[self.place]

    def vectors(self, words: CharWords) -> Vectors:
        return words.compose(words.embedding(self.signs), self.signs)[self.place]


def spelling(words: CharWords, ids: Int[Tensor, "batch token"]) -> Spelling:
    """Return the characters of the words in these rows; in training, with the random blanks of one draw."""
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


def check_share(r: float) -> None:
    if not 0 < r <= 1:
        raise SettingError(f"--r is a share of the characters above 0 and up to 1, got {r}")


def reads_characters(model: nn.Module) -> CharWords:
    """Return the part of a model that reads characters; raise CapabilityError where it has none."""
    found = getattr(model, "embedding", None)
    if not isinstance(found, CharWords):
        raise CapabilityError(
            "harden hotflip flips characters, and this model reads words or pieces of them; name one that reads "
            "characters (CharCNN-LSTM, LSTM-C-Random-1 ...), or use miyato or blackbox"
        )
    return found


def usable_in(words: CharWords) -> Bool[Tensor, " symbol"]:
    """Return which signs may stand in a word without splitting it, on the device of the model."""
    assert words.vocab is not None
    return symbols(words.vocab).to(words.embedding.weight.device)


def counts(signs: CharIds, open_: Bool[Tensor, "batch token"], r: float) -> Float[Tensor, " batch"]:
    """Return how many characters of each text the share `r` is, counted in words that may change."""
    letters = ((signs > BETWEEN) | (signs == OTHER)) & open_[..., None]
    return (letters.flatten(1).sum(1) * r).floor().clamp(min=1)
