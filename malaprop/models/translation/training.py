"""The loop that trains a translation model: batches by tokens, averaged weights, the best by BLEU, exact resume."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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
from malaprop.models.fitting.seeds import seeded
from malaprop.models.fitting.state import Unfinished
from malaprop.models.tokens.ragged import Ragged
from malaprop.models.translation.subwords import BOS, PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`tokens` a batch counts padding; the rate rises over `warmup` steps, then falls as one over the root of the step.

    `average` is the share of the running mean of the weights that a step leaves as it was; 0 takes the weights as they
    are. `patience` counts looks at the held-out BLEU, one an epoch from `look_from` on, that bring nothing better.
    """

    epochs: int = 60
    tokens: int = 4096
    rate: float = 0.002
    warmup: int = 1000
    smoothing: float = 0.1
    decay: float = 0.0001
    clip: float = 1.0
    average: float = 0.998
    patience: int = 15
    look_from: int = 1
    minutes: float = 0.0  # no new epoch begins later than this; 0: no such bound, and the same weights every time

    def __post_init__(self) -> None:
        if min(self.epochs, self.tokens, self.patience, self.look_from) < 1 or self.warmup < 0 or self.minutes < 0:
            raise SettingError(f"epochs, tokens, patience and look_from must be 1 or more, got {self}")
        if min(self.rate, self.clip) <= 0 or not (0 <= self.smoothing < 1 and 0 <= self.average < 1):
            raise SettingError(f"rate and clip must be above 0, smoothing and average from 0 to below 1, got {self}")

    def slope(self, step: int) -> float:
        rise = max(1, self.warmup)
        return min((step + 1) / rise, math.sqrt(rise / (step + 1)))


class Epoch(NamedTuple):
    number: int
    loss: float
    bleu: float
    seconds: float


class Rows(NamedTuple):
    """Sources and targets as pieces, each with its end mark."""

    sources: Ragged
    targets: Ragged


Judge = Callable[[nn.Module], float]


