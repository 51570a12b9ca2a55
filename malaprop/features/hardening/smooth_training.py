"""Training that smooths a model around each text: FreeLB++, smoothness by divergence (SMART), flooding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.features.hardening.perturbed import PerturbedReading, measure_shift
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks, cross_entropy


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
                f"freelb wants steps >= 1, rate > 0 and start >= 0, got {self.steps}, {self.rate} and {self.start}"
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
                f"smart wants steps >= 1, size > 0 and weight > 0, got {self.steps}, {self.size} and {self.weight}"
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
            raise SettingError(f"flooding wants a level above 0, got {self.level}")

    def __str__(self) -> str:
        return f"flooding: the loss stays at {self.level:g} or above"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        return (cross_entropy(model, batch) - self.level).abs() + self.level
