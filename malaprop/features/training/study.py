"""malaprop train: train one model by its name, whose kind decides its data and options, or all models of the zoo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import build, flat, opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View, conduct
from malaprop.frame.study.training_methods import ALL, BELONGS, ModelKind, kind_of
from malaprop.frame.study.training_tasks import (
    LearningData,
    Trained,
    TrainingStart,
    check_model_folder,
    make_in_folder,
    refuse_precision,
)

if TYPE_CHECKING:
    from malaprop.features.training.zoo_study import Zoo
    from malaprop.frame.records.trained import TrainedRecord
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model to a folder that --victim takes; the same --out resumes an interrupted run.

    Examples:

      malaprop train LSTM-W-GloVe-1

      malaprop train BERT --data reviews.csv --out models/mine

      malaprop train all63 --data reviews.csv --seeds 2 --jobs 8
    """

    command: ClassVar[str] = "train"

    spec: str = opt(
        help="The model, such as BERT or LSTM-W-GloVe-1. See malaprop list models; all63 trains all; NAME#2 is a "
        "second one from another seed. Of images: wgan, vae, lenet, mlp, forest. Of sentences: arae, text-vae. Of "
        "translation: nmt-lstm, nmt-transformer.",
        argument=True,
    )
    texts: LearningData = LearningData(data=None)
    beginning: TrainingStart = TrainingStart()
    seeds: int | None = opt(None, "all63: seeds of each one-layer model. 1 if not given.", min=1)
    only: tuple[str, ...] = opt(
        (), "all63: train only these models. NAME#2 is a second one; may be repeated.", repeat=True
    )
    cache: bool | None = opt(
        None, "all63: put models in the cache, where --victim finds them by name; on if there is no --out."
    )
    machine: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    def __post_init__(self) -> None:
        """Fill in the defaults of the kind of model once, so that study.toml records them."""
        if self.texts.data is None:
            object.__setattr__(self, "texts", replace(self.texts, data=self.kind.data))
        if self.cache is None and self.is_zoo:
            object.__setattr__(self, "cache", self.saving.out is None)

    @property
    def is_zoo(self) -> bool:
        return self.spec.lower() == ALL

    @property
    def kind(self) -> ModelKind:
        return kind_of(self.spec)

    @cached_property
    def zoo(self) -> Zoo:
        from malaprop.features.training.zoo_study import Zoo

        return Zoo(self)

    @property
    def where(self) -> RunOptions:
        """Return the run options; all63 without --jobs gets as many processes as the machine has room for."""
        if not self.is_zoo or self.machine.jobs or self.machine.engine != "local":
            return self.machine
        from malaprop.features.training.zoo_study import default_jobs
        from malaprop.frame.runs.victims import device_of

        return replace(self.machine, jobs=default_jobs(device_of(self.machine.device)))

    def check(self) -> None:
        self._check_options()
        if self.is_zoo:
            self.zoo.check()
            return
        check_model_folder(self.saving.out, self.kind.mark)
        self.kind.check(self)

    def _check_options(self) -> None:
        """Refuse options that training this kind of model does not use."""
        unread = self.kind.lacks if self.is_zoo else (*self.kind.lacks, "seeds", "only", "cache")
        given = flat(self)
        for name in unread:
            if given[name] not in (None, ()):
                flag = f"--{name.replace('_', '-')}"
                raise SettingError(
                    f"{flag} is not an option of train {self.spec.lower()}; it belongs to {BELONGS[name]}"
                )
        refuse_precision(self.command, self.machine)

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import OwnFolder
        from malaprop.frame.tasks.task import Task

        if self.is_zoo:
            yield from self.zoo.plan()
            return
        output = OwnFolder(self.kind.mark, checks=True)
        yield Task(name=slug(self.spec), work=self.train, output=output, reads=self.read, at=".", vital=True)

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return self.kind.read(self)

    def train(self, worker: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train one model in the study's own folder."""
        make_in_folder(worker.folder, self.kind.mark, lambda folder: self.kind.train(self, worker, inputs, folder))
        yield from ()

    def gather(self, root: Path) -> TrainedRecord:
        from malaprop.frame.records.trained import TrainedRecord
        from malaprop.training.card import find_card

        models = self.zoo.gather(root) if self.is_zoo else (self.kind.describe(find_card(root)),)
        return TrainedRecord(command=self.command, models=models)

    def view(self, record: TrainedRecord) -> View:
        if self.is_zoo:
            return self.zoo.view(record)
        figures, folder = record.models[0].figures, self.saving.out
        used = self.kind.use.format(folder=folder, data=self.texts.data or "FILE")
        return View(
            rows=[{"model": record.models[0].name, **figures}],
            summary={"spec": self.spec, **figures},
            last=f"model in {folder}",
            next=used,
            report=False,
        )


def train(
    spec: str, data: str | os.PathLike[str] | None = None, *, out: str | os.PathLike[str] | None = None, **settings: Any
) -> Trained:
    """Train a model, as `malaprop train` does.

    `spec` is its name (`LSTM-W-GloVe-1`, `BERT`, `nmt-lstm`, `wgan` ...), or `all63`; `data` a dataset by name or a
    file. Further keywords are options of the command: seed, text, label, vectors, start, set (settings of the training,
    as {"epochs": 2}), device, jobs. Without `out` the model lies in a temporary folder, deleted with the result.

        made = mp.train("LSTM-W-Random-1", "reviews.csv", out="models/mine", set={"epochs": 2})
        made.figures["test_accuracy"]; made.card; mp.audit(made.victim(), "reviews.csv")
    """
    known = {"data": None if data is None else os.fspath(data), "out": out}
    given = {name: value for name, value in known.items() if value is not None}
    found = conduct(build(Train, {"quiet": True, "spec": spec, **given, **settings}))
    return Trained(found.study, found.folder, found.record, found.temporary)
