"""The one training loop: stages of steps, evaluations on held-out data, the best weights kept, exact resume."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from malaprop.core.errors import SettingError
from malaprop.training.folder import TrainingFolder, TrainingState
from malaprop.training.task import Assessment, Figures, Stage, Sums, TrainingStep, TrainingTask, WeightedLoss

_ONE_BY_ONE = 3  # steps before the graph: libraries choose their kernels, and optimisers make their state


class RepeatedStep:
    """Runs the work of a step; on a GPU as a CUDA graph, recorded at the fourth step.

    The work must be the same at every call: no number that changes, no tensor but those it was recorded with, no look
    at a value. What it gives lies in the same tensors every time.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._done = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._figures: Figures = {}

    def __call__(self, work: Callable[[], Figures]) -> Figures:
        if self._device.type != "cuda":
            return work()
        with torch.cuda.device(self._device):
            if self._graph is None and self._done < _ONE_BY_ONE:
                self._done += 1
                return self._work_aside(work)
            if self._graph is None:
                self._graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self._graph):  # records the work and does none of it
                    self._figures = work()
            self._graph.replay()
            return self._figures

    def _work_aside(self, work: Callable[[], Figures]) -> Figures:
        """Run on a stream of its own, as gradients of a graph may not wait for the usual one."""
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            figures = work()
        torch.cuda.current_stream().wait_stream(aside)
        return figures


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[float, float], None]]:
    """Show the share of the work that is done, from 0 to 1, and the loss; nothing where there is no terminal."""
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


_GLANCE = 1.0  # seconds between two glances at the loss; each waits for the device
Listen = Callable[[TrainingStep, Assessment], None]


class Fitted(NamedTuple):
    """The result of a training: `steps` of its last stage; `looks` have each evaluation's stage, step and figures."""

    looks: list[dict[str, Any]]
    rank: tuple[float, ...]  # of the weights that were kept, empty where no look gave one
    steps: int
    seconds: float


def fit(
    task: TrainingTask,
    *,
    unfinished: TrainingFolder | None = None,
    title: str = "training",
    quiet: bool = True,
    listen: Iterable[Listen] = (),
) -> Fitted:
    """Train the modules of a training task in place.

    On a CPU the same seeds give the same weights, also where the work was killed and goes on from what `unfinished` has
    kept. `listen` hears of every look.
    """
    run = _Run(task, tuple(listen))
    for module in task.modules.values():
        module.train(any(parameter.requires_grad for parameter in module.parameters()))
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), progress_bar(title, quiet) as show:
        run.start(unfinished)
        glanced = 0.0
        while run.go_on():
            run.advance()
            keep = unfinished is not None and unfinished.due(run.step)
            if keep or run.seconds() - glanced > _GLANCE:
                show(run.now().progress, run.check_loss())
                glanced = run.seconds()
            if keep and unfinished is not None:
                unfinished.keep(run.state())
        run.check_loss()  # waits for the device, so that the seconds are true
    if run.kept:
        task.modules[task.best].load_state_dict(run.kept)
    for module in task.modules.values():
        module.eval()
    return Fitted(run.looks, tuple(run.rank), run.step, run.seconds())


