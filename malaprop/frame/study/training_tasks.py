"""What commands that train share: the data, what a model starts from, its training in a task, and its folder."""

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
ROOM = ".training"  # in a model's folder, while it is trained


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningData:
    """What is learnt from: a dataset or a file, of which training takes every part."""

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
        """All parts: to train on, to choose by, and to judge by."""
        from malaprop.frame.study.selection import Selection

        return Selection(data=self.data, text=self.text, label=self.label).splits()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStart:
    """What a model starts from, and settings of its training."""

    vectors: Path | None = opt(None, "Published word vectors to start from: .bin, .vec, .txt or .npz.")
    start: str | None = opt(None, "What a transformer starts from: minilm, mpnet, a hub name or a folder.")
    settings: Mapping[str, Any] = opt(
        {}, "A setting of the training or the network, as name=value; may be repeated.", name="set"
    )

    @property
    def given(self) -> TrainingInput:
        from malaprop.zoo.train import TrainingInput

        return TrainingInput(vectors=self.vectors, start=self.start, settings=self.settings)


def check_named(name: str, settings: Mapping[str, Any]) -> None:
    """Refuses a wrong name or setting before the data is read; `name` as for `train_named`."""
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
    """A model of the zoo is trained anew from its name, not from its folder."""
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
    """Whether this names a victim that answers and is no more: a function, a server, an exported model, a wrapper."""
    return ":" in name or "(" in name or name.endswith((".skops", ".onnx", ".toml")) or Path(name).expanduser().is_dir()


class Named(NamedTuple):
    """What is trained: a model of the zoo, or a classifier of one's own, which starts from its weights."""

    spec: ZooSpec
    data: Splits
    given: TrainingInput
    seed: int


def find_named(name: str, data: Splits, given: TrainingInput, seed: int, hardening: Hardening | None = None) -> Named:
    """A model as `train_named` takes it, and the data in its terms, with the labels that a defence adds."""
    from malaprop.frame.study.training_methods import in_terms_of, own_spec
    from malaprop.models.classifierfolder import is_classifier_folder
    from malaprop.zoo import names as zoo

    check_named(name, given.settings or {})
    if is_classifier_folder(name):
        data = in_terms_of(data, Path(name).expanduser())
        spec, given = own_spec(name), replace(given, start=name)
    else:
        spec, seed = zoo.parse(name, seed)
    return Named(spec, hardening.add_labels(data) if hardening is not None else data, given, seed)


def train_named(
    desk: WorkerContext,
    name: str,
    data: Splits,
    folder: Path,
    *,
    given: TrainingInput,
    seed: int = 0,
    hardening: Hardening | None = None,
    listen: Callable[[Epoch], None] | None = None,
) -> Card:
    """Trains a model to a folder, with a defence in the loop where one is given; what was killed goes on.

    `name` is a model of the zoo, or the folder of a transformers classifier, which is trained further. `listen` hears
    of every epoch.
    """
    from malaprop.training.folder import FILE as RECIPE
    from malaprop.zoo.checkpoint import is_checkpoint
    from malaprop.zoo.train import InTheLoop, train
    from malaprop.zoo.training import Hooks

    named = find_named(name, data, given, seed, hardening)
    if folder.parent.name == ROOM and is_checkpoint(folder) and not (folder / RECIPE).is_file():
        rmtree(folder)  # its writer was killed before the last file; what was kept of the training gives it again
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
        device=desk.device,
        given=named.given,
        added=added,
        quiet=desk.quiet,
    )


# --- a study whose own folder is the model's


def refuse_precision(command: str, where: RunOptions) -> None:
    """Training computes as its course says."""
    if where.precision != "auto":
        raise SettingError(f"--precision is no option of {command}; it belongs to commands that ask a trained model")


def check_room(out: Path | None, mark: str) -> None:
    """Refuses a folder that holds something else than a model or a training that was begun there."""
    if out is None or not out.is_dir() or (out / mark).is_file() or (out / FILE).is_file():
        return
    if any(not path.name.startswith(".") for path in out.iterdir()):
        raise SettingError(f"{out} is there and is no model; name another folder")


def fill(folder: Path, mark: str, make: Callable[[Path], Made]) -> Made:
    """Has a model made in a room of the study's folder, and puts its files there, the mark last.

    A model that is there is looked at by `make`, which refuses one that was made otherwise.
    """
    if (folder / mark).is_file():
        return make(folder)
    room = folder / ROOM / "model"
    made = make(room)
    place_files(room, folder, mark)
    rmtree(folder / ROOM, ignore_errors=True)
    return made


def place_files(source: Path, folder: Path, mark: str) -> None:
    """Puts the files of a model in another folder too, the mark last."""
    for path in sorted(source.rglob("*"), key=lambda path: path.name == mark):
        if path.is_file():
            _place(path, folder / path.relative_to(source))


def _place(path: Path, target: Path) -> None:
    """The file under a second name, in the place of what a killed process left there."""
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
    """Trained models: `figures`, `card` and `victim()` of the one there is, or of the one that is named."""

    record: TrainedRecord

    def model(self, name: str | None = None) -> TrainedModel:
        """What the record says of a model."""
        known = {model.name: model for model in self.record.models}
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        if name not in known:
            from malaprop.core.catalogue import unknown

            raise unknown("model of this training", name or "", known)
        return known[name]

    def place(self, name: str | None = None) -> Path:
        """The folder of a model."""
        return self.folder / self.model(name).folder

    @property
    def figures(self) -> dict[str, int | float]:
        """Accuracy on the test part, rows, epochs, seconds, parameters."""
        return self.model().figures

    @property
    def card(self) -> Card:
        """All that the model says of itself."""
        from malaprop.training.card import find_card

        return find_card(self.place())

    def victim(self, name: str | None = None, **how: Any) -> Victim:
        """The model, to be asked and attacked; keywords as for `mp.victim`."""
        from malaprop.frame.runs.victims import victim

        return victim(str(self.place(name)), **how)
