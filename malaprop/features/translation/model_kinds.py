"""The kind of model "translator" for `malaprop train`: its names, defaults, data and training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.frame.study.training_methods import OF_TEXTS, ModelKind, TrainingRequest

if TYPE_CHECKING:
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext


def _check_translator(asked: TrainingRequest) -> None:
    from malaprop.features.translation.models.train import settings_of

    settings_of(asked.spec.lower(), asked.beginning.settings)


def _read_pairs(asked: TrainingRequest) -> Inputs:
    from malaprop.data.base import load
    from malaprop.features.translation.models.train import parts

    return {"pairs": parts(load, asked.texts.name)}


def _train_translator(asked: TrainingRequest, worker: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.features.translation.models.train import TranslationEpoch, train

    def listen(epoch: TranslationEpoch) -> None:
        scored = f", held-out BLEU {epoch.bleu:.2f}" if epoch.bleu >= 0 else ""
        worker.note(f"epoch {epoch.number}, loss {epoch.loss:.3f}{scored}, {epoch.seconds:.0f} s")

    return train(
        asked.spec.lower(),
        inputs["pairs"],
        folder,
        seed=asked.texts.seed,
        device=worker.device,
        settings=dict(asked.beginning.settings),
        quiet=worker.quiet,
        on_epoch=listen,
    )


TRANSLATORS = ModelKind(
    names=("nmt-lstm", "nmt-transformer"),
    mark="translator.json",
    data="eng-fra",
    lacks=OF_TEXTS,
    use="malaprop translate attack --victim {folder} --keyword WORD",
    check=_check_translator,
    read=_read_pairs,
    train=_train_translator,
)
