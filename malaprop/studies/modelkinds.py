"""The kinds of models that `malaprop train` knows: what each reads, which options it has, how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import DataError
from malaprop.records.trained import TrainedModel

if TYPE_CHECKING:
    from malaprop.models.fitting.card import Card
    from malaprop.studies.train import Train
    from malaprop.tasks.desk import Desk
    from malaprop.tasks.task import Inputs

ALL = "all63"
GENERATORS, CLASSIFIERS = ("wgan", "vae"), ("lenet", "mlp", "forest")
_OF_TEXTS = ("vectors", "start", "text_column", "label_column")
BELONGS = {  # who heeds the options that not all have
    "vectors": "models of words and sentences, as train LSTM-W-GloVe-1",
    "start": "transformers, as train BERT",
    "text_column": "models of labelled texts",
    "label_column": "models of labelled texts",
    "seeds": f"train {ALL}",
    "only": f"train {ALL}",
    "cache": f"train {ALL}",
}


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
    check: Callable[[Train], Any]
    read: Callable[[Train], Inputs] = lambda asked: {}  # noqa: ARG005
    train: Callable[[Train, Desk, Inputs, Path], Any]

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


def _check_texts(asked: Train) -> None:
    from malaprop.studies.training import check_named

    check_named(asked.spec, asked.beginning.settings)
    assert asked.beginning.given


def _read_texts(asked: Train) -> Inputs:
    return {"texts": asked.texts.splits()}


def _train_texts(asked: Train, desk: Desk, inputs: Inputs, folder: Path) -> Any:
    from malaprop.studies.training import train_named

    given = asked.beginning.given
    return train_named(desk, asked.spec, inputs["texts"], folder, given=given, seed=asked.texts.seed)


# --- sentence models


def _read_sentences(asked: Train) -> Inputs:
    from malaprop.data.base import load
    from malaprop.models.pretrain.texts import corpus

    return {"sentences": corpus(asked.texts.name, partial(load, text=asked.texts.text, label=asked.texts.label))}


def _train_sentences(asked: Train, desk: Desk, inputs: Inputs, folder: Path) -> Any:
    from malaprop.models.generative.sentencetraining import train_sentences

    return train_sentences(
        asked.spec.lower().removeprefix("text-"),
        inputs["sentences"],
        folder,
        settings=dict(asked.beginning.settings),
        vectors=asked.beginning.vectors,
        seed=asked.texts.seed,
        device=desk.device,
        quiet=desk.quiet,
    )


# --- translation models


def _check_translator(asked: Train) -> None:
    from malaprop.models.translation.train import settings_of

    settings_of(asked.spec.lower(), asked.beginning.settings)


def _read_pairs(asked: Train) -> Inputs:
    from malaprop.data.base import load
    from malaprop.models.translation.pairs import parts

    return {"pairs": parts(load, asked.texts.name)}


def _train_translator(asked: Train, desk: Desk, inputs: Inputs, folder: Path) -> Any:
    from malaprop.models.translation.train import train
    from malaprop.models.translation.training import TranslationEpoch

    def listen(epoch: TranslationEpoch) -> None:
        scored = f", held-out BLEU {epoch.bleu:.2f}" if epoch.bleu >= 0 else ""
        desk.note(f"epoch {epoch.number}, loss {epoch.loss:.3f}{scored}, {epoch.seconds:.0f} s")

    return train(
        asked.spec.lower(),
        inputs["pairs"],
        folder,
        seed=asked.texts.seed,
        device=desk.device,
        settings=dict(asked.beginning.settings),
        quiet=desk.quiet,
        heard=listen,
    )


# --- models of images


def _check_images(asked: Train) -> None:
    from malaprop.data.images import is_images

    if not is_images(asked.texts.name):
        raise DataError(
            f"{asked.spec.lower()} reads images; expected mnist, mnist-full, an .npz file or idx files, got "
            f"{asked.texts.name!r}"
        )
    assert _generator_plan(asked) if asked.spec.lower() in GENERATORS else _classifier_plan(asked)


def _read_images(asked: Train) -> Inputs:
    from malaprop.data.images import load

    return {"images": tuple(load(asked.texts.name, part) for part in ("train", "test"))}


def _generator_plan(asked: Train) -> Any:
    from malaprop.core.settings import call
    from malaprop.models.generative.imageplan import ImagePlan

    spec = asked.spec.lower()
    return call(ImagePlan, {"kind": spec, **asked.beginning.settings}, f"the {spec}")


def _train_generator(asked: Train, desk: Desk, inputs: Inputs, folder: Path) -> Any:
    from malaprop.natural.generators import train_on

    learn, test = inputs["images"]
    made = train_on(
        _generator_plan(asked),
        learn,
        test,
        folder,
        seed=asked.texts.seed,
        device=desk.device,
        quiet=desk.quiet,
        say=desk.note,
    )
    return made.card


def _classifier_plan(asked: Train) -> Any:
    from malaprop.core.settings import call
    from malaprop.models.zoo.imagetraining import Schooling

    spec, settings = asked.spec.lower(), dict(asked.beginning.settings)
    if isinstance(widths := settings.get("widths"), int):
        settings["widths"] = (widths,)
    return call(Schooling, {"kind": spec, **settings}, f"the {spec}")


def _train_classifier(asked: Train, desk: Desk, inputs: Inputs, folder: Path) -> Any:
    from malaprop.models.zoo.imagetraining import train

    plan = _classifier_plan(asked)
    _, card = train(plan, *inputs["images"], seed=asked.texts.seed, device=desk.device, folder=folder, quiet=desk.quiet)
    return card


TEXTS = ModelKind(check=_check_texts, read=_read_texts, train=_train_texts)
SENTENCES = ModelKind(
    names=("arae", "text-vae"),
    lacks=("start",),
    use="use it with: malaprop natural --generator {folder} --data {data}",
    check=lambda asked: None,  # noqa: ARG005
    read=_read_sentences,
    train=_train_sentences,
)
KINDS = (
    SENTENCES,
    ModelKind(
        names=("nmt-lstm", "nmt-transformer"),
        mark="translator.json",
        data="eng-fra",
        lacks=_OF_TEXTS,
        use="attack it with: malaprop translate attack --victim {folder} --keyword WORD",
        check=_check_translator,
        read=_read_pairs,
        train=_train_translator,
    ),
    ModelKind(
        names=GENERATORS,
        mark="generator.json",
        data="mnist",
        lacks=_OF_TEXTS,
        use="use it with: malaprop natural --generator {folder}",
        check=_check_images,
        read=_read_images,
        train=_train_generator,
    ),
    ModelKind(
        names=CLASSIFIERS,
        mark="image.json",
        data="mnist",
        lacks=_OF_TEXTS,
        use="use it with: malaprop natural --victim {folder}",
        check=_check_images,
        read=_read_images,
        train=_train_classifier,
    ),
)


def kind_of(spec: str) -> ModelKind:
    """The kind of a model, by its name; what none has for its own is a classifier of texts."""
    return next((kind for kind in KINDS if spec.lower() in kind.names), TEXTS)
