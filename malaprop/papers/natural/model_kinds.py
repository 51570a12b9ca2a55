"""Make sentence models, image generators and image classifiers known to `malaprop train`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import DataError
from malaprop.frame.study.training_methods import OF_TEXTS, ModelKind, TrainingRequest

if TYPE_CHECKING:
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext


GENERATORS, CLASSIFIERS = ("wgan", "vae"), ("lenet", "mlp", "forest")


def _read_sentences(asked: TrainingRequest) -> Inputs:
    from malaprop.data.base import load
    from malaprop.zoo.pretrain.texts import corpus

    return {"sentences": corpus(asked.texts.name, partial(load, text=asked.texts.text, label=asked.texts.label))}


def _train_sentences(asked: TrainingRequest, context: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.papers.natural.models.sentencetraining import train_sentences

    return train_sentences(
        asked.spec.lower().removeprefix("text-"),
        inputs["sentences"],
        folder,
        settings=dict(asked.beginning.settings),
        vectors=asked.beginning.vectors,
        seed=asked.texts.seed,
        device=context.device,
        quiet=context.quiet,
    )


def _check_images(asked: TrainingRequest) -> None:
    from malaprop.data.images import is_images

    if not is_images(asked.texts.name):
        raise DataError(
            f"{asked.spec.lower()} reads images; expected mnist, mnist-full, an .npz file or idx files, got "
            f"{asked.texts.name!r}"
        )
    assert _generator_plan(asked) if asked.spec.lower() in GENERATORS else _classifier_plan(asked)


def _read_images(asked: TrainingRequest) -> Inputs:
    from malaprop.data.images import load

    return {"images": tuple(load(asked.texts.name, part) for part in ("train", "test"))}


def _generator_plan(asked: TrainingRequest) -> Any:
    from malaprop.core.settings import call
    from malaprop.papers.natural.models.training import ImagePlan

    spec = asked.spec.lower()
    return call(ImagePlan, {"kind": spec, **asked.beginning.settings}, f"the {spec}")


def _train_generator(asked: TrainingRequest, context: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.papers.natural.generators import train_on

    learn, test = inputs["images"]
    made = train_on(
        _generator_plan(asked),
        learn,
        test,
        folder,
        seed=asked.texts.seed,
        device=context.device,
        quiet=context.quiet,
        say=context.note,
    )
    return made.card


def _classifier_plan(asked: TrainingRequest) -> Any:
    from malaprop.core.settings import call
    from malaprop.papers.natural.models.image_classifiers import ImageTrainingSettings

    spec, settings = asked.spec.lower(), dict(asked.beginning.settings)
    if isinstance(widths := settings.get("widths"), int):
        settings["widths"] = (widths,)
    return call(ImageTrainingSettings, {"kind": spec, **settings}, f"the {spec}")


def _train_classifier(asked: TrainingRequest, context: WorkerContext, inputs: Inputs, folder: Path) -> Any:
    from malaprop.papers.natural.models.image_classifiers import train

    plan = _classifier_plan(asked)
    _, card = train(
        plan, *inputs["images"], seed=asked.texts.seed, device=context.device, folder=folder, quiet=context.quiet
    )
    return card


SENTENCES = ModelKind(
    names=("arae", "text-vae"),
    lacks=("start",),
    use="malaprop natural --generator {folder} --data {data}",
    check=lambda asked: None,  # noqa: ARG005
    read=_read_sentences,
    train=_train_sentences,
)


IMAGE_GENERATORS = ModelKind(
    names=GENERATORS,
    mark="generator.json",
    data="mnist",
    lacks=OF_TEXTS,
    use="malaprop natural --generator {folder}",
    check=_check_images,
    read=_read_images,
    train=_train_generator,
)


IMAGE_CLASSIFIERS = ModelKind(
    names=CLASSIFIERS,
    mark="image.json",
    data="mnist",
    lacks=OF_TEXTS,
    use="malaprop natural --victim {folder}",
    check=_check_images,
    read=_read_images,
    train=_train_classifier,
)
