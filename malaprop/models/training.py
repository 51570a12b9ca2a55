"""One training loop for every model that reads token rows, with hooks for what a defence adds."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.models.blocks.rows import settled
from malaprop.models.tokens.batches import Bounds, batches
from malaprop.models.tokens.ragged import Placed, Ragged
from malaprop.models.unfinished import Unfinished

_LOOK = 100  # steps between two looks at the loss; each look waits for the device


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


class Epoch(NamedTuple):
    """What one pass over the data came to; `accuracy` is on the part held out."""

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
    """What a defence may add.

    `batch` may change or add rows of a batch. `embedded` gets the vectors that the network would read and gives those
    that it reads instead; the network must offer `from_vectors` (see `blocks.offers.Shows`). `loss` stands in for cross
    entropy; the network it is given has `embedded` in it. A part of the loss that it has walked back itself it gives
    detached: gradients add up. `epoch` hears how it goes.
    """

    batch: Callable[[Batch], Batch] | None = None
    embedded: Callable[[Vectors, Batch], Vectors] | None = None
    loss: Loss = cross_entropy
    epoch: Callable[[Epoch], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """`rates` gives parameters whose name begins so their own share of `rate`; 0 leaves them as they are."""

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
                raise SettingError(f"training wants a whole number for {name}, got {getattr(self, name)!r}")
        for name in ("rate", "decay", "warmup", "clip"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                raise SettingError(f"training wants a number for {name}, got {value!r}")
        if min(self.epochs, self.batch, self.patience, self.least) < 1 or self.rate <= 0 or self.clip <= 0:
            raise SettingError(f"training wants epochs, batch, patience, least, rate and clip above 0, got {self}")


class Fitted(NamedTuple):
    epochs: list[Epoch]
    accuracy: float  # on the part held out, of the weights that were kept
    seconds: float


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch draws from this seed inside, and goes on as before outside."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def fit(
    model: nn.Module,
    train: Rows,
    held_out: Rows,
    settings: Training,
    *,
    seed: int = 0,
    hooks: Hooks | None = None,
    quiet: bool = True,
    title: str = "training",
    unfinished: Unfinished | None = None,
) -> Fitted:
    """Trains in place and leaves the weights of the epoch that did best on the part held out.

    The same seed gives the same weights on the same machine; on a CPU also where the work was killed and goes on from
    what `unfinished` has kept. On a GPU products are in bf16 and nothing waits for the device within an epoch but what
    a network itself asks of it.
    """
    work = _Work(model, train, held_out, settings, seed, hooks or Hooks())
    before = unfinished.restore(work.state, work.fill) if unfinished else 0.0
    began = time.perf_counter()
    model.train()
    with seeded(seed), _bar(title, work.steps, quiet) as show:
        while not work.ended:
            work.advance(lambda: before + time.perf_counter() - began)
            show(work.step)
            if unfinished:
                unfinished.maybe(work.state, before + time.perf_counter() - began)
    model.load_state_dict(work.kept)
    model.eval()
    return Fitted(work.history, work.best[0], before + time.perf_counter() - began)


class _Work:
    """Where a training stands; a step draws from a seed of its own, so random numbers need no state."""

    def __init__(
        self, model: nn.Module, train: Rows, held_out: Rows, settings: Training, seed: int, hooks: Hooks
    ) -> None:
        self.model, self.settings, self.seed, self.hooks = model, settings, seed, hooks
        self.device = next(model.parameters()).device
        self.ragged = Ragged.of(train.tokens)
        self.placed = Placed.of(self.ragged, train.labels, train.pad, self.device)
        self.held_out = held_out
        self.a_pass = math.ceil(len(self.ragged) / settings.batch)
        self.steps = settings.epochs * self.a_pass
        self.optimiser = torch.optim.AdamW(_groups(model, settings), lr=settings.rate, fused=self.device.type == "cuda")
        self.step, self.stale, self.ended = 0, 0, not self.a_pass
        self.best, self.history = (-1.0, 0.0), list[Epoch]()
        self.kept = _copied(model)
        self.loss = torch.zeros((), device=self.device)
        self._pass: tuple[int, list[Ints], list[Int[Tensor, " batch"]]] | None = None

    def advance(self, clock: Callable[[], float]) -> None:
        """One step; the last one of an epoch is followed by a look at the part held out."""
        batch = self._batch()
        torch.manual_seed(int(generator(self.seed, "step", str(self.step)).integers(1 << 62)))
        slope = _slope(self.step, self.steps, self.settings.warmup)
        for group in self.optimiser.param_groups:
            group["lr"] = group["own"] * slope
        many = len(batch.labels)
        if self.hooks.batch:
            batch = self.hooks.batch(batch)
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            value = self.hooks.loss(self._network(batch), batch)
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([p for g in self.optimiser.param_groups for p in g["params"]], self.settings.clip)
        self.optimiser.step()
        self.loss += value.detach() * many
        self.step += 1
        if self.step % self.a_pass == 0:
            self._end_epoch(clock())
        elif self.step % _LOOK == 0:
            self._finite()

    def _batch(self) -> Batch:
        number, at = divmod(self.step, self.a_pass)
        if self._pass is None or self._pass[0] != number:
            order = list(_order(self.ragged, self.settings.batch, generator(self.seed, "epoch", str(number))))
            placed = torch.from_numpy(np.concatenate(order)).to(self.device)
            self._pass = (number, order, list(torch.split(placed, [len(rows) for rows in order])))
        rows = self._pass[1][at]
        width = max(1, int(self.ragged.size[rows].max()))
        return Batch(*self.placed.gather(self._pass[2][at], width), rows)

    def _network(self, batch: Batch) -> Network:
        change = self.hooks.embedded
        if change is None:
            return self.model
        model: Any = self.model

        def network(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
            ids, lengths = settled(ids, lengths)
            logits: Tensor = model.from_vectors(change(model.embedding(ids), batch), ids, lengths)
            return logits

        return network

    def _finite(self) -> float:
        amount = float(self.loss)
        if not math.isfinite(amount):
            raise VictimError(
                f"training broke down: the loss became {amount}; use a smaller rate than {self.settings.rate}"
            )
        return amount

    def _end_epoch(self, seconds: float) -> None:
        mean = self._finite() / len(self.ragged)
        self.loss.zero_()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.mul_(1)  # says that it has changed, to blocks that remember words; fused steps may not
        share, loss = judge(self.model, self.held_out)
        self.model.train()
        self.history.append(Epoch(self.step // self.a_pass, mean, share, seconds))
        if self.hooks.epoch:
            self.hooks.epoch(self.history[-1])
        better = (share, -loss) > self.best
        self.stale = 0 if better else self.stale + 1
        if better:
            self.best, self.kept = (share, -loss), _copied(self.model)
        self.ended = self.step >= self.steps or self.stale >= self.settings.patience

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that the rest of the work depends on, as tensors and as plain values."""
        tensors = {f"now|{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"kept|{name}": tensor for name, tensor in self.kept.items()} | {"loss|": self.loss}
        for name, parameter in self.model.named_parameters():
            held = self.optimiser.state.get(parameter, {})
            tensors |= {f"{key}|{name}": value for key, value in held.items()}
        notes = {"step": self.step, "stale": self.stale, "best": self.best, "epochs": [list(e) for e in self.history]}
        return tensors, {**notes, "ended": self.ended}

    def fill(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Tensor]] = {}
        for label, tensor in tensors.items():
            key, _, name = label.partition("|")
            parts.setdefault(key, {})[name] = tensor.to(self.device)
        self.model.load_state_dict(parts.pop("now"))
        self.kept, self.loss = parts.pop("kept"), parts.pop("loss")[""]
        parameters = dict(self.model.named_parameters())
        for key, values in parts.items():
            for name, value in values.items():
                self.optimiser.state[parameters[name]][key] = value
        self.step, self.stale, self.ended = notes["step"], notes["stale"], notes["ended"]
        self.best, self.history = (notes["best"][0], notes["best"][1]), [Epoch(*e) for e in notes["epochs"]]


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _groups(model: nn.Module, settings: Training) -> list[dict[str, object]]:
    """Parameters by their rate; biases, norms and embeddings do not decay. What is frozen stays so."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        share = next((share for prefix, share in settings.rates if name.startswith(prefix)), 1.0)
        parameter.requires_grad_(share > 0 and parameter.requires_grad)
        if parameter.requires_grad:
            decay = settings.decay if parameter.ndim > 1 and "embedding" not in name else 0.0
            groups.setdefault((settings.rate * share, decay), []).append(parameter)
    return [{"params": ps, "own": rate, "lr": rate, "weight_decay": decay} for (rate, decay), ps in groups.items()]


def _slope(step: int, steps: int, warmup: float) -> float:
    rise = max(1, round(steps * warmup))
    return (step + 1) / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


def _order(rows: Ragged, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Batches of like length in random order: shuffled, cut in stretches of 50 batches, and each stretch sorted."""
    shuffled = rng.permutation(len(rows))
    batches: list[Ints] = []
    for begin in range(0, len(shuffled), 50 * size):
        stretch = shuffled[begin : begin + 50 * size]
        stretch = stretch[np.argsort(rows.size[stretch], kind="stable")]
        batches += [stretch[a : a + size] for a in range(0, len(stretch), size)]
    yield from (batches[i] for i in rng.permutation(len(batches)))


@torch.inference_mode()
def judge(model: nn.Module, data: Rows, *, batch: int | None = None) -> tuple[float, float]:
    """Accuracy and mean loss."""
    model.eval()
    device = next(model.parameters()).device
    bounds = Bounds(rows=batch or (1024 if device.type == "cuda" else 128), tokens=1 << 16, waste=0.5)
    rows = Ragged.of(data.tokens)
    placed = Placed.of(rows, data.labels, data.pad, device)
    right, loss = torch.zeros((), device=device), torch.zeros((), device=device)
    for part in batches(rows.size, bounds):
        width = max(1, int(rows.size[part].max()))
        ids, lengths, labels = placed.gather(torch.from_numpy(part).to(device), width)
        logits = model(ids, lengths).float()
        right += (logits.argmax(1) == labels).sum()
        loss += functional.cross_entropy(logits, labels, reduction="sum")
    return float(right) / max(1, len(rows)), float(loss) / max(1, len(rows))


@contextmanager
def _bar(title: str, steps: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda step: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=steps)
        yield lambda step: progress.update(task, completed=step)
