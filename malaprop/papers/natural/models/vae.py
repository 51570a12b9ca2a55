"""The loss of a variational autoencoder, which stands in for the GAN and its inverter."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as f


def vae_loss(
    generator: nn.Module,
    encoder: nn.Module,
    real: Float[Tensor, "batch channel side side"],
    noise: Float[Tensor, "batch dim"],
    weight: float,
) -> tuple[Tensor, Tensor]:
    """The evidence bound an image with `weight` on its divergence term; also the distance of the reconstruction."""
    mean, spread = encoder(real).chunk(2, 1)
    made = generator(mean + noise * (0.5 * spread).exp())
    fit = f.binary_cross_entropy(made, real, reduction="sum") / len(real)
    divergence = 0.5 * (mean.square() + spread.exp() - 1 - spread).sum(1).mean()
    with torch.no_grad():
        apart = (made - real).flatten(1).norm(dim=1).mean()
    return fit + weight * divergence, apart
