"""Miyato et al. 2017: training on vectors moved a little in the direction that hurts most."""

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
from malaprop.zoo.training import Batch, Hooks

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
