"""Shared by commands that train: the data's options, the starting weights, the training task, the model's folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile, rmtree
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.run_options import RunOptions
from malaprop.frame.study.settings import opt
from malaprop.frame.study.study import FILE, Result

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.frame.records.trained import TrainedModel, TrainedRecord
    from malaprop.frame.study.training_methods import Hardening
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec
    from malaprop.zoo.train import TrainingInput
    from malaprop.zoo.training import Epoch

Made = TypeVar("Made")
WORK_FOLDER = ".training"  # below a model's folder while it is trained


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningData:
    """The options for training data: a dataset or a file, of which training takes every part."""

    data: str | None = opt("mr")
    seed: int = opt(0, min=0)
    text: str | None = opt(None, name="text_column", old=("text",))
    label: str | None = opt(None, name="label_column", old=("label",))

    @property
    def name(self) -> str:
        """The data as the user typed it."""
        assert self.data is not None, "the kind of model decides where nothing is named"
        return self.data

    def splits(self) -> Splits:
        """Return the parts for training, model selection and testing."""
        from malaprop.frame.study.selection import Selection

        return Selection(data=self.data, text=self.text, label=self.label).splits()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStart:
    """The starting weights of a model, and settings of its training."""

    vectors: Path | None = opt(None, "Word vectors to start from. Published ones: .bin, .vec, .txt or .npz.")
    start: str | None = opt(None, "What a transformer starts from. minilm, mpnet, a hub name or a folder.")
    settings: Mapping[str, Any] = opt(
        {}, "A setting of the training, as name=value. Or of the network; may be repeated.", name="set"
    )

    @property
    def given(self) -> TrainingInput:
        from malaprop.zoo.train import TrainingInput

        return TrainingInput(vectors=self.vectors, start=self.start, settings=self.settings)


def check_named(name: str, settings: Mapping[str, Any]) -> None:
    """Raise for a wrong name or setting before the data is read; `name` is as for `train_named`."""
    from malaprop.frame.study.training_methods import own_spec
    from malaprop.models.classifierfolder import is_classifier_folder
    from malaprop.zoo import names as zoo
    from malaprop.zoo.train import check_settings

    own = is_classifier_folder(name)
    if not own and not zoo.is_name(name) and is_victim(name):
        refuse_checkpoint(name)
        raise SettingError(
            f"{name} shows no gradients and no weights, so it cannot be trained here; put a defence around it, as "
            f'--victim "purify:spell({name})", "fuse({name})" or "safer({name})", or have one chosen: '
            f"harden auto --model {name}"
        )
    check_settings(settings, [own_spec(name) if own else zoo.parse(name)[0]])


def refuse_checkpoint(name: str) -> None:
    """Raise if a path is a trained zoo model, which is trained by its name and not from its folder."""
    from malaprop.training.card import read_card, spec_name
    from malaprop.zoo.checkpoint import is_checkpoint

    path = Path(name).expanduser()
    if is_checkpoint(path):
        card = read_card(path)
        model = spec_name(**card.spec)
        raise SettingError(
            f"{name} holds a {model}, which is trained by its name and not from its folder; give --model {model} "
            f"--data {card.data}"
        )


def is_victim(name: str) -> bool:
    """Return whether a name is a victim that cannot be trained: a function, a server, an export, a wrapper."""
    return ":" in name or "(" in name or name.endswith((".skops", ".onnx", ".toml")) or Path(name).expanduser().is_dir()


class ModelToTrain(NamedTuple):
    """What to train: a zoo model, or a user's own classifier, which starts from its weights."""

    spec: ZooSpec
    data: Splits
    given: TrainingInput
    seed: int


def find_named(
    name: str, data: Splits, given: TrainingInput, seed: int, hardening: Hardening | None = None
) -> ModelToTrain:
    """Return what `train_named` trains, with the data's labels as the model has them and those that a defence adds."""
    from malaprop.frame.study.training_methods import in_terms_of, own_spec
    from malaprop.models.classifierfolder import is_classifier_folder
    from malaprop.zoo import names as zoo

    check_named(name, given.settings or {})
    if is_classifier_folder(name):
        data = in_terms_of(data, Path(name).expanduser())
        spec, given = own_spec(name), replace(given, start=name)
    else:
        spec, seed = zoo.parse(name, seed)
    return ModelToTrain(spec, hardening.add_labels(data) if hardening is not None else data, given, seed)


