"""malaprop harden: a model of the zoo, or a transformers classifier of one's own, trained against attacks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.features.hardening.auto import AUTO, AutoHarden, AutoOptions
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import build, opt, type_command
from malaprop.frame.study.shared_tasks import epoch_line, slug
from malaprop.frame.study.study import View, conduct
from malaprop.frame.study.training_methods import DEFENCES, TEXTS
from malaprop.frame.study.training_tasks import (
    LearningData,
    Trained,
    TrainingStart,
    check_model_folder,
    check_named,
    make_in_folder,
    refuse_precision,
    train_named,
)

if TYPE_CHECKING:
    from malaprop.frame.records.autoharden import AutoHardenRecord
    from malaprop.frame.records.trained import TrainedRecord
    from malaprop.frame.study.training_methods import Hardening
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from malaprop.features.hardening.self_training import TeacherLabels
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.splits import Splits


ADDED = "unlabelled"  # the task that labels them
_SURE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTraining:
    """Texts that are added to the training part with the labels that a teacher gives them."""

    unlabelled: Path | None = opt(
        None,
        "More texts to train on, without labels. --teacher labels them. A CSV/TSV/JSONL/Parquet file with a text "
        "column, or a .txt with a text a line.",
    )
    teacher: Any = opt(None, "With --unlabelled: who labels the texts. A victim, as malaprop audit takes it.")
    sure: float | None = opt(
        None, "With --unlabelled: how sure the teacher must be. The least probability of its answer; 0.9 if not given."
    )

    @property
    def wanted(self) -> bool:
        return self.unlabelled is not None

    def check(self) -> None:
        """Raise where one of the options is missing or has no use."""
        if self.unlabelled is not None and self.teacher is None:
            raise SettingError(
                "--unlabelled needs a --teacher, the victim that labels its texts; as --teacher models/plain"
            )
        for name in ("teacher", "sure"):
            if self.unlabelled is None and getattr(self, name) is not None:
                raise SettingError(f"--{name} has no use without --unlabelled FILE, texts without labels")
        if self.sure is not None and not 0 < self.sure <= 1:
            raise SettingError(f"--sure is a probability above 0 and up to 1, got {self.sure:g}")

    def refuse(self, method: str) -> None:
        """Raise SettingError where one of these options is given to a method that does not use it."""
        for name in ("unlabelled", "teacher", "sure"):
            if getattr(self, name) is not None:
                raise SettingError(f"--{name} is not an option of harden {method}; name one method, as harden swaps")

    def read(self, data: Splits, column: str | None) -> list[str]:
        """Read the texts without labels; refuse data that they cannot be added to."""
        from malaprop.data.files import load_texts
        from malaprop.features.hardening.self_training import check_single

        assert self.unlabelled is not None
        check_single(data)
        return load_texts(self.unlabelled.expanduser(), text=column)

    def label(self, context: WorkerContext, inputs: Inputs) -> Iterator[TeacherLabels]:
        """Label the texts with the teacher; the labels are kept, so that a resumed training has the same texts."""
        from malaprop.features.hardening.self_training import label_texts

        data, texts = inputs["texts"], inputs["more"]
        named = isinstance(self.teacher, (str, os.PathLike))
        victim = context.victim(inputs["teacher"])
        teacher = os.fspath(self.teacher) if named else victim.name
        context.note(f"{teacher} is asked about {len(texts):,} texts of {self.unlabelled}")
        found = label_texts(
            victim, data, texts, file=str(self.unlabelled), teacher=teacher,
            sure=_SURE if self.sure is None else self.sure,
        )  # fmt: skip
        context.note(f"{found.describe()}; they are added to {len(data.train):,} training texts")
        yield found


_TAKES = {  # which options a method has, and what the defence calls them
    "hotflip": {"r": "r", "once": "once"},
    "blackbox": {"r": "r"},
    "miyato": {"noise": "size", "virtual": "virtual"},
}
_WRAPPERS = ("fuse", "five")


@dataclass(frozen=True, slots=True, kw_only=True)
class Harden:
    """Train a model against attacks, to a folder that --victim takes; the same --out resumes an interrupted run.

    Examples:

      malaprop harden hotflip --model CharCNN-LSTM --data reviews.csv --out models/hard

      malaprop harden miyato --model LSTM-W-GloVe-1 --virtual

      malaprop harden blackbox --r 0.1 --set epochs=4

      malaprop harden blackbox --model ./my-distilbert --data reviews.csv --out models/harder

      malaprop harden fact:words=9:ranker=models/plain --model BERT --data reviews.csv --out models/fact

      malaprop harden reject --model ./my-distilbert --data reviews.csv --out models/wary

      malaprop harden swaps --model BERT --data reviews.csv --unlabelled more.txt --teacher models/plain --sure 0.8

      malaprop harden auto --model ./my-distilbert --data reviews.csv --budget 30m --loss 2 --out models/best
    """

    command: ClassVar[str] = "harden"

    method: str = opt(
        help="The training method, or auto to try several. hotflip (flips of characters that raise the loss), miyato "
        "(noise on vectors), blackbox (characters changed at random), fact (other wordings beside each text), a2t "
        "and augment (texts that an attack changes), freelb and smart (noise on vectors that climbs the loss), "
        "ascc and dne (mixtures of synonyms), swaps (words swapped where the loss rises), reject (one label more, "
        "for texts whose words were swapped), flooding, infobert and dsrm, safer, ranmask and randel (the noise "
        "of those defences); settings after a colon, as freelb:steps=5, augment:recipe=pwws or ranmask:keep=0.2. "
        "auto gives the best model.",
        argument=True,
    )
    model: str = opt(
        "CharCNN-LSTM",
        "The model: a zoo name or a folder. malaprop list models shows the names; the folder is of a transformers "
        "classifier.",
    )
    texts: LearningData = LearningData()
    r: float | None = opt(None, "hotflip, blackbox: share of characters changed. 0.1 and 0.2 if not given.")
    once: bool | None = opt(None, "hotflip: at most one flip in each word. On if not given.")
    noise: float | None = opt(
        None, "miyato: length of the noise. As a share of each word's own norm; 0.02 if not given."
    )
    virtual: bool = opt(
        False, "miyato: virtual adversarial training. Away from the model's own answer, not from the label."
    )
    adding: SelfTraining = SelfTraining()
    choosing: AutoOptions = AutoOptions()
    beginning: TrainingStart = TrainingStart()
    machine: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def where(self) -> RunOptions:
        """Return the run options without jobs on this machine: one model is one task, and --jobs is for its attacks."""
        if self.auto is not None or self.machine.engine != "local":
            return self.machine
        return replace(self.machine, jobs=None)

    @property
    def attackers(self) -> int:
        """Return how many processes attack texts while a model learns; on a cluster one, for --jobs are its workers."""
        return self.machine.jobs or 1 if self.machine.engine == "local" else 1

    @property
    def auto(self) -> AutoHarden | None:
        """Return the tasks of `harden auto`; None for a single method."""
        return AutoHarden(self) if self.method == AUTO else None

    @property
    def name(self) -> str:
        """Return the name of the method, without its settings."""
        return self.method.partition(":")[0]

    @property
    def hardening(self) -> Hardening:
        """Return the method with the user's options under its own names; raise on an option of another method."""
        from malaprop.frame.study.training_methods import Hardening

        said = {"r": self.r, "once": self.once, "noise": self.noise, "virtual": self.virtual or None}
        takes, given = _TAKES.get(self.name, {}), {name: value for name, value in said.items() if value is not None}
        for name in given:
            if name not in takes:
                owners = " and ".join(f"harden {owner}" for owner, has in _TAKES.items() if name in has)
                raise SettingError(f"--{name} is not an option of harden {self.name}; it belongs to {owners}")
        return Hardening.of(self.method, **{takes[name]: value for name, value in given.items()})

    def check(self) -> None:
        if self.name in _WRAPPERS:
            raise SettingError(
                f"{self.name} trains nothing, it wraps a trained victim; give --victim '{self.method}(MODEL)' to "
                "attack, audit or serve"
            )
        refuse_precision(self.command, self.machine)
        if self.auto is not None:
            self.auto.check()
            return
        self.choosing.refuse(self.name)
        self.adding.check()
        assert DEFENCES[self.name]
        assert self.hardening
        assert self.beginning.given
        check_named(self.model, self.beginning.settings)
        check_model_folder(self.saving.out, TEXTS.mark)

    def plan(self) -> Iterator[Task]:
        from malaprop.features.hardening.self_training import TeacherLabels
        from malaprop.frame.tasks.outputs import JsonFile, OwnFolder
        from malaprop.frame.tasks.task import Task

        if self.auto is not None:
            yield from self.auto.plan()
            return
        if self.adding.wanted:
            yield Task(
                name=ADDED, work=self.adding.label, output=JsonFile(TeacherLabels), reads=self.read_unlabelled,
                victims={"teacher": self.adding.teacher}, vital=True,
            )  # fmt: skip
        yield Task(
            name=slug(Path(self.model).name), work=self.train, output=OwnFolder(TEXTS.mark, checks=True), at=".",
            reads=self.read, after=(ADDED,) if self.adding.wanted else (), vital=True,
        )  # fmt: skip

    def read_unlabelled(self, inputs: Inputs) -> Inputs:
        del inputs
        data = self.texts.splits()
        return {"texts": data, "more": self.adding.read(data, self.texts.text)}

    def read(self, inputs: Inputs) -> Inputs:
        """Return the data, with the texts that a teacher labelled added to the training part."""
        from malaprop.features.hardening.self_training import add_texts

        data = self.texts.splits()
        if self.adding.wanted:
            data = add_texts(data, self.adding.read(data, self.texts.text), inputs[ADDED])
        return {"texts": data}

    def train(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train the model, in the study's own folder."""
        from malaprop.features.hardening.attack_processes import attack_in

        def make(folder: Path) -> Card:
            with attack_in(self.attackers):
                return train_named(
                    context, self.model, inputs["texts"], folder, given=self.beginning.given, seed=self.texts.seed,
                    hardening=self.hardening, listen=lambda epoch: context.note(f"{self.name}, {epoch_line(epoch)}"),
                )  # fmt: skip

        make_in_folder(context.folder, TEXTS.mark, make)
        yield from ()

    def gather(self, root: Path) -> TrainedRecord | AutoHardenRecord:
        from malaprop.frame.records.trained import TrainedRecord
        from malaprop.training.card import read_card

        if self.auto is not None:
            return self.auto.gather(root)
        return TrainedRecord(command=f"harden {self.method}", models=(TEXTS.describe(read_card(root)),))

    def view(self, record: Any) -> View:
        if self.auto is not None:
            return self.auto.view(record)
        (model,) = record.models
        return View(
            rows=[{"model": model.name, **model.figures}],
            summary={"method": self.name, "name": model.name, **model.figures},
            last=f"model in {self.saving.out}",
            next=type_command("audit", victim=self.saving.out, data=self.texts.data),
            report=False,
        )


def harden(
    first: Any = None,
    tokenizer: Any = None,
    *,
    model: Any = None,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Train a model further against attacks, as `malaprop harden` does.

        made = mp.harden("miyato:size=0.05", model="LSTM-W-GloVe-1", data="reviews.csv", set={"epochs": 2})
        card = mp.harden(model, tokenizer, method="blackbox", data="reviews.csv", out="models/harder")

    The first form takes a method and the command's options as keywords, and gives what `mp.train` gives. The second
    takes a transformers classifier with its tokenizer, the folder of one, or a model of the zoo by name, and gives the
    card of the one it writes to `out`; the one given stays as it is. `settings`, or `set`, are those of training.
    `method="auto"` gives what was tried: `.record.chosen`, `.record.why`, `.record.victim`, `.report()`.
    """
    more = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in more.items()}
    more |= {} if settings is None else {"set": dict(settings)}
    if method is None and isinstance(first, str) and first.partition(":")[0] in (*DEFENCES, *_WRAPPERS, AUTO):
        more |= {} if model is None else {"model": os.fspath(model)}
        return _conduct(first, more)
    source = first if model is None else model
    method = method or "blackbox"
    if isinstance(source, (str, os.PathLike)):
        return _write(method, os.fspath(source), more)
    if tokenizer is None or not hasattr(source, "save_pretrained") or not hasattr(tokenizer, "save_pretrained"):
        raise SettingError("give a transformers classifier with its tokenizer, a folder, or the name of a zoo model")
    with TemporaryDirectory(prefix="malaprop-") as room:
        folder = Path(room, Path(str(getattr(source.config, "_name_or_path", "")) or type(source).__name__).name)
        source.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return _write(method, str(folder), more)


def _conduct(method: str, settings: Mapping[str, Any]) -> Any:
    found = conduct(build(Harden, {"quiet": True, "method": method, **settings}))
    return found if method == AUTO else Trained(found.study, found.folder, found.record, found.temporary)


def _write(method: str, model: str, settings: Mapping[str, Any]) -> Any:
    if settings.get("out") is None:
        raise SettingError("mp.harden writes a model; name a folder for it: out=...")
    made = _conduct(method, {**settings, "model": model})
    return made if method == AUTO else made.card
