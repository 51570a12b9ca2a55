"""The parts of a training of one kind of model: its networks, and the losses and evaluations of its stages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.training.schedule import ParameterGroup


class TrainingStep(NamedTuple):
    """The progress of a training: `step` counts done steps of the stage, `seconds` those of all stages."""

    stage: Stage
    step: int
    progress: float
    seconds: float


class GradientLoss(NamedTuple):
    """A loss, and the parameter group that takes a step down it; `graded` is called between gradients and step."""

    group: str
    loss: Tensor
    graded: Callable[[], None] | None = None


class WeightedLoss(NamedTuple):
    """The sum of a figure since the last evaluation, and the steps that it was summed over."""

    total: float
    steps: int

    @property
    def mean(self) -> float:
        return self.total / max(1, self.steps)


class Assessment(NamedTuple):
    """Figures of an evaluation. The weights with the highest `rank` are kept; `over` ends the stage."""

    figures: Mapping[str, float]
    rank: tuple[float, ...] | None = None
    over: bool = False


class TrainingMemory(Protocol):
    """State that a training carries from step to step beside weights; it is saved and restored with them."""

    def state(self) -> Mapping[str, Tensor]: ...

    def fill(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state` returned; the mapping is empty where none was saved."""


Figures = Mapping[str, Tensor]  # of one step, on the device; the first is the loss that a progress bar shows
Losses = Generator[GradientLoss, None, Figures]
Sums = Mapping[str, WeightedLoss]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A part of a training: it ends when its steps or its minutes are spent, or by an evaluation.

    `losses` is one step. It never takes the step, it yields losses, and goes on when the step down each has been
    taken; what it draws at random depends on its own seed and the moment alone. `look` is asked after every so many
    steps, and after the last one; `patience` counts looks that bring nothing better, 0 for no such end. `begin` hears
    that the stage begins or goes on; weights that it sets are then replaced by those that were kept.

    A stage with `draw` promises that its steps differ in nothing but the numbers that `draw` puts into the tensors that
    `losses` reads: a GPU then repeats them as one graph. `after` hears that a step was taken.
    """

    losses: Callable[[TrainingStep], Losses]
    draw: Callable[[TrainingStep], None] | None = None
    after: Callable[[TrainingStep], None] = lambda now: None  # noqa: ARG005
    name: str = ""
    steps: int | None = None
    minutes: float | None = None  # a stage with this does not give the same weights every time
    look: Callable[[TrainingStep, Sums], Assessment] | None = None
    every: int = 0
    patience: int = 0
    begin: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise SettingError("training needs a budget: steps or minutes")
        if (self.steps is not None and self.steps < 0) or (self.minutes is not None and self.minutes <= 0):
            raise SettingError(f"steps and minutes must be above 0, got {self.steps} and {self.minutes}")

    def spent(self, step: int, seconds: float) -> float:
        """Return the share of the stage's steps or minutes that is spent, whichever is larger."""
        by_steps = step / self.steps if self.steps else float(self.steps == 0)
        return max(by_steps, seconds / (60 * self.minutes) if self.minutes else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTask:
    """A training as `fit` takes it, written as if for one process that is never killed.

    `modules` are all networks that change; `best` names the one whose weights are kept by the rank of looks, "" where
    those of the last step stay. `memories` is what else a step depends on that an earlier one made.
    """

    stages: tuple[Stage, ...]
    modules: Mapping[str, nn.Module]
    groups: Mapping[str, ParameterGroup]
    best: str = ""
    memories: Mapping[str, TrainingMemory] = field(default_factory=dict)
