"""Image classifiers and their training: LeNet, perceptrons, and decision forests as arrays for any device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as f

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.seeds import generator
from malaprop.papers.natural.models.image_victim import CARD, KINDS, ImageVictim, load, of_network, save
from malaprop.training import fit as loop
from malaprop.training.card import Card, read_card, stamp
from malaprop.training.folder import TrainingFolder, refuse_other
from malaprop.training.schedule import ParameterGroup, Schedule
from malaprop.training.seeds import seeded
from malaprop.training.task import GradientLoss, Losses, Stage, TrainingStep, TrainingTask

Size = tuple[int, int, int]


class LeNet(nn.Module):
    """LeCun et al. 1998: two convolutions with pooling and three full layers. Differs: ReLU, and pooling by maxima."""

    def __init__(self, image: Size, classes: int) -> None:
        super().__init__()
        channels, height, width = image
        self.see = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5, padding=0 if min(height, width) >= 20 else 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        with torch.no_grad():
            size = self.see(torch.zeros(1, *image)).shape[1]
        self.think = nn.Sequential(nn.Linear(size, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU())
        self.tell = nn.Linear(84, classes)

    def hidden(self, images: Tensor) -> Float[Tensor, "batch 84"]:
        """Return the last hidden layer, which the Frechet distance compares."""
        out: Tensor = self.think(self.see(images))
        return out

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        out: Tensor = self.tell(self.hidden(images))
        return out


class Perceptron(nn.Module):
    """Full layers of the given widths with ReLU; `dropout` acts after each hidden one."""

    def __init__(self, image: Size, classes: int, widths: Sequence[int] = (256,), dropout: float = 0.0) -> None:
        super().__init__()
        sizes = (int(np.prod(image)), *widths)
        layers: list[nn.Module] = [nn.Flatten()]
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], classes))

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        out: Tensor = self.layers(images)
        return out


class Forest(nn.Module):
    """Decision trees as arrays: a node tests whether a pixel is at most a threshold; a leaf leads to itself.

    Answers are the logarithms of the trees' mean shares, so that the softmax of them is what scikit-learn gives.
    """

    def __init__(self, weights: Mapping[str, Tensor], depth: int) -> None:
        super().__init__()
        self.depth = depth
        for name in FOREST:
            self.register_buffer(name, weights[name])

    def forward(self, images: Tensor) -> Float[Tensor, "batch label"]:
        flat = images.flatten(1).float()
        buffers = dict(self.named_buffers())
        roots, pixel, limit, left, right, share = (buffers[name] for name in FOREST)
        at = roots.expand(len(flat), -1).clone()
        for _ in range(self.depth):
            low = flat.gather(1, pixel[at]) <= limit[at]
            at = torch.where(low, left[at], right[at])
        return share[at].mean(1).clamp_min(1e-9).log()


FOREST = ("roots", "pixel", "limit", "left", "right", "share")


def forest_arrays(classifier: Any) -> tuple[dict[str, Tensor], int]:
    """Return a scikit-learn forest's trees as arrays laid end to end, and the depth of the deepest."""
    roots, parts = [], []
    base = 0
    for one in classifier.estimators_:
        tree = one.tree_
        leaf = tree.children_left < 0
        here = np.arange(tree.node_count)
        left, right = (np.where(leaf, here, side) + base for side in (tree.children_left, tree.children_right))
        counts = tree.value[:, 0, :]
        # scikit-learn compares a pixel of 32 bits with a threshold of 64: the next lower 32-bit number decides alike
        limit = tree.threshold.astype(np.float32)
        limit = np.where(limit > tree.threshold, np.nextafter(limit, np.float32(-np.inf)), limit)
        parts.append((np.maximum(tree.feature, 0), limit, left, right, counts / counts.sum(1, keepdims=True)))
        roots.append(base)
        base += tree.node_count
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kinds = (np.int64, np.float32, np.int64, np.int64, np.float32)
    tensors = {name: torch.from_numpy(c.astype(k)) for name, c, k in zip(FOREST[1:], joined, kinds, strict=True)}
    depth = max(int(one.tree_.max_depth) for one in classifier.estimators_)
    return {"roots": torch.tensor(roots), **tensors}, depth


def fresh(kind: str, image: Size, classes: int, settings: Mapping[str, Any]) -> nn.Module:
    """Make an untrained network."""
    if kind == "lenet":
        return LeNet(image, classes)
    return Perceptron(image, classes, tuple(settings.get("widths", (256,))), float(settings.get("dropout", 0.0)))


def _check_trees(arrays: Mapping[str, Tensor], pixels: int) -> None:
    """Raise on arrays, as of a manipulated file, that lead to nodes or pixels that do not exist."""
    nodes = len(arrays["left"])
    if any(len(arrays[name]) != nodes for name in FOREST[1:]):
        raise ValueError("the arrays of its trees differ in length")
    for name, most in (("roots", nodes), ("left", nodes), ("right", nodes), ("pixel", pixels)):
        if not bool(((arrays[name] >= 0) & (arrays[name] < most)).all()):
            raise ValueError(f"{name} of its trees lead out of them")


def network(
    kind: str, image: Size, classes: int, settings: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> nn.Module:
    """Make a trained network from its weights."""
    if kind == "forest":
        _check_trees(weights, math.prod(image))
        return Forest(weights, int(settings["depth"]))
    net = fresh(kind, image, classes, settings)
    net.load_state_dict(dict(weights))
    return net


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
            stages=(Stage(losses=self.losses, steps=plan.epochs * self.a_pass),),
            modules={"net": net},
            groups={"net": ParameterGroup(Schedule(rate=plan.rate, decay=plan.decay), net.named_parameters())},
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
