"""malaprop pretrain: pre-train the small encoders of the zoo, for use without a model hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import opt
from malaprop.frame.study.study import FILE, View
from malaprop.frame.study.training_tasks import check_model_folder, make_in_folder, refuse_precision

if TYPE_CHECKING:
    from malaprop.frame.records.trained import TrainedRecord
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card

MARK = "pretrained.json"  # the card in an encoder's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrain:
    """Pre-train a small encoder for the zoo: ELMo, RoBERTa, ALBERT, or a masked-LM head on MiniLM.

    Without --out it goes to the cache, where train looks. The same command again resumes an interrupted training.

    Examples:

      malaprop pretrain elmo --data wikitext,mr --minutes 10

      malaprop pretrain roberta --data reviews.csv --set layers=4 --set batch=256 --out models/roberta
    """

    command: ClassVar[str] = "pretrain"

    kind: str = opt(help="elmo, roberta, albert or mlm-head.", argument=True)
    data: str = opt(
        "wikitext",
        "The texts: datasets, wikitext or files. Datasets as for train; text files (.txt) have a text a line; "
        "join with commas.",
    )
    steps: int | None = opt(None, "End after this many steps.", min=1)
    minutes: float | None = opt(None, "End after this many minutes of training.")
    start: str | None = opt(None, "A transformers folder or hub name to start from.")
    settings: Mapping[str, Any] = opt({}, "A setting of the kind, as name=value; may be repeated.", name="set")
    half: bool = opt(False, "Write weights of two bytes.")
    seed: int = opt(0, min=0)
    text: str | None = opt(None, name="text_column", old=("text",))
    label: str | None = opt(None, name="label_column", old=("label",))
    cache: bool | None = opt(None, "Put the encoder in the cache, where train looks for it; on if there is no --out.")
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    def __post_init__(self) -> None:
        """Decide once whether the encoder goes to the cache, so that study.toml records it."""
        if self.cache is None:
            object.__setattr__(self, "cache", self.saving.out is None)

    @property
    def place(self) -> str:
        """Return the encoder's folder: the study's own, or the one in the cache."""
        from malaprop.zoo.pretrain import home

        return str(home(self.kind)) if self.cache else "."

    def check(self) -> None:
        from malaprop.core.catalogue import unknown
        from malaprop.zoo.pretrain import KINDS
        from malaprop.zoo.pretrain.job import plan

        if self.kind not in KINDS:
            raise unknown("pretraining", self.kind, KINDS)
        if self.minutes is not None and self.minutes <= 0:
            raise SettingError(f"--minutes must be above 0, got {self.minutes:g}")
        if (device := self.where.device).partition(":")[0] not in ("auto", "cpu", "cuda"):
            raise SettingError(f"--device must be cpu, cuda or auto, got {device!r}")
        refuse_precision(self.command, self.where)
        assert plan(self.kind, self.settings)
        if self.cache:
            return
        check_model_folder(self.saving.out, MARK)
        if (out := self.saving.out) is not None and (out / MARK).is_file() and not (out / FILE).is_file():
            raise SettingError(f"{out} holds a finished encoder; name another --out, or delete that folder")

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.records.trained import TrainedRecord
        from malaprop.frame.tasks.outputs import OwnFolder
        from malaprop.frame.tasks.task import Task

        out = self.saving.out
        finished = out is not None and TrainedRecord.read(out) is not None
        # the task checks an encoder that it finds in the cache, as a new command may replace it
        output = OwnFolder(MARK, checks=bool(self.cache) and not finished)
        yield Task(name=self.kind, work=self.pretrain, output=output, at=self.place, vital=True)

    def pretrain(self, worker: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Pre-train the encoder in the cache or in the study's own folder."""
        del inputs
        if self.cache:
            self._write(worker, worker.folder)
        else:
            make_in_folder(worker.folder, MARK, partial(self._write, worker))
        yield from ()

    def _write(self, worker: WorkerContext, folder: Path) -> Card:
        from malaprop.data.base import load
        from malaprop.zoo.pretrain.job import pretrain

        _, card = pretrain(
            self.kind,
            data=self.data,
            read=partial(load, text=self.text, label=self.label),
            folder=folder,
            steps=self.steps,
            minutes=self.minutes,
            settings=self.settings,
            start=self.start,
            half=self.half,
            device=worker.device,
            seed=self.seed,
            quiet=worker.quiet,
        )
        return card

    def gather(self, root: Path) -> TrainedRecord:
        from malaprop.frame.records.trained import TrainedModel, TrainedRecord
        from malaprop.training.card import read_card

        card = read_card(root / self.place, "encoder")
        model = TrainedModel(
            name=card.kind, data=card.data, seed=card.seed, folder=self.place, figures=card.figures, about=card.about
        )
        return TrainedRecord(command=self.command, models=(model,))

    def view(self, record: TrainedRecord) -> View:
        (model,) = record.models
        folder = str(((self.saving.out or Path()) / model.folder).absolute())
        return View(
            rows=[{"model": model.name, **model.figures}],
            summary={"kind": self.kind, "out": folder, **model.figures},
            last=f"{self.kind} in {folder}",
            next="malaprop list models shows the models that start from it: malaprop train MODEL",
            report=False,
        )
