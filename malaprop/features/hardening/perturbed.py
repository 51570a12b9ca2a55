"""Training on perturbed word vectors: Miyato et al. 2017, FreeLB++, smoothness by divergence (SMART), and flooding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.features.hardening.character_batches import Spelling, char_gradients, spelling
from malaprop.models.padded_rows import fill_empty_rows, within
from malaprop.training.splits import Splits
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks, cross_entropy

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


_PROBE = 0.1  # length of the first guess in the virtual kind, as a share of the noise


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

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean of the losses without and with noise, or their sum where the noise is virtual."""
        reading = PerturbedReading.of(model, batch)
        clean = functional.cross_entropy(reading.clean.float(), batch.labels)
        if self.virtual:
            return clean + self._virtual(reading)
        moved = reading.moved(reading.scale(reading.gradient(clean), self.size))
        return (clean + functional.cross_entropy(moved.float(), batch.labels)) / 2

    def _virtual(self, reading: PerturbedReading) -> Float[Tensor, ""]:
        """Return the KL divergence that the worst noise causes; one gradient finds its direction."""
        target = reading.clean.detach().float().log_softmax(1)
        guess = reading.scale(torch.randn_like(reading.base), self.size) * _PROBE
        guess.requires_grad_()
        (worst,) = torch.autograd.grad(measure_shift(reading.moved(guess), target), guess)
        return measure_shift(reading.moved(reading.scale(worst, self.size)), target)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeLb:
    """FreeLB++ (Li et al. 2021, after Zhu et al. 2020): several steps up the loss in the vectors, and one step down.

    The noise begins at random, `start` times as long as each word's vector, and goes `rate` times that length up the
    loss in each of `steps` steps; nothing bounds it, as the authors of FreeLB++ found best. The weights learn from the
    mean of the losses on the way. Differs: lengths are relative to each word's own vector, not absolute; at a rate of
    0.1 MiniLM learnt nothing (49% of MR right).
    """

    steps: int = 3
    rate: float = 0.02
    start: float = 0.01

    def __post_init__(self) -> None:
        if self.steps < 1 or self.rate <= 0 or self.start < 0:
            raise SettingError(
                f"freelb needs steps >= 1, rate > 0 and start >= 0, got {self.steps}, {self.rate} and {self.start}"
            )

    def __str__(self) -> str:
        return f"{self.steps} steps of ascent in the word vectors, {self.rate:g} of a word's norm each (FreeLB++)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean loss over the steps; all but the last run backward here, so that memory holds one step."""
        total = torch.zeros((), device=batch.labels.device)
        noise: Tensor | None = None
        for step in range(self.steps):
            reading = PerturbedReading.of(model, batch)
            if noise is None:
                noise = reading.scale(torch.empty_like(reading.base, dtype=torch.float32).uniform_(-1, 1), self.start)
            noise = noise.detach().requires_grad_()
            value = functional.cross_entropy(reading.moved(noise).float(), batch.labels) / self.steps
            if step == self.steps - 1:
                return total + value
            value.backward()  # type: ignore[no-untyped-call]
            total += value.detach()
            assert noise.grad is not None
            noise = noise.detach() + reading.scale(noise.grad, self.rate)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Smart:
    """Smoothness as in SMART (Jiang et al. 2020): answers may not move when vectors are moved where they move most.

    Added to the loss is `weight` times the divergence between the answers with and without noise, both ways; the noise
    is `size` times as long as each word's vector and its direction is found with `steps` gradients. Differs: there is
    no second part of SMART, which ties the weights of one step to those of the last.
    """

    size: float = 0.1
    weight: float = 1.0
    steps: int = 1

    def __post_init__(self) -> None:
        if self.steps < 1 or self.size <= 0 or self.weight <= 0:
            raise SettingError(
                f"smart needs steps >= 1, size > 0 and weight > 0, got {self.steps}, {self.size} and {self.weight}"
            )

    def __str__(self) -> str:
        return f"smooth answers within {self.size:g} of each word's norm, weight {self.weight:g} (SMART)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        reading = PerturbedReading.of(model, batch)
        clean = reading.clean.float()
        target = clean.detach().log_softmax(1)
        noise = reading.scale(torch.randn_like(reading.base, dtype=torch.float32), 0.1 * self.size)
        for _ in range(self.steps):
            noise.requires_grad_()
            (worst,) = torch.autograd.grad(measure_shift(reading.moved(noise), target), noise)
            noise = reading.scale(worst, self.size)
        moved = reading.moved(noise).float()
        apart = measure_shift(moved, clean.log_softmax(1)) + measure_shift(clean, moved.log_softmax(1))
        return functional.cross_entropy(clean, batch.labels) + self.weight * apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooding:
    """Flooding (Ishida et al. 2020; Flooding-X, Liu et al. 2022): the loss is kept from falling below a level.

    Below `level` the step goes up the loss, so that the model is not driven to be ever surer of the texts it has seen.
    Costs nothing. Differs: Flooding-X finds the level from the accordance of gradients; here it is a setting.
    """

    level: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.level < float("inf"):
            raise SettingError(f"flooding needs a level above 0, got {self.level}")

    def __str__(self) -> str:
        return f"flooding: the loss stays at {self.level:g} or above"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        return (cross_entropy(model, batch) - self.level).abs() + self.level
