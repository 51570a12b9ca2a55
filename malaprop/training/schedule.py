"""How parameters learn: rate, warm-up, decay, clipping, the optimizer's steps, and running means of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from malaprop.training.task import TrainingStep

Slope = Callable[["TrainingStep"], float]  # the share of the rate that holds at a step
Named = Iterable[tuple[str, Tensor]]


def steady(now: TrainingStep) -> float:  # noqa: ARG001
    return 1.0


def warm_up_and_decay(warmup: float) -> Slope:
    """Raise the rate linearly over the share `warmup` of the steps, then lower it linearly to 0."""

    def slope(now: TrainingStep) -> float:
        steps = now.stage.steps
        assert steps is not None, "a rate that follows the steps needs their number"
        rise = max(1, round(steps * warmup))
        if now.step < rise:
            return (now.step + 1) / rise
        return max(0.0, (steps - now.step) / max(1, steps - rise))

    return slope


def follow_budget(warmup: float) -> Slope:
    """Return a slope like `warm_up_and_decay`, by the share of steps or minutes that is spent."""

    def slope(now: TrainingStep) -> float:
        rise = min(1.0, (now.progress + 1e-3) / warmup) if warmup else 1.0
        return min(rise, max(0.0, (1 - now.progress) / (1 - warmup)))

    return slope


def decay_to(floor: float, warmup: float) -> Slope:
    """Warm up over the share `warmup` of the budget while the rate falls linearly to the share `floor` of itself."""
    return lambda now: min(1.0, (now.progress + 1e-3) / warmup) * max(floor, 1 - now.progress)


def inverse_root(warmup: int) -> Slope:
    """Warm up linearly over `warmup` steps, then fall as one over the square root of the step."""
    rise = max(1, warmup)
    return lambda now: min((now.step + 1) / rise, math.sqrt(rise / (now.step + 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """AdamW's settings; `clip` bounds the norm of all gradients together, None leaves them."""

    rate: float
    slope: Slope = steady
    decay: float = 0.0
    clip: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.decay < 0 or (self.clip is not None and self.clip <= 0):
            raise SettingError(f"rate and clip must be above 0, got {self.rate} and {self.clip}")


class ParameterGroup:
    """Parameters that one optimizer trains by one schedule.

    `rates` gives parameters whose name begins so their own share of the rate; 0 leaves them as they are. `decays` says
    which of them decay.
    """

    def __init__(
        self,
        schedule: Schedule,
        named: Named,
        *,
        rates: tuple[tuple[str, float], ...] = (),
        decays: Callable[[str, Tensor], bool] = lambda name, parameter: True,  # noqa: ARG005
    ) -> None:
        self.schedule = schedule
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, parameter in named:
            share = next((share for prefix, share in rates if name.startswith(prefix)), 1.0)
            parameter.requires_grad_(share > 0 and parameter.requires_grad)
            if parameter.requires_grad:
                key = (schedule.rate * share, schedule.decay if decays(name, parameter) else 0.0)
                groups.setdefault(key, []).append(parameter)
        self.parameters = [parameter for parameters in groups.values() for parameter in parameters]
        on_gpu = self.parameters[0].device.type == "cuda"
        self._optimiser = torch.optim.AdamW(
            [{"params": ps, "own": rate, "lr": rate, "weight_decay": decay} for (rate, decay), ps in groups.items()],
            lr=schedule.rate,
            betas=schedule.betas,
            eps=schedule.eps,
            fused=on_gpu,
            capturable=on_gpu,  # its steps may be part of a graph
        )
        self._optimiser.zero_grad(set_to_none=True)

    @classmethod
    def of(cls, schedule: Schedule, parameters: Iterable[Tensor]) -> ParameterGroup:
        """Wrap parameters that need no names."""
        return cls(schedule, (("", parameter) for parameter in parameters))

    def descend(
        self, loss: Tensor, now: TrainingStep, *, alone: bool, graded: Callable[[], None] | None = None
    ) -> None:
        """Take one step down a loss, adding to gradients that are there: a part of a loss may come before.

        Beside other groups (not `alone`) only its own parameters get gradients.
        """
        loss.backward(inputs=None if alone else [p for p in self.parameters if p.requires_grad])  # type: ignore[no-untyped-call]
        if graded:
            graded()
        if self.schedule.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.schedule.clip)
        slope = self.schedule.slope(now)
        for group in self._optimiser.param_groups:
            group["lr"] = group["own"] * slope
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        held = self._optimiser.state_dict()["state"]
        return {f"{place}|{key}": value for place, values in held.items() for key, value in values.items()}

    def fill(self, tensors: dict[str, Tensor]) -> None:
        held: dict[int, dict[str, Any]] = {}
        for label, tensor in tensors.items():
            place, _, key = label.partition("|")
            held.setdefault(int(place), {})[key] = tensor
        self._optimiser.load_state_dict({**self._optimiser.state_dict(), "state": held})


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, average: float, step: int) -> None:
    """Move slow weights towards fast ones; they keep the share `average` of themselves, less in the first steps."""
    share = 1 - min(average, (1 + step) / (10 + step))
    torch._foreach_lerp_(_floats(slow), _floats(fast), share)


def _floats(net: nn.Module) -> list[Tensor]:
    return [t for t in chain(net.parameters(), net.buffers()) if t.is_floating_point()]
