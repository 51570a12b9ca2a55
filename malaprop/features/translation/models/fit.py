"""Trains a translation network: batches by tokens, averaged weights, and the weights of the best held-out BLEU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.features.translation.models.subwords import BOS, PAD
from malaprop.models.padded_rows import Ragged
from malaprop.training import fit as loop
from malaprop.training.folder import TrainingFolder
from malaprop.training.schedule import ParameterGroup, Schedule, follow, inverse_root
from malaprop.training.seeds import reseed
from malaprop.training.task import Assessment, GradientLoss, Losses, Stage, Sums, TrainingStep, TrainingTask


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationPlan:
    """The settings of a training.

    `tokens` is the size of a batch with padding. The learning rate rises over `warmup` steps and then falls as one over
    the root of the step.

    `average` is the decay of the running mean of the weights; 0 uses the weights themselves. Training ends after
    `patience` evaluations of held-out BLEU without improvement, one an epoch from `look_from` on.
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


class TranslationEpoch(NamedTuple):
    """The figures of one epoch; `bleu` is -1 where it was not evaluated."""

    number: int
    loss: float
    bleu: float
    seconds: float


class PairRows(NamedTuple):
    """The training pairs as pieces, each side with its end mark."""

    sources: Ragged
    targets: Ragged


Judge = Callable[[nn.Module], float]


class Translating:
    """The training task of a translation model; it evaluates and keeps a running mean of the weights."""

    def __init__(self, model: nn.Module, rows: PairRows, plan: TranslationPlan, judge: Judge, *, seed: int) -> None:
        self.model, self.rows, self.plan, self.judge, self.seed = model, rows, plan, judge, seed
        self.device = next(model.parameters()).device
        self.mean = deepcopy(model).requires_grad_(False)
        self._batches: tuple[int, list[Ints]] = (0, _batches(rows, plan.tokens, seed, 0))
        self.a_pass = len(self._batches[1])  # the same in every epoch: it depends on the lengths alone
        stage = Stage(
            losses=self.losses,
            steps=plan.epochs * self.a_pass,
            look=self.look,
            every=self.a_pass,
            patience=plan.patience,
        )
        schedule = Schedule(
            rate=plan.rate,
            slope=inverse_root(plan.warmup),
            decay=plan.decay,
            clip=plan.clip,
            betas=(0.9, 0.98),
            eps=1e-9,
        )
        self.task = TrainingTask(
            phases=(stage,),
            modules={"model": model, "mean": self.mean},
            learners={"model": ParameterGroup(schedule, model.named_parameters())},
            best="mean",
        )

    def losses(self, now: TrainingStep) -> Losses:
        reseed(self.seed, now.step)
        epoch, at = divmod(now.step, self.a_pass)
        if self._batches[0] != epoch:
            self._batches = (epoch, _batches(self.rows, self.plan.tokens, self.seed, epoch))
        half = self.device.type == "cuda" and bool(self.model.half_precision)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = _loss(self.model, self.rows, self._batches[1][at], self.device, self.plan.smoothing)
        yield GradientLoss("model", loss)
        follow(self.mean, self.model, self.plan.average, now.step + 1)
        return {"loss": loss}

    def look(self, now: TrainingStep, sums: Sums) -> Assessment:
        """Evaluate held-out BLEU of the averaged weights."""
        epoch, loss = now.step // self.a_pass, sums["loss"].mean
        late = 0 < 60 * self.plan.minutes <= now.seconds
        if epoch < self.plan.look_from and epoch != self.plan.epochs:
            return Assessment({"loss": loss, "bleu": -1.0}, over=late)
        bleu = self.judge(self.mean)
        return Assessment({"loss": loss, "bleu": bleu}, (bleu,), late)


def fit(
    model: nn.Module,
    rows: PairRows,
    plan: TranslationPlan,
    judge: Judge,
    *,
    seed: int,
    unfinished: TrainingFolder,
    title: str = "",
    on_epoch: Callable[[TranslationEpoch], None] | None = None,
) -> list[TranslationEpoch]:
    """Train a model in place and leave the best weights in it; `title` is the progress bar's.

    On a CPU a killed training resumes to the very same weights.
    """
    work = Translating(model, rows, plan, judge, seed=seed)

    def epoch(step: int, figures: Mapping[str, float], seconds: float) -> TranslationEpoch:
        return TranslationEpoch(step // work.a_pass, figures["loss"], figures["bleu"], seconds)

    def listen(now: TrainingStep, look: Assessment) -> None:
        if on_epoch:
            on_epoch(epoch(now.step, look.figures, now.seconds))

    fitted = loop.fit(work.task, unfinished=unfinished, title=title, quiet=not title, listen=[listen])
    model.load_state_dict(work.mean.state_dict())
    return [epoch(look["step"], look, look["seconds"]) for look in fitted.looks]


def _batches(rows: PairRows, tokens: int, seed: int, epoch: int) -> list[Ints]:
    """Group pairs of similar length into batches; they depend on the seed and the epoch alone."""
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
    """Return the picked rows with padding, and their lengths."""
    size = rows.size[picked]
    column = np.arange(int(size.max()))
    inside = column < size[:, None]
    place = np.where(inside, rows.start[picked][:, None] + column, 0)
    return torch.from_numpy(np.where(inside, rows.flat[place], PAD)), torch.from_numpy(size)


def _loss(model: nn.Module, rows: PairRows, picked: Ints, device: torch.device, smoothing: float) -> Float[Tensor, ""]:
    sources, lengths = padded(rows.sources, picked)
    targets, _ = padded(rows.targets, picked)
    sources, targets = sources.to(device, non_blocking=True), targets.to(device, non_blocking=True)
    before = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], 1)
    logits = model.decode(model.encode(sources, lengths), before)  # type: ignore[operator]
    return functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )
