"""Pre-training of an encoder, from its data to its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.assets.download import say
from malaprop.core.errors import SettingError
from malaprop.core.settings import call
from malaprop.core.text import Ints
from malaprop.training.card import Card, stamp, write_card
from malaprop.training.fit import Fitted, fit
from malaprop.training.folder import TrainingFolder, check_target, write_folder
from malaprop.training.schedule import ParameterGroup, Schedule, follow_budget
from malaprop.training.seeds import RowOrder, reseed
from malaprop.training.splits import Read
from malaprop.training.task import GradientLoss, Losses, Stage, TrainingStep, TrainingTask
from malaprop.zoo.pretrain import KINDS, home
from malaprop.zoo.pretrain.texts import Corpus, corpus


class EncoderWork(Protocol):
    """The pre-training of one encoder: its model, the rows it learns from, its evaluation and its files."""

    @property
    def model(self) -> nn.Module: ...
    @property
    def rows(self) -> int: ...
    @property
    def row_tokens(self) -> int: ...
    @property
    def shape(self) -> dict[str, Any]: ...

    @property
    def rates(self) -> tuple[tuple[str, float], ...]:
        """Return shares of the rate, for parameters whose name begins with the given string."""

    @property
    def fingerprint(self) -> str:
        """Return a digest of the vocabulary, which is made from the text."""

    @property
    def origin(self) -> str | None:
        """Return the weights it started from, None for random ones."""

    def at(self, progress: float) -> None:
        """Adapt to the share of the budget that is spent, from 0 to 1; called before each step."""

    def loss(self, rows: Ints) -> Float[Tensor, ""]: ...

    def figures(self) -> dict[str, float]: ...

    def about(self, trained: str) -> str:
        """Describe the encoder in a sentence, given what it was trained on."""

    def save(self, folder: Path, *, half: bool) -> None: ...


def make_schedule(plan: Any) -> Schedule:
    """Make the schedule of a pre-training from its settings; every kind has these names."""
    if min(plan.batch, plan.every) < 1 or min(plan.rate, plan.clip) <= 0 or not 0 <= plan.warmup < 1:
        raise SettingError(
            f"batch, every, rate and clip must be above 0 and warmup below 1, got {plan.batch}, {plan.every}, "
            f"{plan.rate}, {plan.clip} and {plan.warmup}"
        )
    slope = follow_budget(plan.warmup)
    return Schedule(rate=plan.rate, slope=slope, decay=plan.decay, clip=plan.clip, betas=(0.9, 0.98), eps=1e-6)


def make_training_task(
    work: EncoderWork, schedule: Schedule, passes: RowOrder, *, steps: int | None, minutes: float | None
) -> TrainingTask:
    """Make the task of a pre-training: one stage, after which the weights of the last step stay."""
    device = next(work.model.parameters()).device

    def losses(now: TrainingStep) -> Losses:
        reseed(passes.seed, now.step)
        work.at(now.progress)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = work.loss(passes.rows_of(now.step))
        yield GradientLoss("model", loss)
        return {"loss": loss}

    group = ParameterGroup(
        schedule, work.model.named_parameters(), rates=work.rates, decays=lambda _, weight: weight.ndim > 1
    )
    return TrainingTask(
        stages=(Stage(losses=losses, steps=steps, minutes=minutes),),
        modules={"model": work.model},
        groups={"model": group},
    )


def plan(kind: str, settings: Mapping[str, Any] | None = None) -> Any:
    """Return the settings of a kind with some of them changed; raise on a value of the wrong type."""
    make = KINDS[kind]
    defaults = make()
    given = dict(settings or {})
    for name, value in given.items():
        usual = getattr(defaults, name, None)
        wanted = (
            (int, float) if isinstance(usual, float) else (list, tuple) if isinstance(usual, tuple) else type(usual)
        )
        if usual is not None and (not isinstance(value, wanted) or isinstance(value, bool) != isinstance(usual, bool)):
            raise SettingError(f"{kind}: {name} is like {usual!r}, got {value!r}")
    return call(make, given, kind)


def pretrain(  # noqa: PLR0913 - users set them by name
    kind: str,
    *,
    data: str,
    read: Read,
    folder: Path | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    settings: Mapping[str, Any] | None = None,
    start: str | None = None,
    half: bool = False,
    device: str = "auto",
    seed: int = 0,
    quiet: bool = False,
) -> tuple[Path, Card]:
    """Pre-train an encoder and write its folder whole or not at all.

    What was killed goes on when it is asked for again with the same settings. Without `steps` or `minutes` it reads the
    text as many times as its settings say.
    """
    how = plan(kind, settings)
    schedule = make_schedule(how)
    target = (folder or home(kind)).absolute()
    check_target(target, "encoder")
    place, texts = _device(device), corpus(data, read)
    work: EncoderWork = how.begin(texts, seed=seed, device=place, start=start)
    passes = RowOrder(work.rows, how.batch, seed)
    steps = steps or (None if minutes else max(1, math.ceil(how.passes * passes.steps)))
    recipe = {"kind": kind, "data": texts.fingerprint, "vocabulary": work.fingerprint, "seed": seed, "start": start}
    recipe |= {"settings": asdict(how), "steps": steps, "minutes": minutes}
    unfinished = TrainingFolder.beside(target, recipe, steps=how.every, strict=True)
    if not quiet:
        say(f"pre-training {kind} on {texts.name} ({work.rows * work.row_tokens:,} tokens) on {place.type}")
    task = make_training_task(work, schedule, passes, steps=steps, minutes=minutes)
    fitted = fit(task, unfinished=unfinished, quiet=quiet, title=f"pre-training {kind}")
    card = _card(kind, how, work, texts, fitted, seed)
    with write_folder(target, "encoder") as made:
        work.save(made, half=half)
        write_card(made, card)
    unfinished.clear()
    return target, card


def _device(name: str) -> torch.device:
    wanted = ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    if wanted.partition(":")[0] not in ("cpu", "cuda"):
        raise SettingError(f"--device is cpu, cuda or auto, got {name!r}")
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise SettingError(f"--device {name}: no CUDA device is here; use cpu or auto")
    return torch.device(wanted)


def _card(kind: str, how: Any, work: EncoderWork, texts: Corpus, fitted: Fitted, seed: int) -> Card:
    tokens = fitted.steps * min(how.batch, work.rows) * work.row_tokens
    whole = work.rows * work.row_tokens
    trained = f"{tokens:,} tokens ({tokens / whole:.1f} passes over {whole:,}) of {texts.name}"
    figures = {
        **work.figures(),
        "steps": fitted.steps,
        "tokens": tokens,
        "seconds": round(fitted.seconds, 1),
        "tokens_per_second": round(tokens / max(1e-9, fitted.seconds)),
    }
    return Card(
        role="encoder",
        kind=kind,
        about=work.about(trained),
        data=texts.name,
        data_fingerprint=texts.fingerprint,
        seed=seed,
        settings=asdict(how),
        shape=work.shape,
        start=work.origin,
        figures=figures,
        seconds=round(fitted.seconds, 1),
        **stamp(),
    )
