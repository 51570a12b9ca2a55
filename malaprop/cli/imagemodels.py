"""malaprop train for images: generative models and classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from malaprop.cli import options as o

GENERATORS, CLASSIFIERS = ("wgan", "vae"), ("lenet", "mlp", "forest")
NAMES = (*GENERATORS, *CLASSIFIERS)


def train_images(
    spec: str,
    data: str | None,
    out: Path | None,
    *,
    seed: int,
    settings: dict[str, Any],
    device: str,
    json: bool,
    quiet: bool,
) -> None:
    """Trains one into --out; what was killed goes on there."""
    from malaprop.core.errors import DataError
    from malaprop.data.images import PACKAGED, is_images
    from malaprop.runs.victims import device_of

    data = data or PACKAGED
    if not is_images(data):
        raise DataError(f"{spec} reads images; expected mnist, mnist-full, an .npz file or idx files, got {data!r}")
    folder = o.out_folder(out, False, "train", spec, data)
    train = _generator if spec in GENERATORS else _classifier
    figures = train(spec, data, folder, seed=seed, settings=settings, device=device_of(device), quiet=quiet)
    if not quiet:
        print(", ".join(f"{name} {value:g}" for name, value in figures.items()))
        option = "--generator" if spec in GENERATORS else "--victim"
        o.say(f"model in {folder}; use it with: malaprop natural {option} {folder}")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **figures}, json)


def _generator(
    spec: str, data: str, folder: Path, *, seed: int, settings: dict[str, Any], device: str, quiet: bool
) -> dict[str, float]:
    from malaprop.core.settings import call
    from malaprop.models.generative.imageplan import ImagePlan
    from malaprop.natural.generators import train_generator

    plan = call(ImagePlan, {"kind": spec, **settings}, f"the {spec}")
    made = train_generator(
        plan, data, folder, seed=seed, device=device, quiet=quiet, say=lambda line: o.say(line, quiet)
    )
    return {**made.card.figures, "seconds": made.card.seconds}


def _classifier(
    spec: str, data: str, folder: Path, *, seed: int, settings: dict[str, Any], device: str, quiet: bool
) -> dict[str, float]:
    from malaprop.core.settings import call
    from malaprop.data.images import load
    from malaprop.models.imagetraining import Schooling, train

    o.say(f"training {spec} on {data}", quiet)
    if isinstance(widths := settings.get("widths"), int):
        settings = {**settings, "widths": (widths,)}
    plan = call(Schooling, {"kind": spec, **settings}, f"the {spec}")
    _, card = train(plan, load(data, "train"), load(data, "test"), seed=seed, device=device, folder=folder, quiet=quiet)
    return card.figures