def train_named(
    context: WorkerContext,
    name: str,
    data: Splits,
    folder: Path,
    *,
    given: TrainingInput,
    seed: int = 0,
    hardening: Hardening | None = None,
    listen: Callable[[Epoch], None] | None = None,
) -> Card:
    """Train a model to a folder, with a defence in the loop if one is given; resume a killed training.

    `name` is a model of the zoo, or the folder of a transformers classifier, which is trained further. `listen` hears
    of every epoch.
    """
    from malaprop.training.folder import FILE as RECIPE
    from malaprop.zoo.checkpoint import is_checkpoint
    from malaprop.zoo.train import InTheLoop, train
    from malaprop.zoo.training import Hooks

    named = find_named(name, data, given, seed, hardening)
    if folder.parent.name == WORK_FOLDER and is_checkpoint(folder) and not (folder / RECIPE).is_file():
        rmtree(folder)  # its writer was killed before the last file; the kept state of the training writes it again
    defence = hardening.defence if hardening is not None else None
    added = InTheLoop(
        hooks=lambda job: replace(defence.hooks(job, named.data) if defence else Hooks(), epoch=listen),
        name=hardening.name if hardening is not None else "",
        about=f"Hardened: {defence}." if defence else "",
    )
    return train(
        named.spec,
        named.data,
        folder,
        seed=named.seed,
        device=context.device,
        given=named.given,
        added=added,
        quiet=context.quiet,
    )


# --- a study whose own folder is the model's


def refuse_precision(command: str, where: RunOptions) -> None:
    """Raise if --precision is given: a training chooses its own precision."""
    if where.precision != "auto":
        raise SettingError(
            f"--precision is not an option of {command}; it belongs to commands that ask a trained model"
        )


def check_model_folder(out: Path | None, mark: str) -> None:
    """Raise if a folder holds anything but a model or a begun training."""
    if out is None or not out.is_dir() or (out / mark).is_file() or (out / FILE).is_file():
        return
    if any(not path.name.startswith(".") for path in out.iterdir()):
        raise SettingError(f"{out} exists and is not a model; name another folder")


def make_in_folder(folder: Path, mark: str, make: Callable[[Path], Made]) -> Made:
    """Make a model in a work folder below the study's folder, then move its files up, the mark last.

    If there is a model already, `make` checks it and raises if its settings differ.
    """
    if (folder / mark).is_file():
        return make(folder)
    work = folder / WORK_FOLDER / "model"
    made = make(work)
    place_files(work, folder, mark)
    rmtree(folder / WORK_FOLDER, ignore_errors=True)
    return made


def place_files(source: Path, folder: Path, mark: str) -> None:
    """Link or copy the files of a model to another folder, the mark last."""
    for path in sorted(source.rglob("*"), key=lambda path: path.name == mark):
        if path.is_file():
            _place(path, folder / path.relative_to(source))


def _place(path: Path, target: Path) -> None:
    """Link or copy a file, replacing what a killed process left there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(path, target)
    except OSError:  # a file system without links
        half = target.with_name(f".{target.name}.half")
        copyfile(path, half)
        half.replace(target)


# --- in Python


class Trained(Result):
    """The result of training: `figures`, `card` and `victim()` of the only model, or of a named one."""

    record: TrainedRecord

    def model(self, name: str | None = None) -> TrainedModel:
        """Return the record's entry of a model."""
        known = {model.name: model for model in self.record.models}
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        if name not in known:
            from malaprop.core.catalogue import unknown

            raise unknown("model of this training", name or "", known)
        return known[name]

    def place(self, name: str | None = None) -> Path:
        """Return the folder of a model."""
        return self.folder / self.model(name).folder

    @property
    def figures(self) -> dict[str, int | float]:
        """Accuracy on the test part, rows, epochs, seconds, parameters."""
        return self.model().figures

    @property
    def card(self) -> Card:
        """The model's card."""
        from malaprop.training.card import find_card

        return find_card(self.place())

    def victim(self, name: str | None = None, **how: Any) -> Victim:
        """Return the model as a victim; keywords are those of `mp.victim`."""
        from malaprop.frame.runs.victims import victim

        return victim(str(self.place(name)), **how)
