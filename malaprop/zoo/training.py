"""How classifiers of token rows are trained, with hooks for what a defence adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.models.padded_rows import Placed, Ragged, fill_empty_rows
from malaprop.models.tokens.batches import Bounds, batches
from malaprop.training import fit as loop
from malaprop.training.folder import TrainingFolder
from malaprop.training.schedule import ParameterGroup, Schedule, warm_up_and_decay
from malaprop.training.seeds import reseed
from malaprop.training.task import (
    Assessment,
    GradientLoss,
    Losses,
    Stage,
    Sums,
    TrainingMemory,
    TrainingStep,
    TrainingTask,
)


class Rows(NamedTuple):
    """Token rows as the model reads them, with special tokens and cut to its limit, and their labels."""

    tokens: Sequence[Sequence[int]]
    labels: Sequence[int]
    pad: int = 0


class Batch(NamedTuple):
    ids: Int[Tensor, "batch token"]
    lengths: Int[Tensor, " batch"]
    labels: Int[Tensor, " batch"]
    rows: Ints  # which rows of the training set these are
    step: int = 0  # of the training
    own: int = -1  # how many rows are the batch's own; -1 is all of them, else what a defence added stands behind them


class Epoch(NamedTuple):
    """The figures of one pass over the data; `accuracy` is on the part held out."""

    number: int
    loss: float
    accuracy: float
    seconds: float


Vectors = Float[Tensor, "batch token dim"]
Network = Callable[[Int[Tensor, "batch token"], Int[Tensor, " batch"]], Float[Tensor, "batch label"]]
Loss = Callable[[Any, Batch], Float[Tensor, ""]]


def cross_entropy(model: Network, batch: Batch) -> Float[Tensor, ""]:
    return functional.cross_entropy(model(batch.ids, batch.lengths).float(), batch.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The functions that a defence may add to a training.

    `batch` may change or add rows of a batch. `embedded` gets the vectors that the network would read and gives those
    that it reads instead; the network must have `from_vectors` (see `InsightNetwork`). `loss` stands in for cross
    entropy; the network it is given has `embedded` in it. A part of the loss that it has walked back itself it gives
    detached: gradients add up. `graded` gets the model when its gradients are there, before they are clipped and the
    step is taken; `stepped` gets it after the step. `epoch` hears how it goes. `held_out` puts other rows in the place
    of those that epochs are judged by, such as texts with the noise that the model is to stand. `last` keeps the
    weights of the last epoch, where accuracy without an attack does not say which are best. `finish` gets the model
    with the weights that were kept, and the rows that epochs were judged by. `memory` is what a hook made in one step
    for later ones: it is kept with the state of a training that is not done.
    """

    batch: Callable[[Batch], Batch] | None = None
    embedded: Callable[[Vectors, Batch], Vectors] | None = None
    loss: Loss = cross_entropy
    graded: Callable[[nn.Module, Batch], None] | None = None
    stepped: Callable[[nn.Module, Batch], None] | None = None
    epoch: Callable[[Epoch], None] | None = None
    held_out: Callable[[Rows], Rows] | None = None
    last: bool = False
    finish: Callable[[nn.Module, Rows], None] | None = None
    memory: TrainingMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The settings of a classifier's training.

    `rates` gives parameters whose name begins so their own share of `rate`; 0 freezes them.
    """

    epochs: int = 8
    batch: int = 32
    rate: float = 1e-3
    rates: tuple[tuple[str, float], ...] = ()
    decay: float = 0.01
    warmup: float = 0.1  # of all steps; then the rate falls to nothing in a straight line
    clip: float = 1.0
    patience: int = 2  # epochs without a better accuracy on the part held out
    least: int = 1  # times that a word was seen to be known; rarer ones are unknown, which so is learnt

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "least"):
            if not isinstance(getattr(self, name), int):
                raise SettingError(f"training needs a whole number for {name}, got {getattr(self, name)!r}")
        for name in ("rate", "decay", "warmup", "clip"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                raise SettingError(f"training needs a number for {name}, got {value!r}")
        if min(self.epochs, self.batch, self.patience, self.least) < 1 or self.rate <= 0 or self.clip <= 0:
            raise SettingError(f"training needs epochs, batch, patience, least, rate and clip above 0, got {self}")


class FittedClassifier(NamedTuple):
    epochs: list[Epoch]
    accuracy: float  # on the part held out, of the weights that were kept
    seconds: float


def fit(
    model: nn.Module,
    train: Rows,
    held_out: Rows,
    settings: Training,
    *,
    seed: int = 0,
    hooks: Hooks | None = None,
    title: str = "",
    unfinished: TrainingFolder | None = None,
) -> FittedClassifier:
    """Train in place and keep the weights of the epoch that did best on the part held out; a `title` is shown.

    The same seed gives the same weights on the same machine; on a CPU also where the work was killed and goes on from
    what `unfinished` has kept. On a GPU products are in bf16 and nothing waits for the device within an epoch but what
    a network itself asks of it.
    """
    work = Classifying(model, train, held_out, settings, seed=seed, hooks=hooks or Hooks())
    fitted = loop.fit(work.task, unfinished=unfinished, quiet=not title, title=title)
    accuracy = fitted.rank[-2] if fitted.rank else -1.0
    if work.hooks.finish:
        work.hooks.finish(model, work.held_out)
        accuracy = evaluate(model, work.held_out)[0]
    return FittedClassifier(work.history(fitted.looks), accuracy, fitted.seconds)


class Classifying:
    """The training of a classifier of token rows, evaluated on the part held out after each epoch."""

    def __init__(
        self, model: nn.Module, train: Rows, held_out: Rows, settings: Training, *, seed: int, hooks: Hooks
    ) -> None:
        self.model, self.settings, self.seed, self.hooks = model, settings, seed, hooks
        self.device = next(model.parameters()).device
        self.ragged = Ragged.of(train.tokens)
        self.placed = Placed.of(self.ragged, train.labels, train.pad, self.device)
        self.held_out = hooks.held_out(held_out) if hooks.held_out else held_out
        self.a_pass = math.ceil(len(self.ragged) / settings.batch)
        stage = Stage(
            losses=self.losses,
            steps=settings.epochs * self.a_pass,
            look=self.look,
            every=self.a_pass,
            patience=settings.patience,
        )
        schedule = Schedule(
            rate=settings.rate, slope=warm_up_and_decay(settings.warmup), decay=settings.decay, clip=settings.clip
        )
        group = ParameterGroup(schedule, model.named_parameters(), rates=settings.rates, decays=_decays)
        self.task = TrainingTask(
            stages=(stage,),
            modules={"model": model},
            groups={"model": group},
            best="model",
            memories={} if hooks.memory is None else {"hooks": hooks.memory},
        )
        self._pass: tuple[int, list[Ints], list[Int[Tensor, " batch"]]] | None = None

    def losses(self, now: TrainingStep) -> Losses:
        batch = self._batch(now.step)
        reseed(self.seed, now.step)
        many = len(batch.labels)
        if self.hooks.batch:
            batch = self.hooks.batch(batch)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            value = self.hooks.loss(self._network(batch), batch)
        graded, stepped = self.hooks.graded, self.hooks.stepped
        yield GradientLoss("model", value, (lambda: graded(self.model, batch)) if graded else None)
        if stepped:
            stepped(self.model, batch)
        return {"loss": value.detach() * many}

    def _batch(self, step: int) -> Batch:
        number, at = divmod(step, self.a_pass)
        if self._pass is None or self._pass[0] != number:
            order = list(_order(self.ragged, self.settings.batch, generator(self.seed, "epoch", str(number))))
            placed = torch.from_numpy(np.concatenate(order)).to(self.device)
            self._pass = (number, order, list(torch.split(placed, [len(rows) for rows in order])))
        rows = self._pass[1][at]
        width = max(1, int(self.ragged.size[rows].max()))
        return Batch(*self.placed.gather(self._pass[2][at], width), rows, step)

    def _network(self, batch: Batch) -> Network:
        change = self.hooks.embedded
        if change is None:
            return self.model
        model: Any = self.model

        def network(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
            ids, lengths = fill_empty_rows(ids, lengths)
            logits: Tensor = model.from_vectors(change(model.embedding(ids), batch), ids, lengths)
            return logits

        return network

    def look(self, now: TrainingStep, sums: Sums) -> Assessment:
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.mul_(1)  # says that it has changed, to blocks that remember words; fused steps may not
        share, loss = evaluate(self.model, self.held_out)
        self.model.train()
        mean = sums["loss"].total / len(self.ragged)
        if self.hooks.epoch:
            self.hooks.epoch(Epoch(now.step // self.a_pass, mean, share, now.seconds))
        first = (now.step,) if self.hooks.last else ()
        return Assessment({"loss": mean, "accuracy": share}, (*first, share, -loss))

    def history(self, looks: Sequence[Mapping[str, Any]]) -> list[Epoch]:
        return [Epoch(o["step"] // self.a_pass, o["loss"], o["accuracy"], o["seconds"]) for o in looks]


def _decays(name: str, parameter: Tensor) -> bool:
    """Return whether a parameter decays: biases, norms and embeddings do not."""
    return parameter.ndim > 1 and "embedding" not in name


def _order(rows: Ragged, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield batches of similar length in random order: rows are shuffled, and each stretch of 50 batches sorted."""
    shuffled = rng.permutation(len(rows))
    batches: list[Ints] = []
    for begin in range(0, len(shuffled), 50 * size):
        stretch = shuffled[begin : begin + 50 * size]
        stretch = stretch[np.argsort(rows.size[stretch], kind="stable")]
        batches += [stretch[a : a + size] for a in range(0, len(stretch), size)]
    yield from (batches[i] for i in rng.permutation(len(batches)))


