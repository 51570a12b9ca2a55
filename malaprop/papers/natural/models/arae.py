"""Train sentence models: an ARAE (an autoencoder whose codes a generator imitates) with an inverter, or a VAE."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.models.tokens.vocab import PAD
from malaprop.papers.natural.models.sentencenet import SentenceNet, mlp
from malaprop.training.schedule import ParameterGroup, Schedule, decay_to
from malaprop.training.task import GradientLoss, Losses


@dataclass(frozen=True, slots=True, kw_only=True)
class TextVae:
    """How a VAE of sentences learns; `beta` weighs the divergence from the normal distribution against the words' loss.

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
    """The losses of a VAE's training step: the inverter gives the mean of a sentence's points, `spread` their width.

    The network `spread` is used in training alone.
    """

    def __init__(self, net: SentenceNet, how: TextVae) -> None:
        self.net, self.how = net, how
        device = net.bias.device
        shape = net.shape
        self.spread = mlp(shape.code, shape.code, shape.latent).to(device)
        self.modules: dict[str, nn.Module] = {"net": net, "spread": self.spread}
        every = [*net.parameters(), *self.spread.parameters()]
        self.groups = {"coder": ParameterGroup.of(coder_pace(how.rate), every)}

    def losses(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses:
        net, how = self.net, self.how
        code = net.encode(rows)
        mean, wide = net.invert(code), self.spread(code * net.shape.code**0.5).clamp(-12, 6)
        z = mean + torch.randn_like(mean) * (wide / 2).exp()
        words = reconstruction(net, net.out(z), rows, how.forget)
        apart = 0.5 * (mean.square() + wide.exp() - 1 - wide).sum(1).mean() / (rows != 0).sum(1).float().mean()
        yield GradientLoss("coder", words + how.beta * min(1.0, progress / how.rise) * apart)
        return {"words_through_z": words, "divergence": apart}


def coder_pace(rate: float) -> Schedule:
    """Return the schedule of the autoencoder, which ends at a twentieth of the rate."""
    return Schedule(rate=rate, slope=decay_to(0.05, warmup=0.05), clip=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arae:
    """How an ARAE learns (Zhao et al. 2018, equations 4 to 7).

    The critic is held smooth by a gradient penalty. `pull` is the reader's rate under the critic, as a share of
    `gan_rate`: a share of its gradient would do nothing, as Adam takes steps of one size whatever the gradient's.
    `weight` is lambda; the Jensen-Shannon divergence between z and I(G(z)) is estimated by a small discriminator. The
    inverter learns alone in the last share `alone` of the work, as printed. Differs: before that, `cycle` has generator
    and inverter learn to bring codes back through z from the start, and `pair` to bring z back through codes. `plain`
    sets both to 0, which is the printed training.
    """

    rate: float = 1e-3
    gan_rate: float = 2e-4
    critic: int = 5  # steps of the critic for one of the generator
    penalty: float = 10.0
    noise: float = 0.02  # standard deviation in each direction of a code of length 1
    forget: float = 0.3  # share of the words before that the writer is not shown
    pull: float = 0.01
    weight: float = 1.0
    cycle: float = 1.0
    pair: float = 1.0
    alone: float = 0.2
    plain: bool = False

    def __post_init__(self) -> None:
        if self.plain:
            object.__setattr__(self, "cycle", 0.0)
            object.__setattr__(self, "pair", 0.0)
        if min(self.rate, self.gan_rate) <= 0 or self.critic < 1 or not 0 <= self.alone < 1:
            raise SettingError(f"rates and critic must be above 0 and alone in [0, 1), got {self}")
        if min(self.noise, self.forget, self.pull, self.weight, self.cycle, self.pair, self.penalty) < 0:
            raise SettingError(f"noise, forget, pull, weight, cycle, pair and penalty must be 0 or more, got {self}")

    def work(self, net: SentenceNet) -> AraeWork:
        return AraeWork(net, self)


def reconstruction(
    net: SentenceNet, code: Float[Tensor, "batch code"], rows: Int[Tensor, "batch slot"], forget: float
) -> Float[Tensor, ""]:
    """Return the mean loss for each word of writing `rows` from their codes."""
    logits = net.logits(code, rows, forget)
    return functional.cross_entropy(logits.flatten(0, 1), rows.flatten(), ignore_index=PAD)


class AraeWork:
    """The losses of an ARAE's training step: autoencoder, critic, generator; at the end the inverter alone."""

    def __init__(self, net: SentenceNet, how: Arae) -> None:
        self.net, self.how = net, how
        shape = net.shape
        device = net.bias.device
        self.judges = nn.ModuleDict(
            {
                "critic": mlp(shape.code, shape.code, shape.code, 1),
                "discriminator": mlp(shape.latent, shape.latent, shape.latent, 1),
            }
        ).to(device)
        self.modules: dict[str, nn.Module] = {"net": net, "judges": self.judges}
        coder = [net.words.weight, net.bias, *net.reader.parameters(), *net.writer.parameters()]
        bridge = [*net.generator.parameters(), *net.inverter.parameters()]
        slow = Schedule(rate=how.rate, clip=1.0)
        gan = Schedule(rate=how.gan_rate, betas=(0.5, 0.9), clip=1.0)
        self.groups = {
            "coder": ParameterGroup.of(coder_pace(how.rate), [*coder, *bridge]),
            "critic": ParameterGroup.of(gan, self.judges["critic"].parameters()),
            "generator": ParameterGroup.of(gan, net.generator.parameters()),
            "inverter": ParameterGroup.of(slow, net.inverter.parameters()),
            "discriminator": ParameterGroup.of(gan, self.judges["discriminator"].parameters()),
        }
        if how.pull:
            self.groups["reader"] = ParameterGroup.of(
                replace(gan, rate=how.pull * how.gan_rate), net.reader.parameters()
            )

    def losses(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses:
        if progress >= 1 - self.how.alone:
            return (yield from self._invert(rows))
        figures = yield from self._autoencode(rows)
        with torch.no_grad():
            code = self.net.encode(rows)
        for _ in range(self.how.critic):
            figures = {**figures, **(yield from self._criticise(code))}
        yield from self._generate(rows)
        return figures

    def _z(self, like: Tensor) -> Float[Tensor, "batch latent"]:
        return torch.randn(len(like), self.net.shape.latent, device=like.device)

    def _autoencode(self, rows: Int[Tensor, "batch slot"]) -> Losses:
        """Compute the autoencoder's loss (equation 4), and those of the dense space if it is learnt from the start."""
        net, how = self.net, self.how
        code = net.encode(rows)
        losses = {"words": reconstruction(net, _noisy(code, how.noise), rows, how.forget)}
        if how.cycle:
            back = net.out(net.invert(code))
            losses["words_through_z"] = reconstruction(net, back, rows, how.forget)
            losses["codes"] = (back - code.detach()).square().sum(1).mean()  # codes would flee to one place
        if how.pair:
            z = self._z(rows)
            losses["points"] = (net.invert(net.out(z).detach()) - z).square().mean()
        total = losses["words"] + how.cycle * (losses.get("words_through_z", 0) + losses.get("codes", 0))
        yield GradientLoss("coder", total + how.pair * losses.get("points", 0))
        return losses

    def _criticise(self, real: Float[Tensor, "batch code"]) -> Losses:
        """Compute the critic's loss (equation 5) with a gradient penalty."""
        with torch.no_grad():
            fake = self.net.out(self._z(real))
        critic = self.judges["critic"]
        gap = critic(real).mean() - critic(fake).mean()
        share = torch.rand(len(real), 1, device=real.device)
        between = (share * real + (1 - share) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        yield GradientLoss("critic", -gap + self.how.penalty * (slope.norm(dim=1) - 1).square().mean())
        return {"distance": gap}

    def _generate(self, rows: Int[Tensor, "batch slot"]) -> Iterator[GradientLoss]:
        """Yield the losses of generator and reader (equation 6), which bring real and generated codes together."""
        critic, z = self.judges["critic"], self._z(rows)
        if self.how.pull:
            yield GradientLoss("reader", critic(self.net.encode(rows)).mean())
        yield GradientLoss("generator", -critic(self.net.out(z)).mean())

    def _invert(self, rows: Int[Tensor, "batch slot"]) -> Losses:
        """Compute the inverter's loss (equation 7); all other networks stay unchanged."""
        net, judge = self.net, self.judges["discriminator"]
        with torch.no_grad():
            code, z = net.encode(rows), self._z(rows)
            made = net.out(z)
        found = net.invert(made)
        real, fake = judge(z), judge(found.detach())
        split = functional.softplus(-real).mean() + functional.softplus(fake).mean()
        yield GradientLoss("discriminator", split)
        gap = (net.out(net.invert(code)) - code).norm(dim=1).mean()
        total = gap + self.how.weight * functional.softplus(-judge(found)).mean()
        if self.how.pair:
            total = total + self.how.pair * (found - z).square().mean()
        yield GradientLoss("inverter", total)
        return {"codes": gap, "divergence": math.log(2) - split / 2}


def _noisy(code: Float[Tensor, "batch code"], amount: float) -> Float[Tensor, "batch code"]:
    return functional.normalize(code + amount * torch.randn_like(code), dim=1) if amount else code
