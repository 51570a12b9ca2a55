"""Train image classifiers: small networks by the training loop, forests with scikit-learn."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as f

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.seeds import generator
from malaprop.papers.natural.models.image_classifiers import Forest, Size, forest_arrays, fresh
from malaprop.papers.natural.models.image_victim import CARD, KINDS, ImageVictim, load, of_network, save
from malaprop.training import fit as loop
from malaprop.training.card import Card, read_card, stamp
from malaprop.training.folder import TrainingFolder, refuse_other
from malaprop.training.schedule import ParameterGroup, Schedule
from malaprop.training.seeds import seeded
from malaprop.training.task import GradientLoss, Losses, Stage, TrainingStep, TrainingTask


class LabelledImages(Protocol):
    """Images with labels, as `malaprop.data.images.ImageSet` has them."""

    @property
    def name(self) -> str: ...
    @property
    def images(self) -> NDArray[np.float32]: ...
    @property
    def labels(self) -> NDArray[np.int64]: ...
    @property
    def classes(self) -> int: ...
    @property
    def shape(self) -> Size: ...
    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTrainingSettings:
    """A classifier and its training. The paper's forest has 5 trees; `share` is how much of the data is used."""

    kind: str = "lenet"
    widths: tuple[int, ...] = (256,)  # of a perceptron's hidden layers
    dropout: float = 0.0
    trees: int = 5
    epochs: int = 5
    batch: int = 64
    rate: float = 1e-3
    decay: float = 0.0
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("image classifier", self.kind, KINDS)
        object.__setattr__(self, "widths", tuple(self.widths))
        whole = (self.trees, self.epochs, self.batch, *self.widths)
        if min(whole) < 1 or self.rate <= 0 or self.decay < 0:
            raise SettingError(f"counts must be at least 1 and the rate above 0, got {self}")
        if not (0 <= self.dropout < 1 and 0 < self.share <= 1):
            raise SettingError(f"dropout must be in [0, 1) and share in (0, 1], got {self.dropout:g}, {self.share:g}")


def fit(
    plan: ImageTrainingSettings,
    data: LabelledImages,
    *,
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = True,
    unfinished: TrainingFolder | None = None,
) -> tuple[nn.Module, dict[str, Any]]:
    """Train a network; also return the settings that its card keeps."""
    rng = generator(seed, "image classifier", data.name)
    some = np.sort(rng.permutation(len(data.images))[: max(2, round(plan.share * len(data.images)))])
    if plan.kind == "forest":
        return _forest(plan, data, some, seed)
    with seeded(seed):
        net = fresh(plan.kind, data.shape, data.classes, asdict(plan)).to(device)
        classifier_task = ClassifierTask(net, plan, data.images[some], data.labels[some], rng)
        loop.fit(classifier_task.course, unfinished=unfinished, quiet=quiet, title=f"training {plan.kind}")
    return net, {"widths": list(plan.widths), "dropout": plan.dropout, **_work(plan)}


def _work(plan: ImageTrainingSettings) -> dict[str, Any]:
    return {k: getattr(plan, k) for k in ("epochs", "batch", "rate", "decay", "share")}


class ClassifierTask:
    """The training task of an image classifier; dropout continues the seed that the network was made with."""

    def __init__(
        self,
        net: nn.Module,
        plan: ImageTrainingSettings,
        images: NDArray[np.float32],
        labels: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        device = next(net.parameters()).device
        self.net, self.batch = net, plan.batch
        self.inputs, self.labels = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
        self.orders = [torch.from_numpy(rng.permutation(len(images))).to(device) for _ in range(plan.epochs)]
        self.a_pass = math.ceil(len(images) / plan.batch)
        self.course = TrainingTask(
            phases=(Stage(losses=self.losses, steps=plan.epochs * self.a_pass),),
            modules={"net": net},
            learners={"net": ParameterGroup(Schedule(rate=plan.rate, decay=plan.decay), net.named_parameters())},
        )

    def losses(self, now: TrainingStep) -> Losses:
        epoch, at = divmod(now.step, self.a_pass)
        places = self.orders[epoch][at * self.batch : (at + 1) * self.batch]
        loss = f.cross_entropy(self.net(self.inputs[places]), self.labels[places])
        yield GradientLoss("net", loss)
        return {"loss": loss}


def _forest(
    plan: ImageTrainingSettings, data: LabelledImages, some: NDArray[np.int64], seed: int
) -> tuple[nn.Module, dict[str, Any]]:
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise VictimError("a forest is trained with scikit-learn; install malaprop[sklearn]") from None
    classifier = RandomForestClassifier(n_estimators=plan.trees, random_state=seed)
    classifier.fit(data.images[some].reshape(len(some), -1), data.labels[some])
    if len(classifier.classes_) != data.classes:
        raise VictimError(f"the training part has {len(classifier.classes_)} of {data.classes} labels; use more of it")
    weights, depth = forest_arrays(classifier)
    return Forest(weights, depth), {"trees": plan.trees, "depth": depth, "share": plan.share}


def train(
    plan: ImageTrainingSettings,
    data: LabelledImages,
    test: LabelledImages,
    *,
    seed: int = 0,
    device: str = "cpu",
    folder: Path | None = None,
    quiet: bool = True,
) -> tuple[ImageVictim, Card]:
    """Train a victim on `data` and measure its accuracy on `test`; it is written to `folder` if one is given."""
    if folder is not None and (folder / CARD).is_file():
        return _finished(plan, data, seed, device, folder)
    recipe = {"plan": asdict(plan), "seed": seed, "data": data.fingerprint, "device": torch.device(device).type}
    unfinished = TrainingFolder.beside(folder, recipe) if folder else None
    net, settings = fit(plan, data, seed=seed, device=device, quiet=quiet, unfinished=unfinished)
    name = folder.name if folder else plan.kind
    victim = of_network(net, name=name, device=device, image=data.shape)
    right = int((np.asarray(accurate(victim, test))).sum())
    figures = {"test_accuracy": right / len(test.images), "test_right": right, "test_images": len(test.images)}
    card = Card(
        role="image classifier",
        kind=plan.kind,
        shape={"image": list(data.shape), "classes": data.classes},
        settings=settings,
        data=data.name,
        data_fingerprint=data.fingerprint,
        seed=seed,
        figures=figures,
        **stamp(),
    )
    if folder is not None:
        weights: dict[str, Tensor] = dict(net.state_dict())
        save(folder, card, weights)
    if unfinished is not None:
        unfinished.clear()
    return victim, card


def _finished(
    plan: ImageTrainingSettings, data: LabelledImages, seed: int, device: str, folder: Path
) -> tuple[ImageVictim, Card]:
    """Load the classifier in the folder; raise if other settings made it."""
    card = read_card(folder, "image classifier")
    known = {name: value for name, value in asdict(plan).items() if name in card.settings}
    held = {name: card.settings[name] for name in known}
    refuse_other(
        folder,
        {"kind": plan.kind, "settings": known, "seed": seed, "data": data.fingerprint},
        {"kind": card.kind, "settings": held, "seed": card.seed, "data": card.data_fingerprint},
    )
    return load(str(folder), device=device), card


def accurate(victim: ImageVictim, data: LabelledImages, batch: int = 4096) -> NDArray[np.bool_]:
    """Return which images the victim classifies correctly."""
    from malaprop.core.score import winners

    parts = [winners(victim(data.images[at : at + batch])) for at in range(0, len(data.images), batch)]
    return np.asarray(np.concatenate(parts) == data.labels)