class _Run:
    """The progress of one training: its stage and step, the best weights so far, sums of figures."""

    def __init__(self, task: TrainingTask, listen: tuple[Listen, ...]) -> None:
        self.task, self.listen = task, listen
        self.place = 0  # of the stage
        self.step = self.stale = 0
        self.since = 0.0  # seconds when the stage began
        self.over = False  # by what a look said
        self.rank: list[float] = []
        self.kept: dict[str, Tensor] = {}
        self.looks: list[dict[str, Any]] = []
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, int] = {}
        self.loss = torch.zeros(())
        self._device = next(next(iter(task.modules.values())).parameters()).device
        self._repeat = RepeatedStep(self._device)
        self._before, self._began = 0.0, time.perf_counter()

    @property
    def stage(self) -> Stage:
        return self.task.stages[self.place]

    def seconds(self) -> float:
        return self._before + time.perf_counter() - self._began

    def now(self) -> TrainingStep:
        seconds = self.seconds()
        return TrainingStep(self.stage, self.step, self.stage.spent(self.step, seconds - self.since), seconds)

    def start(self, unfinished: TrainingFolder | None) -> None:
        known = [f"now|{name}|{key}" for name, module in self.task.modules.items() for key in module.state_dict()]
        found = unfinished.read(known) if unfinished else None
        if found is None:
            self.stage.begin()
        else:
            self.fill(found)
        self._began = time.perf_counter()

    def go_on(self) -> bool:
        """Return whether a step is left; begin the next stage where one is over."""
        while self.over or (self.now().progress >= 1 and (self.step or self.stage.steps == 0)):
            if self.place + 1 == len(self.task.stages):
                return False
            self.place, self.step, self.stale, self.over, self.since = self.place + 1, 0, 0, False, self.seconds()
            self.sums, self.counts = {}, {}
            self._repeat = RepeatedStep(self._device)
            self.stage.begin()
        return True

    def advance(self) -> None:
        """Take one step, and evaluate where that is due after it."""
        now = self.now()
        if self.stage.draw is None:
            figures = self._descend(now)
        else:
            self.stage.draw(now)
            figures = self._repeat(partial(self._descend, now))
        self._note(figures)
        self.stage.after(now)
        self.step += 1
        if self.stage.look and (self.step % self.stage.every == 0 or self.step == self.stage.steps):
            self._look(self.stage.look)

    def _descend(self, now: TrainingStep) -> Figures:
        losses, groups = self.stage.losses(now), self.task.groups
        while True:
            try:
                descent = next(losses)
            except StopIteration as end:
                figures: Figures = end.value
                return figures
            groups[descent.group].descend(descent.loss, now, alone=len(groups) == 1, graded=descent.graded)

    def _note(self, figures: Figures) -> None:
        for name, value in figures.items():
            held = self.sums.get(name)
            self.sums[name] = value.detach().clone() if held is None else held.add_(value.detach())
            self.counts[name] = self.counts.get(name, 0) + 1
        self.loss = next(iter(figures.values())).detach()

    def _look(self, ask: Callable[[TrainingStep, Sums], Assessment]) -> None:
        sums = {name: WeightedLoss(self._finite(total), self.counts[name]) for name, total in self.sums.items()}
        self.sums, self.counts = {}, {}
        now = self.now()
        look = ask(now, sums)
        self.looks.append({"phase": now.stage.name, "step": now.step, "seconds": now.seconds, **look.figures})
        if look.rank is not None:
            better = not self.rank or list(look.rank) > self.rank
            self.stale = 0 if better else self.stale + 1
            if better:
                self.rank = list(look.rank)
                held = self.task.modules[self.task.best].state_dict()
                self.kept = {name: tensor.detach().clone() for name, tensor in held.items()}
        self.over = look.over or 0 < self.stage.patience <= self.stale
        for hear in self.listen:
            hear(now, look)

    def check_loss(self) -> float:
        """Return the loss of the last step, waiting for the device; raise where it is not finite."""
        return self._finite(self.loss)

    def _finite(self, value: Tensor) -> float:
        amount = float(value)
        if not math.isfinite(amount):
            rates = [group.schedule.rate for group in self.task.groups.values()]
            raise SettingError(f"training diverged: the loss became {amount}; use a learning rate below {max(rates)}")
        return amount

    def state(self) -> TrainingState:
        tensors = {
            f"now|{name}|{key}": tensor
            for name, module in self.task.modules.items()
            for key, tensor in module.state_dict().items()
        }
        for name, group in self.task.groups.items():
            tensors |= {f"learner|{name}|{key}": tensor for key, tensor in group.state().items()}
        for name, memory in self.task.memories.items():
            tensors |= {f"memory|{name}|{key}": tensor for key, tensor in memory.state().items()}
        tensors |= {f"kept||{name}": tensor for name, tensor in self.kept.items()}
        tensors |= {f"sum||{name}": tensor for name, tensor in self.sums.items()}
        tensors["random||"] = torch.get_rng_state()  # for what is not drawn by the step
        names = ("place", "step", "stale", "since", "over", "rank", "looks", "counts")
        return TrainingState(tensors, {name: getattr(self, name) for name in names}, self.seconds())

    def fill(self, state: TrainingState) -> None:
        for name, value in state.notes.items():
            setattr(self, name, value)
        self.stage.begin()
        parts: dict[tuple[str, str], dict[str, Tensor]] = {}
        for label, tensor in state.tensors.items():
            kind, owner, key = label.split("|", 2)
            parts.setdefault((kind, owner), {})[key] = tensor
        for name, module in self.task.modules.items():
            module.load_state_dict(parts["now", name])
        for name, group in self.task.groups.items():
            group.fill(parts.get(("learner", name), {}))
        for name, memory in self.task.memories.items():
            memory.fill(parts.get(("memory", name), {}))
        self.kept = {name: tensor.to(self._device) for name, tensor in parts.get(("kept", ""), {}).items()}
        self.sums = {name: tensor.to(self._device) for name, tensor in parts.get(("sum", ""), {}).items()}
        torch.set_rng_state(parts["random", ""][""])
        self._before = state.seconds
