"""The losses of a Wasserstein GAN with gradient penalty, and of the inverter trained on top of it."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

PENALTY = 10.0  # Gulrajani et al. 2017


def critic_loss(
    critic: nn.Module,
    real: Float[Tensor, "batch channel side side"],
    made: Float[Tensor, "batch channel side side"],
    mix: Float[Tensor, "batch 1 1 1"],
    weight: float = PENALTY,
) -> tuple[Tensor, Tensor]:
    """Equation 1 with the penalty on gradients between real and made images; also the estimated distance."""
    distance = critic(real).mean() - critic(made).mean()
    between = torch.lerp(made, real, mix).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (slope.flatten(1).norm(dim=1) - 1).square().mean()
    return weight * penalty - distance, distance.detach()


def generator_loss(critic: nn.Module, made: Float[Tensor, "batch channel side side"]) -> Tensor:
    loss: Tensor = -critic(made).mean()
    return loss


def inverter_loss(
    generator: nn.Module,
    inverter: nn.Module,
    real: Float[Tensor, "batch channel side side"],
    z: Float[Tensor, "batch dim"],
    weight: float,
) -> tuple[Tensor, Tensor]:
    """Equation 2: how far images come back from where they were sent, plus `weight` times the same for points.

    Both distances are Euclidean, as printed, and averaged over the batch; the first is also given alone.
    """
    images = (generator(inverter(real)) - real).flatten(1).norm(dim=1).mean()
    with torch.no_grad():
        made = generator(z)
    points = (inverter(made) - z).norm(dim=1).mean()
    return images + weight * points, images.detach()
