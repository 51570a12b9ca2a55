"""How long an epoch of a training takes, from a few of its steps: nothing is written, and nothing is trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from malaprop.defences.harden import Hardening
    from malaprop.models.splits import Splits
    from malaprop.models.zoo.train import Given, Job
    from malaprop.models.zoo.training import Hooks

WARM = 2  # steps before the clock starts: what is loaded or compiled once is no part of an epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochTime:
    """Seconds of one step, on the clock and of the processor, and how many steps an epoch of these texts has."""

    step: float
    steps: int
    processor: float  # of this process: what else runs on the machine changes it less

    @property
    def seconds(self) -> float:
        return self.step * self.steps


class _Enough(Exception):  # noqa: N818 - nothing is wrong: it ends a training that was only timed
    """Enough steps were taken."""


class _Stopwatch:
    """Stands behind the hook that follows each step, and ends the training after some of them."""

    def __init__(self, steps: int, after: Callable[..., None] | None) -> None:
        self.left, self.steps, self.after = steps + WARM, steps, after
        self.marks = list[tuple[float, float]]()  # when the clock started and when it was stopped

    def __call__(self, model: Any, batch: Any) -> None:
        if self.after is not None:
            self.after(model, batch)
        self.left -= 1
        if self.left in (0, self.steps):
            _wait(model)
            self.marks.append((perf_counter(), process_time()))
        if not self.left:
            raise _Enough


def _wait(model: Any) -> None:
    """Until a GPU has done what it was given."""
    import torch

    if next(model.parameters()).device.type == "cuda":
        torch.cuda.synchronize()


def time_epoch(
    name: str,
    data: Splits,
    hardening: Hardening | None = None,
    *,
    given: Given | None = None,
    seed: int = 0,
    device: str = "cpu",
    steps: int = 6,
) -> EpochTime:
    """Times a few steps of the training that `train_named` would do; the same seed takes the same batches."""
    from malaprop.models.zoo.train import Given, InTheLoop, train
    from malaprop.models.zoo.training import Hooks
    from malaprop.studies.training import find_named

    named, watches = find_named(name, data, given or Given(), seed), list[_Stopwatch]()
    a_pass = list[int]()

    def hook(job: Job) -> Hooks:
        own = hardening.defence.hooks(job, named.data) if hardening is not None else Hooks()
        watches.append(_Stopwatch(steps, own.stepped))
        a_pass.append(len(job.parts[0].labels))
        return replace(own, stepped=watches[0])

    unending = {"epochs": steps + WARM, "patience": steps + WARM}
    size = find_batch(named.spec, named.given, len(named.data.train))
    with TemporaryDirectory(prefix="malaprop-") as room, suppress(_Enough):
        train(
            named.spec, named.data, Path(room) / "timed", seed=named.seed, device=device, quiet=True,
            given=replace(named.given, settings={**(named.given.settings or {}), **unending}),
            added=InTheLoop(hooks=hook),
        )  # fmt: skip
    (began, busy), (ended, idle) = watches[0].marks
    return EpochTime(
        step=(ended - began) / steps, steps=math.ceil(a_pass[0] / size), processor=(idle - busy) / steps
    )  # fmt: skip


def find_batch(spec: Any, given: Given, rows: int) -> int:
    """How many texts a step has."""
    from malaprop.models.zoo.train import change_course, find_course

    return change_course(find_course(spec, given.start, rows), given.settings or {}).batch
