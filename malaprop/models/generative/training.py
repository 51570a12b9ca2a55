"""How a generative model of images is trained: a WGAN and then its inverter, or a VAE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.models.fitting.average import follow
from malaprop.models.fitting.course import Assessment, Course, Descent, Losses, Now, Phase
from malaprop.models.fitting.fit import fit
from malaprop.models.fitting.pace import Learner, Pace
from malaprop.models.fitting.seeds import seeded
from malaprop.models.fitting.state import Unfinished
from malaprop.models.generative.imageplan import ImagePlan
from malaprop.models.generative.networks import ImageShape, critic, generator, inverter
from malaprop.models.generative.vae import vae_loss
from malaprop.models.generative.wgan import critic_loss, generator_loss, inverter_loss

_BETAS = (0.5, 0.9)  # Gulrajani et al. 2017 for the strided networks
_CURVE = 200  # points of a learning curve
Glimpse = Callable[[str, int], None]  # the phase and the step
Curves = tuple[dict[str, Any], ...]  # the phase, the step and its figures


class ImageWork:
    """The networks of one training, and what one step of each phase does."""

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
        self.glimpse: Glimpse = lambda phase, step: None  # noqa: ARG005
        self._rng = torch.Generator(self.device)
        slow = Pace(rate=plan.inverter_rate)
        if plan.kind == "vae":
            both = [*self.nets["learner"].parameters(), *self.nets["inverter"].parameters()]
            learners, phases = {"vae": Learner.of(slow, both)}, [("vae", plan.steps, self._vae)]
        else:
            gan = Pace(rate=plan.rate, betas=_BETAS)
            learners = {name: Learner.of(gan, self.nets[name].parameters()) for name in ("critic", "learner")}
            learners["inverter"] = Learner.of(slow, self.nets["inverter"].parameters())
            phases = [("wgan", plan.steps, self._wgan), ("inverter", plan.inverter_steps, self._inverter)]
        total = sum(steps for _, steps, _ in phases)
        self.course = Course(
            phases=tuple(self._phase(number, *phase, total) for number, phase in enumerate(phases)),
            modules=self.nets,
            learners=learners,
        )

    def _phase(self, number: int, name: str, steps: int, step: Callable[[int], Losses], total: int) -> Phase:
        """A phase with learning curves and a few glimpses; what a step draws is known from its number."""

        def losses(now: Now) -> Losses:
            self._rng.manual_seed((self.seed * 8 + number) * 100_000_000 + now.step)
            figures = yield from step(now.step)
            if (now.step + 1) % max(1, steps // 5) == 0:
                self.glimpse(name, now.step + 1)
            return figures

        return Phase(
            losses=losses,
            name=name,
            steps=steps,
            minutes=self.plan.minutes * steps / total or None,
            look=lambda _, sums: Assessment({figure: round(found.mean, 4) for figure, found in sums.items()}),
            every=max(1, steps // _CURVE),
            begin=self._prepare_inverter if name == "inverter" else lambda: None,
        )

    def _prepare_inverter(self) -> None:
        """The inverter begins from what the critic learned to see."""
        seen = self.nets["critic"].get_submodule("0").state_dict()
        self.nets["inverter"].get_submodule("0").load_state_dict(seen)
        self.nets["generator"].eval()

    def _wgan(self, at: int) -> Losses:
        loss, distance = torch.zeros(()), torch.zeros(())
        for _ in range(self.plan.critic_steps):
            real = self._batch()
            with torch.no_grad():
                made = self.nets["learner"](self._noise(len(real)))
            mix = torch.rand((len(real), 1, 1, 1), generator=self._rng, device=self.device)
            loss, distance = critic_loss(self.nets["critic"], real, made, mix)
            yield Descent("critic", loss)
        made = self.nets["learner"](self._noise(self.plan.batch))
        yield Descent("learner", generator_loss(self.nets["critic"], made))
        follow(self.nets["generator"], self.nets["learner"], self.plan.average, at)
        return {"critic": loss, "distance": distance}

    def _inverter(self, at: int) -> Losses:  # noqa: ARG002
        real = self._batch()
        noise = self._noise(len(real))
        weight = self.plan.divergence
        loss, apart = inverter_loss(self.nets["generator"], self.nets["inverter"], real, noise, weight)
        yield Descent("inverter", loss)
        return {"inverter": loss, "reconstruction": apart}

    def _vae(self, at: int) -> Losses:
        real = self._batch()
        noise = self._noise(len(real))
        loss, apart = vae_loss(self.nets["learner"], self.nets["inverter"], real, noise, self.plan.divergence)
        yield Descent("vae", loss)
        follow(self.nets["generator"], self.nets["learner"], self.plan.average, at)
        return {"vae": loss, "reconstruction": apart}

    def _batch(self) -> Tensor:
        size = (self.plan.batch,)
        places = torch.randint(len(self.images), size, generator=self._rng, device=self.device)
        return self.images[places]

    def _noise(self, many: int) -> Tensor:
        return torch.randn((many, self.shape.dim), generator=self._rng, device=self.device)


def train(
    work: ImageWork, unfinished: Unfinished | None = None, *, quiet: bool = True, glimpse: Glimpse | None = None
) -> tuple[Curves, float]:
    """Runs the phases to their ends, from where a killed training stood; gives learning curves and seconds.

    `glimpse` is called a few times a phase, for sheets of samples.
    """
    work.glimpse = glimpse or work.glimpse
    fitted = fit(work.course, unfinished=unfinished, quiet=quiet, title=f"training {work.plan.kind}")
    curves = tuple({name: value for name, value in look.items() if name != "seconds"} for look in fitted.looks)
    return curves, fitted.seconds
