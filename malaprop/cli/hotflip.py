"""The work of malaprop study hotflip: models are trained, then attacked, several at a time; what is done is kept."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from malaprop.analysis.hotflip import PLAIN, Cell, Plan, gather
from malaprop.cli.harden import heard
from malaprop.cli.options import say, tell
from malaprop.core.errors import SettingError
from malaprop.records.hotflip import Study
from malaprop.studies.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """All that a process needs to know to do its part."""

    root: Path
    plan: Plan
    model: str
    texts: Selection
    width: int
    device: str
    settings: Mapping[str, Any]  # of the training and the network
    jobs: int
    quiet: bool

    def study(self) -> Study:
        """Everything that is not there yet, and the record over all."""
        for method in self.plan.methods:
            _defence(method)  # a wrong name should not wait for a model
        _check_model(self.model)
        data = self.texts.examples(trains=True)  # first: what is wrong with a file should not wait for a model
        tell(data.notes, self.quiet)
        self._all(self.train, [m for m in self.plan.models if not (self.root / "models" / m / "model.json").is_file()])
        self._all(self.attack, list(self.plan.cells()))
        return gather(self.root, self.plan, data=data.name, device=self.device)

    def train(self, model: str) -> str:
        """One model, plainly or hardened."""
        from malaprop.defences.harden import harden
        from malaprop.models.train import Given

        card = harden(
            None if model == PLAIN else _defence(model),
            model,
            self.model,
            self.texts.data,
            self.root / "models" / model,
            seed=self.texts.seed,
            device=self.device,
            given=Given(settings=self.settings),
            quiet=self.quiet,
            heard=lambda epoch: say(heard(model, epoch), self.quiet),
            **self.texts.columns,
        )
        return f"{card.name}: right on {card.figures['test_accuracy']:.1%} of the test texts"

    def attack(self, cell: Cell) -> str:
        """One attack, or what is left of it."""
        from malaprop.data.matching import agree
        from malaprop.records.summary import Summary
        from malaprop.runs.api import recipe
        from malaprop.runs.folder import run_to_folder
        from malaprop.runs.local import run
        from malaprop.runs.victims import victim

        made = recipe(cell.recipe, **cell.settings)
        target = victim(str(self.root / "models" / cell.model), device=self.device)
        texts = replace(self.texts, n=self.plan.exact) if cell.few else self.texts
        data = agree(texts.examples(trains=True), target)
        folder = cell.folder(self.root)
        if cell.few:  # times are compared: what is done once, at the first batch, is no part of them
            list(run(made, target, list(data)[:1], seed=self.texts.seed))
        outcomes = run_to_folder(
            made, target, data, folder, seed=self.texts.seed, width=self.width, resume=folder.is_dir()
        )
        return f"{cell.model}, {cell.name}: broke {Summary.of(outcomes).success}"

    def _all(self, task: Callable[[Any], str], items: Iterable[Any]) -> None:
        left = list(items)
        if self.jobs == 1 or len(left) < 2:
            for item in left:
                say(task(item), self.quiet)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self.jobs, len(left)), context, one_thread) as pool:
            for line in pool.map(task, left):
                say(line, self.quiet)


def one_thread() -> None:
    """Several processes on one machine: each keeps to one core."""
    import torch

    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))


def _check_model(name: str) -> None:
    from malaprop.models import zoo

    spec, _ = zoo.parse(name)
    if spec.units != "character":
        raise SettingError(
            f"the study attacks a model that reads characters, and {spec.name} does not; name one that reads "
            "characters (CharCNN-LSTM, LSTM-C-Random-1 ...)"
        )


def _defence(method: str) -> Any:
    from malaprop.defences import DEFENCES

    name, _, kind = method.partition("-")
    if kind and method != "miyato-virtual":
        raise SettingError(f"--methods takes hotflip, miyato, miyato-virtual and blackbox, got {method!r}")
    return DEFENCES[name](**({"virtual": True} if kind else {}))
