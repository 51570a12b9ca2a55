"""AverageEdits: a model of mean word vectors, whose sums change by the words that an edit takes out and brings in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.batches import batches, bounds_for
from malaprop.models.tokens.pieces import runs
from malaprop.models.tokens.splice import Splice
from malaprop.models.tokens.vocab import SEP
from malaprop.zoo.blocks.classifier import Classifier
from malaprop.zoo.blocks.pairs import Average, compare_sides
from malaprop.zoo.scorers.edits import Edits


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageEdits:
    """Scores edits on a model of mean word vectors: it sums each side of a base once, then only a variant's edit.

    Edits that move the separator, and texts left without a word, are read whole. The weights must not change once a
    text was scored.
    """

    model: Classifier

    def __post_init__(self) -> None:
        if not isinstance(self.model.encoder, Average) or not isinstance(self.model.embedding, nn.Embedding):
            raise SettingError("AverageEdits reads a model of mean word vectors; use Plain for this one")

    @torch.inference_mode()
    def logits(self, work: Splice) -> Float[Tensor, "variant label"]:
        edits = Edits.of(work)
        out, near = self._edited(work, edits)
        rest = np.flatnonzero(~near)
        for part in batches(work.length[rest], bounds_for(work.device)):
            (index,) = work.ship(rest[part])
            out[index] = self.model(*work.rows(rest[part]))
        return out

    def _edited(
        self, work: Splice, edits: Edits
    ) -> tuple[Float[Tensor, "variant label"], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Return logits of all variants, and which of them are valid; the others need a whole forward pass."""
        size = np.minimum(work.lengths, work.limit)
        middle = self._middle(work, size)
        offset, tokens = work.offset, len(size)
        sums = self._sums(
            work, np.concatenate([offset, offset + middle + 1]), np.concatenate([middle, size - middle - 1])
        )
        old, new = np.where(edits.fits, edits.old, 0), np.where(edits.fits, edits.new, 0)
        taken = self._sums(work, offset[work.base] + edits.at, old)
        given = self._sums(work, work.source, new)
        base, at, less, more, cut, many = work.ship(work.base, edits.at, old, new, middle[work.base], size[work.base])
        second = at > cut
        means = []
        for side, (start, count) in enumerate(((0, cut), (tokens, (many - cut - 1).clamp(min=0)))):
            mine = (second == bool(side))[:, None]
            total = sums[base + start] + torch.where(mine, given - taken, 0)
            means.append(total / (count + torch.where(mine[:, 0], more - less, 0)).clamp(min=1)[:, None])
        logits: Tensor = self.model.head(compare_sides(*means))
        whole = self._moves(work, offset[work.base] + edits.at, old) | self._moves(work, work.source, new)
        return logits, edits.fits & ~whole & (work.length > 0)

    def _sums(self, work: Splice, start: Ints, size: Ints) -> Float[Tensor, "stretch dim"]:
        """Return the summed vectors of stretches of tokens."""
        size = np.maximum(size, 0)
        index, *_ = work.ship(runs(start, size)) if size.any() else (torch.zeros(0, dtype=torch.int64),)
        (begin,) = work.ship(np.cumsum(size) - size)
        vectors = self.model.embedding.get_parameter("weight")
        return F.embedding_bag(work.tokens[index.to(work.device)], vectors, begin, mode="sum")

    def _middle(self, work: Splice, size: Ints) -> Ints:
        """Return the place of each base's first separator; its size where it has none."""
        out = size.copy()
        found = _places(work, runs(work.offset, size))
        base = np.repeat(np.arange(len(size)), size)[found]
        np.minimum.at(out, base, runs(np.zeros_like(size), size)[found])
        return out

    def _moves(self, work: Splice, start: Ints, size: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which stretches hold a separator."""
        found = _places(work, runs(start, size))
        return np.bincount(np.repeat(np.arange(len(size)), size)[found], minlength=len(size)) > 0


def _places(work: Splice, index: Ints) -> Ints:
    """Return which of these tokens are separators."""
    if not len(index):
        return index
    (where,) = work.ship(index)
    found: Int[Tensor, " place"] = (work.tokens[where] == SEP).nonzero()[:, 0]
    return np.asarray(found.cpu().numpy())
