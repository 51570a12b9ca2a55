"""Kinds of models that `malaprop train` knows, defences that act in training, and a user's own classifier to train."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from malaprop.core.catalogue import Catalogue
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.core.settings import call
from malaprop.frame.records.trained import TrainedModel
from malaprop.frame.rooms import added, load

if TYPE_CHECKING:
    from malaprop.frame.study.training_tasks import LearningData, TrainingStart
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec
    from malaprop.zoo.train import TrainingJob
    from malaprop.zoo.training import Hooks


ALL = "all63"
OF_TEXTS = ("vectors", "start", "text_column", "label_column")
BELONGS = {  # which kinds of models have the options that not all kinds have
    "vectors": "models of words and sentences, as train LSTM-W-GloVe-1",
    "start": "transformers, as train BERT",
    "text_column": "models of labelled texts",
    "label_column": "models of labelled texts",
    "seeds": f"train {ALL}",
    "only": f"train {ALL}",
    "cache": f"train {ALL}",
}


class TrainingRequest(Protocol):
    """The settings of `malaprop train` that kinds of models read."""

    @property
    def spec(self) -> str: ...

    @property
    def texts(self) -> LearningData: ...

    @property
    def beginning(self) -> TrainingStart: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """One kind of model.

    `mark` is the card in its folder, `data` the default dataset, `lacks` the options that it does not have, `use` a
    line on what to do with the folder. `check` raises for wrong settings; the driver calls `read`, whose values `train`
    (asked, context, inputs, folder) finds in its inputs.
    """

    names: tuple[str, ...] = ()
    mark: str = "model.json"
    data: str = "mr"
    lacks: tuple[str, ...] = ()
    use: str = "malaprop audit --victim {folder} --data {data}"
    check: Callable[[TrainingRequest], Any]
    read: Callable[[TrainingRequest], Inputs] = lambda asked: {}  # noqa: ARG005
    train: Callable[[TrainingRequest, WorkerContext, Inputs, Path], Any]

    def describe(self, card: Card) -> TrainedModel:
        """Convert a card to the entry of the record."""
        seconds = {"seconds": card.seconds} if card.seconds else {}
        return TrainedModel(
            name=card.name,
            data=card.data,
            seed=card.seed,
            figures={**card.figures, **seconds},
            about=card.about,
            hardened=card.hardened,
            samples=card.samples[:5],
        )


# --- classifiers of texts


def _check_texts(asked: TrainingRequest) -> None:
    from malaprop.frame.study.training_tasks import check_named

    check_named(asked.spec, asked.beginning.settings)
    assert asked.beginning.given


def _read_texts(asked: TrainingRequest) -> Inputs:
    return {"texts": asked.texts.splits()}


def _train_texts(asked: TrainingRequest, context: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.frame.study.training_tasks import train_named

    given = asked.beginning.given
    return train_named(context, asked.spec, inputs["texts"], folder, given=given, seed=asked.texts.seed)


TEXTS = ModelKind(check=_check_texts, read=_read_texts, train=_train_texts)


def kind_of(spec: str) -> ModelKind:
    """Return the kind of a model by its name; a name of no other kind is a classifier of texts."""
    kinds = (load(place) for place in added("models").values())
    return next((kind for kind in kinds if spec.lower() in kind.names), TEXTS)


DEFENCES = Catalogue("defence", added("methods"))


# --- defences that act in training


class Defence(Protocol):
    """A defence that acts in training; its `str` describes what was done."""

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        """Return what the defence adds to the training of this model; raise if it cannot."""
        ...


def parse_defence(spec: str, **more: Any) -> Defence:
    """Make a defence from what is typed: ranmask, or with settings ranmask:keep=0.2."""
    from malaprop.frame.runs.wrap import read_settings

    name, *settings = spec.split(":")
    make = DEFENCES[name]
    made: Defence = call(make, {**more, **read_settings(name, settings)}, f"harden {name}")
    return made


@dataclass(frozen=True, slots=True)
class Hardening:
    """A defence that acts in training, and the name of a model that was trained with it."""

    name: str
    defence: Defence

    @classmethod
    def of(cls, spec: str, **more: Any) -> Hardening:
        """Parse what is typed: ranmask, ranmask:keep=0.2; `more` are further settings."""
        name = spec.partition(":")[0]
        defence = parse_defence(spec, **more)
        return cls(f"{name}-virtual" if getattr(defence, "virtual", False) else name, defence)

    def add_labels(self, data: Splits) -> Splits:
        """Return the data with the additional labels that this training gives a model, behind its own."""
        more: tuple[str, ...] = getattr(self.defence, "more_labels", ())
        return data._replace(labels=(*data.labels, *(label for label in more if label not in data.labels)))


def own_spec(folder: str) -> ZooSpec:
    """Return the spec of a user's own classifier, named after its folder."""
    from malaprop.training.card import OWN
    from malaprop.zoo.names import ZooSpec

    name = Path(folder).expanduser().resolve().name
    return ZooSpec(encoder=OWN, units="piece", embedding=name, depth=0)


def in_terms_of(parts: Splits, folder: Path) -> Splits:
    """Return the data with labels numbered and named as those of the classifier in the folder."""
    from malaprop.core.victim import find_rejected
    from malaprop.data.matching import turn

    names, count = _labels_of(folder)
    places = turn(parts.name, parts.labels, names)
    if places is None:
        if len(parts.labels) != count - (find_rejected(names) >= 0):  # which no text of the data has
            raise DataError(
                f"{parts.name} has {len(parts.labels)} labels ({', '.join(parts.labels[:8])}), the model in {folder} "
                f"has {count}; rename them in the data to the model's names"
            )
        return parts._replace(labels=names or parts.labels)

    def renumber(examples: Sequence[Example]) -> list[Example]:
        return [replace(example, label=places[example.label]) for example in examples]

    return parts._replace(
        train=renumber(parts.train), held_out=renumber(parts.held_out), test=renumber(parts.test), labels=names
    )


def _labels_of(folder: Path) -> tuple[tuple[str, ...], int]:
    """Return the names of a classifier's labels, empty if they are the library's defaults, and their number."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        table = config.get("id2label") or {}
        names = tuple(str(table[key]) for key in sorted(table, key=int))
    except (OSError, ValueError, AttributeError):
        raise SettingError(f"{folder / 'config.json'} cannot be read as a model's configuration") from None
    count = len(names) or int(config.get("num_labels", 2))
    return (() if any(name.startswith("LABEL_") for name in names) else names), count
