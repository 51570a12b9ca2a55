"""The kinds of models that `malaprop train` knows: what each reads, which options it has, how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from malaprop.core.catalogue import Catalogue
from malaprop.frame.records.trained import TrainedModel
from malaprop.frame.rooms import added, load

if TYPE_CHECKING:
    from malaprop.frame.study.training_tasks import LearningData, TrainingStart
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card

ALL = "all63"
OF_TEXTS = ("vectors", "start", "text_column", "label_column")
BELONGS = {  # who heeds the options that not all have
    "vectors": "models of words and sentences, as train LSTM-W-GloVe-1",
    "start": "transformers, as train BERT",
    "text_column": "models of labelled texts",
    "label_column": "models of labelled texts",
    "seeds": f"train {ALL}",
    "only": f"train {ALL}",
    "cache": f"train {ALL}",
}


class TrainingRequest(Protocol):
    """What `malaprop train` is asked for, as far as kinds of models read it."""

    @property
    def spec(self) -> str: ...

    @property
    def texts(self) -> LearningData: ...

    @property
    def beginning(self) -> TrainingStart: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """One kind of model.

    `mark` is the card in its folder, `data` what it learns from where nothing is named, `lacks` the options that it
    does not heed, `use` what to do with the folder. `check` refuses wrong settings; `read` is done by the driver and
    gives what `train` (asked, desk, inputs, folder) finds in its inputs.
    """

    names: tuple[str, ...] = ()
    mark: str = "model.json"
    data: str = "mr"
    lacks: tuple[str, ...] = ()
    use: str = "attack it with: malaprop audit --victim {folder}"
    check: Callable[[TrainingRequest], Any]
    read: Callable[[TrainingRequest], Inputs] = lambda asked: {}  # noqa: ARG005
    train: Callable[[TrainingRequest, WorkerContext, Inputs, Path], Any]

    def describe(self, card: Card) -> TrainedModel:
        """A card as the record has it."""
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


def _train_texts(asked: TrainingRequest, desk: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.frame.study.training_tasks import train_named

    given = asked.beginning.given
    return train_named(desk, asked.spec, inputs["texts"], folder, given=given, seed=asked.texts.seed)


# --- translation models


TEXTS = ModelKind(check=_check_texts, read=_read_texts, train=_train_texts)


def kind_of(spec: str) -> ModelKind:
    """The kind of a model, by its name; what none has for its own is a classifier of texts."""
    kinds = (load(place) for place in added("models").values())
    return next((kind for kind in kinds if spec.lower() in kind.names), TEXTS)


DEFENCES = Catalogue("defence", added("methods"))