class Fitting:
    """The work and all that the rest of it depends on."""

    def __init__(self, model: nn.Module, rows: Rows, plan: Plan, judge: Judge, *, seed: int) -> None:
        self.model, self.rows, self.plan, self.judge, self.seed = model, rows, plan, judge, seed
        self.device = next(model.parameters()).device
        gpu = self.device.type == "cuda"
        self.optimiser = torch.optim.AdamW(
            model.parameters(), lr=plan.rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=plan.decay, fused=gpu
        )
        self.mean = _copied(model)
        self.kept = _copied(model)
        self.history: list[Epoch] = []
        self.step = self.epoch = self.at = self.stale = 0
        self.best = -1.0
        self.loss = torch.zeros((), device=self.device)
        self.before = 0.0
        self._batches: tuple[int, list[Ints]] | None = None

    @property
    def ended(self) -> bool:
        late = 0 < 60 * self.plan.minutes <= (self.history[-1].seconds if self.history else 0.0)
        return self.epoch >= self.plan.epochs or self.stale >= self.plan.patience or late

    def batches(self) -> list[Ints]:
        if self._batches is None or self._batches[0] != self.epoch:
            self._batches = (self.epoch, _batches(self.rows, self.plan.tokens, self.seed, self.epoch))
        return self._batches[1]

    def advance(self) -> None:
        """One step."""
        torch.manual_seed(int(generator(self.seed, "step", str(self.step)).integers(1 << 62)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate * self.plan.slope(self.step)
        picked = self.batches()[self.at]
        half = self.device.type == "cuda" and bool(self.model.half_precision)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = _loss(self.model, self.rows, picked, self.device, self.plan.smoothing)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimiser.step()
        self.loss += loss.detach()
        self.step, self.at = self.step + 1, self.at + 1
        self._average()

    @torch.no_grad()
    def _average(self) -> None:
        share = min(self.plan.average, (1 + self.step) / (10 + self.step))
        now = self.model.state_dict()
        torch._foreach_lerp_([self.mean[name] for name in now], list(now.values()), 1 - share)

    def look(self, seconds: float) -> Epoch:
        """Ends an epoch: BLEU of the averaged weights on what was held out."""
        mean = float(self.loss) / max(1, self.at)
        if not math.isfinite(mean):
            raise SettingError(f"training broke down: the loss became {mean}; use a smaller rate than {self.plan.rate}")
        self.epoch, self.at = self.epoch + 1, 0
        self.loss.zero_()
        bleu = -1.0
        if self.epoch >= self.plan.look_from or self.epoch == self.plan.epochs:
            now = _copied(self.model)
            self.model.load_state_dict(self.mean)
            bleu = self.judge(self.model.eval())
            better = bleu > self.best or not self.history
            self.stale = 0 if better else self.stale + 1
            if better:
                self.best, self.kept = bleu, {name: t.clone() for name, t in self.mean.items()}
            self.model.load_state_dict(now)
            self.model.train()
        self.history.append(Epoch(self.epoch, mean, bleu, seconds))
        return self.history[-1]

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"now|{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"kept|{name}": tensor for name, tensor in self.kept.items()}
        tensors |= {f"mean|{name}": tensor for name, tensor in self.mean.items()} | {"loss|": self.loss}
        for name, parameter in self.model.named_parameters():
            held = self.optimiser.state.get(parameter, {})
            tensors |= {f"{key}|{name}": value for key, value in held.items()}
        notes = {name: getattr(self, name) for name in ("step", "epoch", "at", "stale", "best")}
        return tensors, {**notes, "history": [list(epoch) for epoch in self.history]}

    def fill(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        found: dict[str, dict[str, Tensor]] = {}
        for label, tensor in tensors.items():
            key, _, name = label.partition("|")
            found.setdefault(key, {})[name] = tensor.to(self.device)
        self.model.load_state_dict(found.pop("now"))
        self.kept, self.mean, self.loss = found.pop("kept"), found.pop("mean"), found.pop("loss")[""]
        parameters = dict(self.model.named_parameters())
        for key, values in found.items():
            for name, value in values.items():
                self.optimiser.state[parameters[name]][key] = value
        for name in ("step", "epoch", "at", "stale", "best"):
            setattr(self, name, notes[name])
        self.history = [Epoch(*epoch) for epoch in notes["history"]]


def fit(
    model: nn.Module,
    rows: Rows,
    plan: Plan,
    judge: Judge,
    *,
    seed: int,
    unfinished: Unfinished,
    heard: Callable[[Epoch], None] | None = None,
    shown: Callable[[float, float], None] | None = None,
) -> list[Epoch]:
    """Trains in place and leaves the best weights in it; on a CPU a killed work goes on to the very same weights."""
    work = Fitting(model, rows, plan, judge, seed=seed)
    before, began = unfinished.restore(work.state, work.fill), time.perf_counter()

    def seconds() -> float:
        return before + time.perf_counter() - began

    model.train()
    with seeded(seed):
        while not work.ended:
            count = len(work.batches())
            while work.at < count:
                work.advance()
                unfinished.maybe(work.state, seconds())
                if shown and work.at % 20 == 0:
                    shown((work.epoch + work.at / count) / plan.epochs, float(work.loss) / work.at)
            epoch = work.look(seconds())
            if heard:
                heard(epoch)
    model.load_state_dict(work.kept)
    model.eval()
    return work.history


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _batches(rows: Rows, tokens: int, seed: int, epoch: int) -> list[Ints]:
    """Pairs of about one length together, as many as fit; known from the seed and the epoch alone."""
    rng = generator(seed, "epoch", str(epoch))
    order = rng.permutation(len(rows.sources))
    longest = np.maximum(rows.sources.size, rows.targets.size)[order]
    order = order[np.argsort(longest, kind="stable")]
    out: list[Ints] = []
    begin = 0
    sizes = np.maximum(rows.sources.size, rows.targets.size)[order].tolist()
    for at, size in enumerate(sizes):
        if at > begin and (at - begin + 1) * size > tokens:
            out.append(order[begin:at])
            begin = at
    out.append(order[begin:])
    return [out[i] for i in rng.permutation(len(out))]


def padded(rows: Ragged, picked: Ints) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, " batch"]]:
    """Rows side by side, padded, and their lengths."""
    size = rows.size[picked]
    column = np.arange(int(size.max()))
    inside = column < size[:, None]
    place = np.where(inside, rows.start[picked][:, None] + column, 0)
    return torch.from_numpy(np.where(inside, rows.flat[place], PAD)), torch.from_numpy(size)


def _loss(model: nn.Module, rows: Rows, picked: Ints, device: torch.device, smoothing: float) -> Float[Tensor, ""]:
    sources, lengths = padded(rows.sources, picked)
    targets, _ = padded(rows.targets, picked)
    sources, targets = sources.to(device, non_blocking=True), targets.to(device, non_blocking=True)
    before = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], 1)
    logits = model.decode(model.encode(sources, lengths), before)  # type: ignore[operator]
    return functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )
