"""Perturbed readings: what a model answers when the vectors that it reads are moved."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from malaprop.features.hardening.character_batches import Spelling, char_gradients, spelling
from malaprop.models.padded_rows import fill_empty_rows, within
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.training import Batch

Logits = Float[Tensor, "batch label"]


def measure_shift(logits: Logits, target: Logits) -> Float[Tensor, ""]:
    """Return the Kullback-Leibler divergence of the answers from `target`, which are log-probabilities."""
    return functional.kl_div(logits.float().log_softmax(1), target, reduction="batchmean", log_target=True)


class PerturbedReading:
    """One batch as a model reads it: `base` is what noise is added to, the vectors of words or of their characters."""

    def __init__(self, model: Any, batch: Batch) -> None:
        self.model, self.ids, self.lengths = model, batch.ids, batch.lengths
        self.spelled: Spelling | None = None
        if isinstance(model.embedding, CharWords):
            self.spelled = spelling(model.embedding, batch.ids)
            self.vectors = self.spelled.vectors(model.embedding)
            inside = (self.spelled.signs != 0)[..., None]
            self.base: Tensor = (model.embedding.embedding(self.spelled.signs) * inside)[self.spelled.place].detach()
        else:
            self.vectors = model.embedding(batch.ids)
            if not self.vectors.requires_grad:  # a table that stays as it is
                self.vectors.requires_grad_()
            self.base = self.vectors.detach()

    @cached_property
    def clean(self) -> Logits:
        """Return the logits without noise."""
        return self._answers(self.vectors)

    def _answers(self, vectors: Float[Tensor, "batch token dim"]) -> Logits:
        logits: Tensor = self.model.from_vectors(vectors, self.ids, self.lengths)
        return logits

    def gradient(self, loss: Float[Tensor, ""]) -> Tensor:
        """Return the gradient of the loss with respect to `base`."""
        (towards,) = torch.autograd.grad(loss, self.vectors, retain_graph=True)
        if self.spelled is None:
            return towards
        return char_gradients(self.model.embedding, self.spelled, towards)

    def moved(self, noise: Tensor) -> Logits:
        """Return the logits with noise on the base."""
        if self.spelled is None:
            return self._answers(self.vectors + noise)
        words: CharWords = self.model.embedding
        signs = self.spelled.everywhere
        return self._answers(words.compose(words.embedding(signs) + noise, signs))

    @classmethod
    def of(cls, model: Any, batch: Batch) -> PerturbedReading:
        """Read a batch in which texts may have no token."""
        ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
        return cls(model, batch._replace(ids=ids, lengths=lengths))

    def scale(self, direction: Float[Tensor, "batch token *rest"], size: float) -> Tensor:
        """Return noise in this direction, for each word `size` times as long as its vector; 0 beyond a text's end."""
        direction = direction.detach().float()
        norm = self.base.float().flatten(2).norm(dim=2)
        share = size * norm / direction.flatten(2).norm(dim=2).clamp(min=1e-12)
        share = share * within(self.lengths, share.shape[1])
        noise: Tensor = direction * share.reshape(share.shape + (1,) * (direction.ndim - 2))
        return noise
