"""Trains a generative model of images: phases of steps, each with its own randomness, so that a kill loses little."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.models.fitting.state import Unfinished
from malaprop.models.generative.imageplan import ImagePlan
from malaprop.models.generative.networks import Shape, critic, generator, inverter
from malaprop.models.generative.vae import vae_loss
from malaprop.models.generative.wgan import critic_loss, generator_loss, inverter_loss

_BETAS = (0.5, 0.9)  # Gulrajani et al. 2017 for the strided networks
_CURVE = 200  # points of a learning curve
Losses = dict[str, Tensor]
Step = Callable[[torch.Generator, int], Losses]
Curves = dict[str, list[tuple[int, float]]]


class ImageWork:
    """The networks and optimisers of one training, and what one step of each phase does."""

    def __init__(self, plan: ImagePlan, shape: Shape, images: NDArray[np.float32], *, seed: int, device: str) -> None:
        self.plan, self.shape, self.seed = plan, shape, seed
        self.device = torch.device(device)
        self.images = torch.from_numpy(images).to(self.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.nets: dict[str, nn.Module] = {"generator": generator(shape), "learner": generator(shape)}
            if plan.kind == "wgan":
                self.nets |= {"critic": critic(shape), "inverter": inverter(shape)}
            else:
                self.nets["inverter"] = inverter(shape, 2 * shape.dim)
        self.nets["generator"].load_state_dict(self.nets["learner"].state_dict())
        for net in self.nets.values():
            net.to(self.device)
        rates = {"critic": plan.rate, "inverter": plan.inverter_rate, "learner": plan.rate}
        if plan.kind == "vae":
            rates = dict.fromkeys(rates, plan.inverter_rate)
        betas = _BETAS if plan.kind == "wgan" else (0.9, 0.999)
        self.optimisers = {
            name: torch.optim.Adam(
                net.parameters(),
                lr=rates[name],
                betas=(0.9, 0.999) if name == "inverter" else betas,
                fused=self.device.type == "cuda",
            )
            for name, net in self.nets.items()
            if name in rates
        }

    def phases(self) -> dict[str, tuple[int, Step]]:
        """The phases in order: how many steps, and one step."""
        if self.plan.kind == "vae":
            return {"vae": (self.plan.steps, self._vae)}
        return {"wgan": (self.plan.steps, self._wgan), "inverter": (self.plan.inverter_steps, self._inverter)}

    def prepare(self, phase: str) -> None:
        """What happens once before a phase: the inverter begins from what the critic learned to see."""
        if phase == "inverter":
            seen = self.nets["critic"].get_submodule("0").state_dict()
            self.nets["inverter"].get_submodule("0").load_state_dict(seen)
            self.nets["generator"].eval()

    def _wgan(self, rng: torch.Generator, at: int) -> Losses:
        loss, distance = torch.zeros(()), torch.zeros(())
        for _ in range(self.plan.critic_steps):
            real = self._batch(rng)
            with torch.no_grad():
                made = self.nets["learner"](self._noise(rng, len(real)))
            mix = torch.rand((len(real), 1, 1, 1), generator=rng, device=self.device)
            loss, distance = critic_loss(self.nets["critic"], real, made, mix)
            self._descend("critic", loss)
        made = self.nets["learner"](self._noise(rng, self.plan.batch))
        self._descend("learner", generator_loss(self.nets["critic"], made))
        self._follow(at)
        return {"critic": loss.detach(), "distance": distance}

    def _inverter(self, rng: torch.Generator, _: int) -> Losses:
        real = self._batch(rng)
        noise = self._noise(rng, len(real))
        weight = self.plan.divergence
        loss, apart = inverter_loss(self.nets["generator"], self.nets["inverter"], real, noise, weight)
        self._descend("inverter", loss)
        return {"inverter": loss.detach(), "reconstruction": apart}

    def _vae(self, rng: torch.Generator, at: int) -> Losses:
        real = self._batch(rng)
        noise = self._noise(rng, len(real))
        loss, apart = vae_loss(self.nets["learner"], self.nets["inverter"], real, noise, self.plan.divergence)
        self._descend("learner", loss, "inverter")
        self._follow(at)
        return {"vae": loss.detach(), "reconstruction": apart}

    def _descend(self, name: str, loss: Tensor, *others: str) -> None:
        names = (name, *others)
        for one in names:
            self.optimisers[one].zero_grad(set_to_none=True)
        inputs = [p for one in names for p in self.nets[one].parameters()]
        loss.backward(inputs=inputs)  # type: ignore[no-untyped-call]
        for one in names:
            self.optimisers[one].step()

    @torch.no_grad()
    def _follow(self, at: int) -> None:
        """The generator that is kept is a slow average of the one that learns, less slow at first."""
        share = 1 - min(self.plan.average, (1 + at) / (10 + at))
        kept, fresh = self.nets["generator"].state_dict(), self.nets["learner"].state_dict()
        floats = [name for name in kept if kept[name].is_floating_point()]
        torch._foreach_lerp_([kept[n] for n in floats], [fresh[n] for n in floats], share)

    def _batch(self, rng: torch.Generator) -> Tensor:
        size = (self.plan.batch,)
        places = torch.randint(len(self.images), size, generator=rng, device=self.device)
        return self.images[places]

    def _noise(self, rng: torch.Generator, many: int) -> Tensor:
        return torch.randn((many, self.shape.dim), generator=rng, device=self.device)

    def state(self) -> dict[str, Tensor]:
        """Weights and optimisers under names that a file can have."""
        out = {f"now|{name}|{k}": t for name, net in self.nets.items() for k, t in net.state_dict().items()}
        for name, optimiser in self.optimisers.items():
            for place, held in optimiser.state_dict()["state"].items():
                out |= {f"step|{name}|{place}|{k}": t for k, t in held.items()}
        return out

    def fill(self, tensors: dict[str, Tensor]) -> None:
        for name, net in self.nets.items():
            start = f"now|{name}|"
            net.load_state_dict({k.removeprefix(start): t for k, t in tensors.items() if k.startswith(start)})
        for name, optimiser in self.optimisers.items():
            held: dict[int, dict[str, Tensor]] = {}
            for key, tensor in tensors.items():
                kind, owner, *rest = key.split("|")
                if (kind, owner) == ("step", name):
                    held.setdefault(int(rest[0]), {})[rest[1]] = tensor
            optimiser.load_state_dict({**optimiser.state_dict(), "state": held})


@dataclass(slots=True, kw_only=True)
class _Course:
    """Where a training stands."""

    phase: str = ""
    step: int = 0
    curves: Curves = field(default_factory=dict)

    def notes(self) -> dict[str, Any]:
        return {"phase": self.phase, "step": self.step, "curves": self.curves}


def train(
    work: ImageWork,
    unfinished: Unfinished | None = None,
    *,
    quiet: bool = True,
    glimpse: Callable[[str, int], None] = lambda phase, step: None,  # noqa: ARG005
) -> tuple[Curves, float]:
    """Runs the phases to their ends, from where a killed training stood; gives learning curves and seconds.

    `glimpse` is called a few times a phase, for sheets of samples.
    """
    began, course = time.monotonic(), _Course()

    def state() -> tuple[dict[str, Tensor], dict[str, Any]]:
        return work.state(), course.notes()

    def fill(tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        work.fill(tensors)
        course.phase, course.step = str(notes["phase"]), int(notes["step"])
        course.curves = {k: [(int(a), float(b)) for a, b in v] for k, v in notes["curves"].items()}

    before = unfinished.restore(state, fill) if unfinished else 0.0
    phases = work.phases()
    skipped = list(phases).index(course.phase) if course.phase else 0
    total = sum(steps for steps, _ in phases.values())
    for number, (phase, (steps, step)) in enumerate(phases.items()):
        if number < skipped:
            continue
        if course.phase != phase:
            course.phase, course.step = phase, 0
            work.prepare(phase)
        share = 60 * work.plan.minutes * steps / total if work.plan.minutes else math.inf
        _phase(work, course, step, steps, number, share, unfinished, began - before, glimpse, quiet)
    return course.curves, before + time.monotonic() - began


def _phase(
    work: ImageWork,
    course: _Course,
    step: Step,
    steps: int,
    number: int,
    seconds: float,
    unfinished: Unfinished | None,
    began: float,
    glimpse: Callable[[str, int], None],
    quiet: bool,
) -> None:
    rng = torch.Generator(work.device)
    every, look = max(1, steps // _CURVE), max(1, steps // 5)
    started = time.monotonic()
    with _bar(course.phase, steps, quiet) as advance:
        for at in range(course.step, steps):
            rng.manual_seed((work.seed * 8 + number) * 100_000_000 + at)  # no state to keep: a step has its own numbers
            losses = step(rng, at)
            course.step = at + 1
            if at % every == 0 or at + 1 == steps:
                _note(course, losses)
            if (at + 1) % look == 0:
                glimpse(course.phase, at + 1)
            if unfinished:
                unfinished.maybe(lambda: (work.state(), course.notes()), time.monotonic() - began)
            advance(at + 1)
            if time.monotonic() - started > seconds:
                return


def _note(course: _Course, losses: Losses) -> None:
    for name, value in losses.items():
        number = float(value)
        if not math.isfinite(number):
            raise VictimError(f"training broke down at step {course.step} of {course.phase}; try a smaller rate")
        course.curves.setdefault(f"{course.phase} {name}", []).append((course.step, round(number, 4)))


@contextmanager
def _bar(title: str, steps: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda at: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=steps)
        yield lambda at: progress.update(task, completed=at)
