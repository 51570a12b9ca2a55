"""Estimate the time of a training epoch from a few of its steps; no model is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from malaprop.frame.study.training_methods import Hardening
    from malaprop.training.splits import Splits
    from malaprop.zoo.train import TrainingInput, TrainingJob
    from malaprop.zoo.training import Hooks

WARM = 2  # steps before the clock starts, which load and compile things once


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochTime:
    """Seconds of one step, on the clock and of the processor, and how many steps an epoch of these texts has."""

    step: float
    steps: int
    processor: float  # processor time of this process, which depends less on other processes

    @property
    def seconds(self) -> float:
        return self.step * self.steps


class _Enough(Exception):  # noqa: N818 - nothing is wrong: it ends a training that was only timed
    """Ends a training when enough steps are timed."""


class _Stopwatch:
    """A hook after each step that notes the time at the steps `at`, and ends the training after the last of them.

    `marks` has for each of these the time on the clock and that of the processor.
    """

    def __init__(self, at: Sequence[int], after: Callable[..., None] | None) -> None:
        self.at, self.after, self.step = at, after, 0
        self.marks = list[tuple[float, float]]()

    def __call__(self, model: Any, batch: Any) -> None:
        if self.after is not None:
            self.after(model, batch)
        self.step += 1
        if self.step in self.at:
            _wait(model)
            self.marks.append((perf_counter(), process_time()))
        if self.step == self.at[-1]:
            raise _Enough


def _wait(model: Any) -> None:
    """Wait until a GPU has done its work."""
    import torch

    if next(model.parameters()).device.type == "cuda":
        torch.cuda.synchronize()


def time_epoch(
    name: str,
    data: Splits,
    hardening: Hardening | None = None,
    *,
    given: TrainingInput | None = None,
    seed: int = 0,
    device: str = "cpu",
    steps: int = 6,
    again: bool = False,
) -> EpochTime:
    """Time a few steps of the training that `train_named` would do; the same seed takes the same batches.

    `again` times a second pass over the same texts, as in every epoch but the first, without what a method computes
    once for each text. For a method that works in every so many steps, the timed steps include a whole round, which is
    shortened where they are fewer.
    """
    from malaprop.frame.study.training_tasks import find_named
    from malaprop.zoo.train import InTheLoop, TrainingInput, train
    from malaprop.zoo.training import Hooks

    defence = None if hardening is None else hardening.defence
    named, watches = find_named(name, data, given or TrainingInput(), seed, hardening), list[_Stopwatch]()
    a_pass = list[int]()
    size = find_batch(named.spec, named.given, len(named.data.train))
    whole, data = named.data.train, named.data
    if again:
        data = data._replace(train=whole[: steps * size], held_out=named.data.held_out[:1])  # read between passes
        steps = math.ceil(len(data.train) / size)
    if defence is not None and hasattr(defence, "within"):
        defence = defence.within(steps)
    at = (steps, 2 * steps) if again else (WARM, WARM + steps)

    def hook(job: TrainingJob) -> Hooks:
        own = defence.hooks(job, data) if defence is not None else Hooks()
        watches.append(_Stopwatch(at, own.stepped))
        a_pass.append(len(job.parts[0].labels))
        return replace(own, stepped=watches[0])

    unending = {"epochs": at[-1], "patience": at[-1], "batch": size}
    with TemporaryDirectory(prefix="malaprop-") as room, suppress(_Enough):
        train(
            named.spec, data, Path(room) / "timed", seed=named.seed, device=device, quiet=True,
            given=replace(named.given, settings={**(named.given.settings or {}), **unending}),
            added=InTheLoop(hooks=hook),
        )  # fmt: skip
    (began, busy), (ended, idle) = watches[0].marks
    return EpochTime(
        step=(ended - began) / steps, processor=(idle - busy) / steps,
        steps=math.ceil((len(whole) if again else a_pass[0]) / size),
    )  # fmt: skip


def find_batch(spec: Any, given: TrainingInput, rows: int) -> int:
    """Return how many texts a step has."""
    from malaprop.zoo.train import change_training, find_training

    return change_training(find_training(spec, given.start, rows), given.settings or {}).batch
