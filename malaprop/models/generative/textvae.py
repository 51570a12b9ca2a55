"""A variational autoencoder of sentences: the same networks as the ARAE's, another way of learning them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.models.generative.arae import Losses, reconstruction
from malaprop.models.generative.sentencenet import SentenceNet, mlp


@dataclass(frozen=True, slots=True, kw_only=True)
class TextVae:
    """`beta` weighs the divergence from the normal distribution against the loss of a sentence's words.

    It rises from 0 over the first share `rise` of the work. A `beta` far under 1 keeps what the writer needs.
    """

    rate: float = 1e-3
    beta: float = 0.1
    rise: float = 0.5
    forget: float = 0.3

    def __post_init__(self) -> None:
        if self.rate <= 0 or min(self.beta, self.forget) < 0 or not 0 < self.rise <= 1:
            raise SettingError(f"rate must be above 0, beta and forget 0 or more and rise in (0, 1], got {self}")

    def work(self, net: SentenceNet) -> TextVaeWork:
        return TextVaeWork(net, self)


class TextVaeWork:
    """The inverter gives the mean of a sentence's points, a network of the training alone their spread."""

    def __init__(self, net: SentenceNet, how: TextVae) -> None:
        self.net, self.how = net, how
        device = net.bias.device
        shape = net.shape
        self.spread = mlp(shape.code, shape.code, shape.latent).to(device)
        every = [*net.parameters(), *self.spread.parameters()]
        self.optimisers: dict[str, torch.optim.Optimizer] = {
            "coder": torch.optim.AdamW(every, lr=how.rate, weight_decay=0.0, fused=device.type == "cuda")
        }

    def step(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses:
        net, how = self.net, self.how
        code = net.encode(rows)
        mean, wide = net.invert(code), self.spread(code * net.shape.code**0.5).clamp(-12, 6)
        z = mean + torch.randn_like(mean) * (wide / 2).exp()
        words = reconstruction(net, net.out(z), rows, how.forget)
        apart = 0.5 * (mean.square() + wide.exp() - 1 - wide).sum(1).mean() / (rows != 0).sum(1).float().mean()
        total = words + how.beta * min(1.0, progress / how.rise) * apart
        optimiser = self.optimisers["coder"]
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], 1.0)
        optimiser.step()
        return {"words_through_z": words, "divergence": apart}

    def parts(self) -> Mapping[str, nn.Module]:
        return {"net": self.net, "spread": self.spread}
