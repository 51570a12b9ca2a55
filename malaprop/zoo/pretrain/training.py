"""How encoders are pre-trained: packed rows, a rate that follows the budget of steps or minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.training.schedule import ParameterGroup, Schedule, follow_budget
from malaprop.training.seeds import RowOrder, reseed
from malaprop.training.task import GradientLoss, Losses, Stage, TrainingStep, TrainingTask


class EncoderWork(Protocol):
    """A model, the rows it learns from, and how it is judged and written."""

    @property
    def model(self) -> nn.Module: ...
    @property
    def rows(self) -> int: ...
    @property
    def row_tokens(self) -> int: ...
    @property
    def shape(self) -> dict[str, Any]: ...

    @property
    def rates(self) -> tuple[tuple[str, float], ...]:
        """Parameters whose name begins so have this share of the rate."""

    @property
    def fingerprint(self) -> str:
        """Of the vocabulary, which is made from the text."""

    @property
    def origin(self) -> str | None:
        """The weights it started from, None for random ones."""

    def at(self, progress: float) -> None:
        """Hears how much of the budget is spent, from 0 to 1, before each step."""

    def loss(self, rows: Ints) -> Float[Tensor, ""]: ...

    def figures(self) -> dict[str, float]: ...

    def about(self, trained: str) -> str:
        """What it is in a sentence, given on what it was trained."""

    def save(self, folder: Path, *, half: bool) -> None: ...


def pace_of(plan: Any) -> Schedule:
    """The pace among the settings of a kind, all of which have these names."""
    if min(plan.batch, plan.every) < 1 or min(plan.rate, plan.clip) <= 0 or not 0 <= plan.warmup < 1:
        raise SettingError(
            f"batch, every, rate and clip must be above 0 and warmup below 1, got {plan.batch}, {plan.every}, "
            f"{plan.rate}, {plan.clip} and {plan.warmup}"
        )
    slope = follow_budget(plan.warmup)
    return Schedule(rate=plan.rate, slope=slope, decay=plan.decay, clip=plan.clip, betas=(0.9, 0.98), eps=1e-6)


def course_of(
    work: EncoderWork, pace: Schedule, passes: RowOrder, *, steps: int | None, minutes: float | None
) -> TrainingTask:
    """One phase, after which the weights of the last step stay."""
    device = next(work.model.parameters()).device

    def losses(now: TrainingStep) -> Losses:
        reseed(passes.seed, now.step)
        work.at(now.progress)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = work.loss(passes.rows_of(now.step))
        yield GradientLoss("model", loss)
        return {"loss": loss}

    learner = ParameterGroup(
        pace, work.model.named_parameters(), rates=work.rates, decays=lambda _, weight: weight.ndim > 1
    )
    return TrainingTask(
        phases=(Stage(losses=losses, steps=steps, minutes=minutes),),
        modules={"model": work.model},
        learners={"model": learner},
    )
