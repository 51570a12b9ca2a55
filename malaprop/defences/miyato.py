"""Miyato et al. 2017: training on vectors moved a little in the direction that hurts most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.defences.spelling import Spelling, char_gradients, spelling
from malaprop.models.splits import Splits
from malaprop.models.zoo.blocks.charwords import CharWords
from malaprop.models.zoo.blocks.rows import settled, within
from malaprop.models.zoo.train import Job
from malaprop.models.zoo.training import Batch, Hooks

_PROBE = 0.1  # length of the first guess in the virtual kind, as a share of the noise
Logits = Float[Tensor, "batch label"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Miyato:
    """Noise on what the model reads, for each word as long as `size` times the word's own vector.

    For models that read characters the noise is on the characters' vectors and the norm is that of the matrix which a
    word's characters make (Ebrahimi et al. 2018, section 4.1). `virtual` moves away from the model's own answer instead
    of the label. Differs: Miyato et al. bound the noise of a whole text after normalising its vectors.
    """

    size: float = 0.02
    virtual: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.size < float("inf"):
            raise SettingError(f"--noise must be a number above 0, got {self.size}")

    def __str__(self) -> str:
        kind = "virtual adversarial" if self.virtual else "adversarial"
        return f"{kind} noise of {self.size:g} times each word's norm (Miyato et al.)"

    def hooks(self, job: Job, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        """Of the texts as they are, and of those with noise: their mean, or the sum where the noise is virtual."""
        ids, lengths = settled(batch.ids, batch.lengths)
        reading = _PerturbedReading(model, batch._replace(ids=ids, lengths=lengths))
        clean = functional.cross_entropy(reading.clean.float(), batch.labels)
        if self.virtual:
            return clean + self._virtual(reading)
        moved = reading.moved(self._scaled(reading, reading.gradient(clean)))
        return (clean + functional.cross_entropy(moved.float(), batch.labels)) / 2

    def _virtual(self, reading: _PerturbedReading) -> Float[Tensor, ""]:
        """How far the answers move, by Kullback and Leibler; the direction is found with one gradient."""
        target = reading.clean.detach().float().log_softmax(1)
        guess = self._scaled(reading, torch.randn_like(reading.base)) * _PROBE
        guess.requires_grad_()
        (worst,) = torch.autograd.grad(_apart(reading.moved(guess), target), guess)
        return _apart(reading.moved(self._scaled(reading, worst)), target)

    def _scaled(self, reading: _PerturbedReading, direction: Float[Tensor, "batch token *rest"]) -> Tensor:
        """Noise of that direction with the norm that each word allows; none beyond a text."""
        direction = direction.detach().float()
        flat = direction.flatten(2)
        norm = reading.base.float().flatten(2).norm(dim=2)
        share = self.size * norm / flat.norm(dim=2).clamp(min=1e-12)
        share = share * within(reading.lengths, share.shape[1])
        noise: Tensor = direction * share.reshape(share.shape + (1,) * (direction.ndim - 2))
        return noise


def _apart(logits: Logits, target: Logits) -> Float[Tensor, ""]:
    return functional.kl_div(logits.float().log_softmax(1), target, reduction="batchmean", log_target=True)


class _PerturbedReading:
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
        self.clean: Logits = self._answers(self.vectors)

    def _answers(self, vectors: Float[Tensor, "batch token dim"]) -> Logits:
        logits: Tensor = self.model.from_vectors(vectors, self.ids, self.lengths)
        return logits

    def gradient(self, loss: Float[Tensor, ""]) -> Tensor:
        """Of the loss to `base`."""
        (towards,) = torch.autograd.grad(loss, self.vectors, retain_graph=True)
        if self.spelled is None:
            return towards
        return char_gradients(self.model.embedding, self.spelled, towards)

    def moved(self, noise: Tensor) -> Logits:
        """The answers with noise on the base."""
        if self.spelled is None:
            return self._answers(self.vectors + noise)
        words: CharWords = self.model.embedding
        signs = self.spelled.everywhere
        return self._answers(words.compose(words.embedding(signs) + noise, signs))