def evaluate(model: nn.Module, data: Rows, *, batch: int | None = None) -> tuple[float, float]:
    """Return the accuracy and the mean loss of a model on rows."""
    right, loss = torch.zeros(()), torch.zeros(())
    for logits, labels in answer(model, data, batch=batch):
        right = right + (logits.argmax(1) == labels).sum()
        loss = loss + functional.cross_entropy(logits, labels, reduction="sum")
    many = max(1, len(data.labels))
    return float(right) / many, float(loss) / many


@torch.inference_mode()
def answer(
    model: nn.Module, data: Rows, *, batch: int | None = None
) -> Iterator[tuple[Float[Tensor, "batch label"], Int[Tensor, " batch"]]]:
    """Yield logits of the rows, and their labels, in batches of similar length."""
    model.eval()
    device = next(model.parameters()).device
    bounds = Bounds(rows=batch or (1024 if device.type == "cuda" else 128), tokens=1 << 16, waste=0.5)
    rows = Ragged.of(data.tokens)
    placed = Placed.of(rows, data.labels, data.pad, device)
    for part in batches(rows.size, bounds):
        width = max(1, int(rows.size[part].max()))
        ids, lengths, labels = placed.gather(torch.from_numpy(part).to(device), width)
        yield model(ids, lengths).float(), labels
