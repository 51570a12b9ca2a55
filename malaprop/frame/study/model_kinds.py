"""Tables of what rooms add to training: kinds of models that `malaprop train` knows, and training methods by name."""

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
    use: str = "attack it with: malaprop audit --victim {folder}"
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
