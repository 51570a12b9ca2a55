"""The one loop that pre-trains: packed rows, a rising then falling rate, a budget of steps or minutes, exact resume."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.models.fitting.seeds import seeded
from malaprop.models.pretrain.state import States

_LOOK = 20  # steps between two looks at the loss; each look waits for the device


class Task(Protocol):
    """A model and the rows it learns from."""

    @property
    def model(self) -> nn.Module: ...

    @property
    def rows(self) -> int: ...

    @property
    def rates(self) -> tuple[tuple[str, float], ...]:
        """Parameters whose name begins so have this share of the rate."""

    def at(self, progress: float) -> None:
        """Hears how much of the budget is spent, from 0 to 1, before each step."""

    def loss(self, rows: Ints) -> Float[Tensor, ""]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The work ends when either is spent. Only a budget of steps alone gives the same weights every time."""

    steps: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise SettingError("pre-training needs a budget: steps or minutes")
        if (self.steps is not None and self.steps < 1) or (self.minutes is not None and self.minutes <= 0):
            raise SettingError(f"steps and minutes must be above 0, got {self.steps} and {self.minutes}")

    def spent(self, step: int, seconds: float) -> float:
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_steps, seconds / (60 * self.minutes) if self.minutes else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`batch` counts rows; the rate rises over the share `warmup` of the budget, then falls to nothing in a line."""

    batch: int
    rate: float
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    every: int = 500  # steps between two states on disk

    def __post_init__(self) -> None:
        if min(self.batch, self.every) < 1 or min(self.rate, self.clip) <= 0 or not 0 <= self.warmup < 1:
            raise SettingError(
                f"batch, every, rate and clip must be above 0 and warmup below 1, got {self.batch}, {self.every}, "
                f"{self.rate}, {self.clip} and {self.warmup}"
            )

    @classmethod
    def of(cls, plan: Any) -> Pace:
        """The pace among the settings of a kind, all of which have these names."""
        return cls(**{field.name: getattr(plan, field.name) for field in fields(cls)})

    def slope(self, progress: float) -> float:
        rise = min(1.0, (progress + 1e-3) / self.warmup) if self.warmup else 1.0
        return min(rise, max(0.0, (1 - progress) / (1 - self.warmup)))


class Course(NamedTuple):
    """`trained` counts the rows read, in all its parts where the work was interrupted; so do the seconds."""

    steps: int
    seconds: float
    trained: int


def run(task: Task, pace: Pace, budget: Budget, states: States, *, seed: int, quiet: bool, title: str) -> Course:
    """Trains in place. On a CPU a run that was killed and goes on ends with the very weights of one that was not."""
    model = task.model
    device = next(model.parameters()).device
    gpu = device.type == "cuda"
    optimiser = torch.optim.AdamW(_groups(task, pace), lr=pace.rate, betas=(0.9, 0.98), eps=1e-6, fused=gpu)
    step, before = states.restore(model, optimiser)
    first, began = step, time.perf_counter()
    order = _Order(task.rows, min(pace.batch, task.rows), seed)
    model.train()
    with seeded(seed), progress_bar(title, quiet) as show:
        while True:
            seconds = before + time.perf_counter() - began
            progress = budget.spent(step, seconds)
            if progress >= 1 and step:
                break
            torch.manual_seed(int(generator(seed, "step", str(step)).integers(1 << 62)))
            task.at(progress)
            for group in optimiser.param_groups:
                group["lr"] = group["own"] * pace.slope(progress)
            with torch.autocast(device.type, torch.bfloat16, enabled=gpu):
                loss = task.loss(order.rows_of(step))
            _descend(loss, optimiser, pace.clip)
            step += 1
            if step % _LOOK == 0 or step % pace.every == 0:
                show(progress, _finite(loss, pace.rate))
            if step % pace.every == 0:
                states.save(step, before + time.perf_counter() - began, model, optimiser)
    if step > first:
        _finite(loss, pace.rate)  # a look waits for the device, so that the seconds are true
    model.eval()
    return Course(step, before + time.perf_counter() - began, step * order.size)


def _groups(task: Task, pace: Pace) -> list[dict[str, object]]:
    """Parameters by their rate; biases and norms do not decay."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in task.model.named_parameters():
        share = next((share for prefix, share in task.rates if name.startswith(prefix)), 1.0)
        groups.setdefault((pace.rate * share, pace.decay if parameter.ndim > 1 else 0.0), []).append(parameter)
    return [{"params": ps, "own": rate, "lr": rate, "weight_decay": decay} for (rate, decay), ps in groups.items()]


def _descend(loss: Float[Tensor, ""], optimiser: torch.optim.Optimizer, clip: float) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], clip)
    optimiser.step()


def _finite(loss: Float[Tensor, ""], rate: float) -> float:
    amount = float(loss.detach())
    if not math.isfinite(amount):
        raise SettingError(f"pre-training broke down: the loss became {amount}; use a smaller rate than {rate}")
    return amount


class _Order:
    """Which rows each step reads: every pass in an order of its own, known from the seed and the step alone."""

    def __init__(self, rows: int, size: int, seed: int) -> None:
        self.count, self.size, self.seed = rows, size, seed
        self.a_pass = rows // size  # steps; the last rows of a pass that fill no batch wait for the next
        self._known: tuple[int, Ints] | None = None

    def rows_of(self, step: int) -> Ints:
        number, at = divmod(step, self.a_pass)
        if self._known is None or self._known[0] != number:
            self._known = (number, generator(self.seed, "pass", str(number)).permutation(self.count))
        return self._known[1][at * self.size : (at + 1) * self.size]


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[float, float], None]]:
    """A progress bar on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress, loss: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0, loss=math.nan)
        yield lambda share, loss: progress.update(task, completed=share, loss=loss)
