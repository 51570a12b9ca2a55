"""Train a generative model of images: a Wasserstein GAN with gradient penalty and then its inverter, or a VAE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as f

from malaprop.core.errors import SettingError
from malaprop.papers.natural.models.networks import ImageShape, critic, generator, inverter
from malaprop.training.fit import fit
from malaprop.training.folder import TrainingFolder
from malaprop.training.schedule import ParameterGroup, Schedule, follow
from malaprop.training.seeds import seeded
from malaprop.training.task import Assessment, GradientLoss, Losses, Stage, TrainingStep, TrainingTask

Kind = Literal["wgan", "vae"]
KINDS: tuple[Kind, ...] = ("wgan", "vae")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """The networks' sizes and the training settings. `weight` is the lambda of equation 2, or a VAE's on divergence."""

    kind: Kind = "wgan"
    dim: int | None = None  # None: 64, or 128 for large images
    width: int = 64
    steps: int = 20_000  # of the generator, or of the VAE
    inverter_steps: int = 10_000
    critic_steps: int = 5
    batch: int = 64
    rate: float = 2e-4
    inverter_rate: float = 5e-4
    weight: float | None = None  # None: 0.1 for an inverter, 1 for a VAE
    average: float = 0.999  # how slowly the generator that is kept follows the one that learns; 0: it is that one
    minutes: float = 0.0  # ends each stage early after its share of this; 0: never. Such a run is not repeatable

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"a generative model of images is one of {', '.join(KINDS)}, got {self.kind!r}")
        counts = (self.width, self.steps, self.inverter_steps, self.critic_steps, self.batch)
        if min(counts) < 1 or (self.dim is not None and self.dim < 1):
            raise SettingError(f"sizes and numbers of steps must be at least 1, got {self}")
        if min(self.rate, self.inverter_rate) <= 0 or not 0 <= self.average < 1 or self.minutes < 0:
            raise SettingError(f"rates must be above 0 and average in [0, 1), got {self}")

    @property
    def divergence(self) -> float:
        return self.weight if self.weight is not None else 0.1 if self.kind == "wgan" else 1.0

    def plain(self) -> dict[str, Any]:
        return asdict(self)


PENALTY = 10.0  # Gulrajani et al. 2017


def critic_loss(
    critic: nn.Module,
    real: Float[Tensor, "batch channel side side"],
    made: Float[Tensor, "batch channel side side"],
    mix: Float[Tensor, "batch 1 1 1"],
    weight: float = PENALTY,
) -> tuple[Tensor, Tensor]:
    """Return equation 1 with the penalty on gradients between real and made images; also the estimated distance."""
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
    """Return equation 2: the reconstruction error of images, plus `weight` times that of latent points.

    Both distances are Euclidean, as printed, and averaged over the batch; the first is also given alone.
    """
    images = (generator(inverter(real)) - real).flatten(1).norm(dim=1).mean()
    with torch.no_grad():
        made = generator(z)
    points = (inverter(made) - z).norm(dim=1).mean()
    return images + weight * points, images.detach()


def vae_loss(
    generator: nn.Module,
    encoder: nn.Module,
    real: Float[Tensor, "batch channel side side"],
    noise: Float[Tensor, "batch dim"],
    weight: float,
) -> tuple[Tensor, Tensor]:
    """Return the evidence bound of an image with `weight` on its divergence; also the reconstruction's distance."""
    mean, spread = encoder(real).chunk(2, 1)
    made = generator(mean + noise * (0.5 * spread).exp())
    fit = f.binary_cross_entropy(made, real, reduction="sum") / len(real)
    divergence = 0.5 * (mean.square() + spread.exp() - 1 - spread).sum(1).mean()
    with torch.no_grad():
        apart = (made - real).flatten(1).norm(dim=1).mean()
    return fit + weight * divergence, apart


_BETAS = (0.5, 0.9)  # Gulrajani et al. 2017 for the strided networks
_CURVE = 200  # points of a learning curve
Glimpse = Callable[[str, int], None]  # the stage and the step
Curves = tuple[dict[str, Any], ...]  # the stage, the step and its figures


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImageDraws:
    """The random draws of one step, always in the same tensors: images, points, and mixing weights of two images."""

    places: Tensor
    noise: Tensor
    mix: Tensor

    @classmethod
    def make(cls, many: int, dim: int, device: torch.device) -> ImageDraws:
        places = torch.zeros(many, dtype=torch.int64, device=device)
        return cls(
            places=places, noise=torch.zeros(many, dim, device=device), mix=torch.zeros(many, 1, 1, 1, device=device)
        )

    def renew(self, rng: torch.Generator, images: int) -> None:
        self.places.random_(0, images, generator=rng)
        self.noise.normal_(generator=rng)
        self.mix.uniform_(generator=rng)


