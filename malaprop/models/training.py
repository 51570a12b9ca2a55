"""One training loop for every model that reads token rows, with hooks for what a defence adds."""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints


class Rows(NamedTuple):
    """Token rows as the model reads them, with special tokens and cut to its limit, and their labels."""

    tokens: Sequence[Sequence[int]]
    labels: Sequence[int]


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


Loss = Callable[[nn.Module, Batch], Float[Tensor, ""]]


def cross_entropy(model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
    return functional.cross_entropy(model(batch.ids, batch.lengths), batch.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """`batch` may change or add rows of a batch, `loss` stands in for cross entropy, `epoch` hears how it goes."""

    batch: Callable[[Batch], Batch] | None = None
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

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.patience) < 1 or self.rate <= 0 or self.clip <= 0:
            raise SettingError(f"training wants epochs, batch, patience, rate and clip above 0, got {self}")


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
) -> Fitted:
    """Trains in place and leaves the weights of the epoch that did best on the part held out.

    The same seed gives the same weights on the same machine.
    """
    hooks = hooks or Hooks()
    began = time.perf_counter()
    device = next(model.parameters()).device
    steps = settings.epochs * math.ceil(len(train.tokens) / settings.batch)
    optimiser = torch.optim.AdamW(_groups(model, settings), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _slope(step, steps, settings.warmup))
    history: list[Epoch] = []
    best, kept = (-1.0, 0.0), copy.deepcopy(model.state_dict())
    with seeded(seed), _bar(title, steps, quiet) as advance:
        for number in range(settings.epochs):
            model.train()
            total = 0.0
            for rows in _order(train, settings.batch, generator(seed, "epoch", str(number))):
                batch = pack(train, rows, device)
                total += _step(model, hooks.batch(batch) if hooks.batch else batch, hooks.loss, optimiser, settings)
                schedule.step()
                advance()
            share, loss = judge(model, held_out)
            seconds = time.perf_counter() - began
            history.append(Epoch(number + 1, total / max(1, len(train.tokens)), share, seconds))
            if hooks.epoch:
                hooks.epoch(history[-1])
            if (share, -loss) > best:
                best, kept, stale = (share, -loss), copy.deepcopy(model.state_dict()), 0
            else:
                stale += 1
                if stale >= settings.patience:
                    break
    model.load_state_dict(kept)
    model.eval()
    return Fitted(history, best[0], time.perf_counter() - began)


def _groups(model: nn.Module, settings: Training) -> list[dict[str, object]]:
    """Parameters by their rate; biases, norms and embeddings do not decay."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        share = next((share for prefix, share in settings.rates if name.startswith(prefix)), 1.0)
        parameter.requires_grad_(share > 0)
        if share > 0:
            decay = settings.decay if parameter.ndim > 1 and "embedding" not in name else 0.0
            groups.setdefault((settings.rate * share, decay), []).append(parameter)
    return [{"params": ps, "lr": rate, "weight_decay": decay} for (rate, decay), ps in groups.items()]


def _slope(step: int, steps: int, warmup: float) -> float:
    rise = max(1, round(steps * warmup))
    return (step + 1) / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


def _order(train: Rows, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Batches of like length in random order: shuffled, cut in stretches of 50 batches, and each stretch sorted."""
    lengths = np.fromiter(map(len, train.tokens), np.int64)
    shuffled = rng.permutation(len(lengths))
    batches: list[Ints] = []
    for begin in range(0, len(shuffled), 50 * size):
        stretch = shuffled[begin : begin + 50 * size]
        stretch = stretch[np.argsort(lengths[stretch], kind="stable")]
        batches += [stretch[a : a + size] for a in range(0, len(stretch), size)]
    yield from (batches[i] for i in rng.permutation(len(batches)))


def pack(data: Rows, rows: Ints, device: torch.device) -> Batch:
    """Rows side by side, padded with 0."""
    tokens = [data.tokens[i] for i in rows.tolist()]
    lengths = [len(row) for row in tokens]
    ids = np.zeros((len(tokens), max(1, *lengths)), np.int64)
    for line, row in zip(ids, tokens, strict=True):
        line[: len(row)] = row
    numbers = (ids, lengths, [data.labels[i] for i in rows.tolist()])
    put, sizes, labels = (torch.tensor(x, device=device) for x in numbers)
    return Batch(put, sizes, labels, rows)


def _step(model: nn.Module, batch: Batch, loss: Loss, optimiser: torch.optim.Optimizer, settings: Training) -> float:
    optimiser.zero_grad(set_to_none=True)
    value = loss(model, batch)
    amount = value.item()
    if not math.isfinite(amount):
        raise VictimError(f"training broke down: the loss became {amount}; use a smaller rate than {settings.rate}")
    value.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_([p for g in optimiser.param_groups for p in g["params"]], settings.clip)
    optimiser.step()
    return amount * len(batch.labels)


@torch.inference_mode()
def judge(model: nn.Module, data: Rows, *, batch: int = 128) -> tuple[float, float]:
    """Accuracy and mean loss."""
    model.eval()
    device = next(model.parameters()).device
    order = np.argsort(np.fromiter(map(len, data.tokens), np.int64), kind="stable")
    right, loss = 0, 0.0
    for begin in range(0, len(order), batch):
        part = pack(data, order[begin : begin + batch], device)
        logits = model(part.ids, part.lengths)
        right += int((logits.argmax(1) == part.labels).sum())
        loss += float(functional.cross_entropy(logits, part.labels, reduction="sum"))
    return right / max(1, len(order)), loss / max(1, len(order))


@contextmanager
def _bar(title: str, steps: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=steps)
        yield lambda: progress.advance(task)
