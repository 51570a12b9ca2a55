"""A variational autoencoder of sentences: the same networks as the ARAE's, another way of learning them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.papers.natural.models.arae import coder_pace, reconstruction
from malaprop.papers.natural.models.sentencenet import SentenceNet, mlp
from malaprop.training.schedule import ParameterGroup
from malaprop.training.task import GradientLoss, Losses


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
        self.modules: dict[str, nn.Module] = {"net": net, "spread": self.spread}
        every = [*net.parameters(), *self.spread.parameters()]
        self.learners = {"coder": ParameterGroup.of(coder_pace(how.rate), every)}

    def losses(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses:
        net, how = self.net, self.how
        code = net.encode(rows)
        mean, wide = net.invert(code), self.spread(code * net.shape.code**0.5).clamp(-12, 6)
        z = mean + torch.randn_like(mean) * (wide / 2).exp()
        words = reconstruction(net, net.out(z), rows, how.forget)
        apart = 0.5 * (mean.square() + wide.exp() - 1 - wide).sum(1).mean() / (rows != 0).sum(1).float().mean()
        yield GradientLoss("coder", words + how.beta * min(1.0, progress / how.rise) * apart)
        return {"words_through_z": words, "divergence": apart}