class ImageWork:
    """The networks of one training, and what one step of each stage does."""

    def __init__(
        self, plan: ImagePlan, shape: ImageShape, images: NDArray[np.float32], *, seed: int, device: str
    ) -> None:
        self.plan, self.shape, self.seed = plan, shape, seed
        self.device = torch.device(device)
        self.images = torch.from_numpy(images).to(self.device)
        with seeded(seed):
            self.nets: dict[str, nn.Module] = {"generator": generator(shape), "learner": generator(shape)}
            if plan.kind == "wgan":
                self.nets |= {"critic": critic(shape), "inverter": inverter(shape)}
            else:
                self.nets["inverter"] = inverter(shape, 2 * shape.dim)
        self.nets["generator"].load_state_dict(self.nets["learner"].state_dict())
        for net in self.nets.values():
            net.to(self.device)
        self.glimpse: Glimpse = lambda stage, step: None  # noqa: ARG005
        self._rng = torch.Generator(self.device)
        many = plan.critic_steps if plan.kind == "wgan" else 1
        self._draws = [ImageDraws.make(plan.batch, shape.dim, self.device) for _ in range(many)]
        self._noise = torch.zeros(plan.batch, shape.dim, device=self.device)  # of the generator's own step
        slow = Schedule(rate=plan.inverter_rate)
        if plan.kind == "vae":
            both = [*self.nets["learner"].parameters(), *self.nets["inverter"].parameters()]
            groups, stages = {"vae": ParameterGroup.of(slow, both)}, [("vae", plan.steps, self._vae)]
        else:
            gan = Schedule(rate=plan.rate, betas=_BETAS)
            groups = {name: ParameterGroup.of(gan, self.nets[name].parameters()) for name in ("critic", "learner")}
            groups["inverter"] = ParameterGroup.of(slow, self.nets["inverter"].parameters())
            stages = [("wgan", plan.steps, self._wgan), ("inverter", plan.inverter_steps, self._inverter)]
        total = sum(steps for _, steps, _ in stages)
        self.course = TrainingTask(
            stages=tuple(self._stage(number, *stage, total) for number, stage in enumerate(stages)),
            modules=self.nets,
            groups=groups,
        )

    def _stage(self, number: int, name: str, steps: int, step: Callable[[], Losses], total: int) -> Stage:
        """Make a stage with learning curves and a few sample sheets; the draws of a step depend on its number alone."""

        def draw(now: TrainingStep) -> None:
            self._rng.manual_seed((self.seed * 8 + number) * 100_000_000 + now.step)
            for draws in self._draws if name == "wgan" else self._draws[:1]:
                draws.renew(self._rng, len(self.images))
            self._noise.normal_(generator=self._rng)

        def after(now: TrainingStep) -> None:
            if name != "inverter":
                follow(self.nets["generator"], self.nets["learner"], self.plan.average, now.step)
            if (now.step + 1) % max(1, steps // 5) == 0:
                self.glimpse(name, now.step + 1)

        return Stage(
            losses=lambda _: step(),
            draw=draw,
            after=after,
            name=name,
            steps=steps,
            minutes=self.plan.minutes * steps / total or None,
            look=lambda _, sums: Assessment({figure: round(found.mean, 4) for figure, found in sums.items()}),
            every=max(1, steps // _CURVE),
            begin=self._prepare_inverter if name == "inverter" else lambda: None,
        )

    def _prepare_inverter(self) -> None:
        """Start the inverter from the features that the critic learnt."""
        seen = self.nets["critic"].get_submodule("0").state_dict()
        self.nets["inverter"].get_submodule("0").load_state_dict(seen)
        self.nets["generator"].eval()

    def _wgan(self) -> Losses:
        loss, distance = torch.zeros(()), torch.zeros(())
        for draws in self._draws:
            real = self.images[draws.places]
            with torch.no_grad():
                made = self.nets["learner"](draws.noise)
            loss, distance = critic_loss(self.nets["critic"], real, made, draws.mix)
            yield GradientLoss("critic", loss)
        made = self.nets["learner"](self._noise)
        yield GradientLoss("learner", generator_loss(self.nets["critic"], made))
        return {"critic": loss, "distance": distance}

    def _inverter(self) -> Losses:
        real, noise = self.images[self._draws[0].places], self._draws[0].noise
        weight = self.plan.divergence
        loss, apart = inverter_loss(self.nets["generator"], self.nets["inverter"], real, noise, weight)
        yield GradientLoss("inverter", loss)
        return {"inverter": loss, "reconstruction": apart}

    def _vae(self) -> Losses:
        real, noise = self.images[self._draws[0].places], self._draws[0].noise
        loss, apart = vae_loss(self.nets["learner"], self.nets["inverter"], real, noise, self.plan.divergence)
        yield GradientLoss("vae", loss)
        return {"vae": loss, "reconstruction": apart}


def train(
    work: ImageWork, unfinished: TrainingFolder | None = None, *, quiet: bool = True, glimpse: Glimpse | None = None
) -> tuple[Curves, float]:
    """Run the stages to their ends, or resume them; return learning curves and seconds.

    `glimpse` is called a few times a stage, for sheets of samples.
    """
    work.glimpse = glimpse or work.glimpse
    fitted = fit(work.course, unfinished=unfinished, quiet=quiet, title=f"training {work.plan.kind}")
    curves = tuple({name: value for name, value in look.items() if name != "seconds"} for look in fitted.looks)
    return curves, fitted.seconds
