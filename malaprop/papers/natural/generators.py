"""Train generative models of images into folders, and measure them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from malaprop.data.images import ImageSet
from malaprop.papers.natural.images import predictions
from malaprop.papers.natural.models.image_classifiers import ImageTrainingSettings, LeNet, fit
from malaprop.papers.natural.models.image_victim import ImageVictim, of_network
from malaprop.papers.natural.models.images import (
    ImageManifold,
    Rows,
    coverage,
    frechet,
    is_generator,
    root_mean_square,
    save,
    sliced_wasserstein,
    unfinished,
    write_sheet,
)
from malaprop.papers.natural.models.images import load as open_generator
from malaprop.papers.natural.models.networks import ImageShape
from malaprop.papers.natural.models.training import Curves, ImagePlan, ImageWork, train
from malaprop.training.card import Card, stamp
from malaprop.training.folder import refuse_other

_MOST = 5000  # images that are measured


def train_on(
    plan: ImagePlan,
    learn: ImageSet,
    test: ImageSet,
    folder: Path,
    *,
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = True,
    say: Callable[[str], None] = lambda line: None,  # noqa: ARG005
) -> ImageManifold:
    """Train a generative model into its folder; one with these settings is loaded from there, a begun one resumed."""
    shape = ImageShape.of(learn.shape, **({} if plan.dim is None else {"dim": plan.dim}), width=plan.width)
    recipe: dict[str, Any] = {"plan": plan.plain(), "shape": shape.plain(), "seed": seed, "data": learn.fingerprint}
    if is_generator(folder):
        there = open_generator(folder, device=device)
        theirs = {"plan": there.card.settings, "seed": there.card.seed, "data": there.card.data_fingerprint}
        refuse_other(folder, {"plan": plan.plain(), "seed": seed, "data": learn.fingerprint}, theirs)
        say(f"{folder} holds this model already")
        return there
    shown = test.sample(20, seed).images
    work = ImageWork(plan, shape, learn.images, seed=seed, device=device)
    state = unfinished(folder, recipe)

    def now(curves: Curves, seconds: float) -> ImageManifold:
        card = Card(
            role="image generator", kind=plan.kind, shape=shape.plain(), data=learn.name,
            data_fingerprint=learn.fingerprint, seed=seed, settings=plan.plain(), figures={}, curves=curves,
            seconds=round(seconds, 1), **stamp(),
        )  # fmt: skip
        nets = work.nets
        return ImageManifold(card=card, generator=nets["generator"], inverter=nets["inverter"], device=device)

    def glimpse(stage: str, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        training = {name: net.training for name, net in work.nets.items()}
        for net in work.nets.values():
            net.eval()
        write_sheet(folder, now((), 0), shown, seed)
        for name, net in work.nets.items():
            net.train(training[name])
        say(f"{stage}: step {step:,}; samples in {folder}")

    curves, seconds = train(work, state, quiet=quiet, glimpse=glimpse)
    for net in work.nets.values():
        net.eval().requires_grad_(False)
    made = now(curves, seconds)
    figures = measure(made, learn, test, judge(learn, seed=seed + 1000, device=device, quiet=quiet), seed=seed)
    figures |= {"steps": count_steps(curves, plan.kind), "greys": count_greys(learn)}
    made = replace(made, card=replace(made.card, figures=figures))
    save(folder, made)
    write_sheet(folder, made, shown, seed)
    state.clear()
    return made


def count_steps(curves: Curves, stage: str) -> float:
    """Count the steps made in a stage: fewer than planned if the time limit ended it."""
    return float(max((point["step"] for point in curves if point["phase"] == stage), default=0))


def count_greys(data: ImageSet) -> float:
    """Count the distinct pixel values among the first thousand images."""
    return float(len(np.unique(data.images[:1000])))


def plan_judge(data: ImageSet) -> ImageTrainingSettings:
    """Return the training settings of a judge."""
    return ImageTrainingSettings(kind="lenet", epochs=3 if len(data) > 20_000 else 8)


def judge(data: ImageSet, *, seed: int, device: str, quiet: bool = True) -> ImageVictim:
    """Train a classifier that no search queries: a LeNet of its own seed."""
    net, _ = fit(plan_judge(data), data, seed=seed, device=device, quiet=quiet)
    return of_network(net, name="judge", device=device, image=data.shape)


def measure(made: ImageManifold, learn: ImageSet, test: ImageSet, judge: ImageVictim, *, seed: int) -> dict[str, float]:
    """Measure errors of reconstruction, distances of samples from real images and of real from real, and coverage.

    `reconstruction_label`: the share of test images that the judge still gives their label when they come back.
    """
    some = test.sample(_MOST, seed)
    real, other = some.images, learn.sample(len(some), seed).images
    many = min(len(real), len(other))
    z = np.random.default_rng(seed + 1).standard_normal((max(many, 1000), made.dim)).astype(np.float32)
    samples, back = made.pictures(z), made.pictures(made.invert(real))
    labels = predictions(judge, samples)
    covered, apart = coverage(labels, learn.labels, learn.classes)
    seen = [_hidden(judge, part) for part in (samples, real, other)]
    figures = {
        "reconstruction_rmse": float(root_mean_square(back, real).mean()),
        "reconstruction_distance": float(np.linalg.norm((back - real).reshape(len(real), -1), axis=1).mean()),
        "reconstruction_label": float((predictions(judge, back) == some.labels).mean()),
        "sliced_wasserstein": sliced_wasserstein(samples, real),
        "sliced_wasserstein_real": sliced_wasserstein(other, real),
        "frechet": frechet(seen[0], seen[1]),
        "frechet_real": frechet(seen[2], seen[1]),
        "classes_covered": float(covered),
        "classes": float(learn.classes),
        "shares_apart": apart,
        "judge_accuracy": float((predictions(judge, real) == some.labels).mean()),
    }
    return {name: round(value, 5) for name, value in figures.items()}


@torch.inference_mode()
def _hidden(judge: ImageVictim, images: np.ndarray[Any, np.dtype[np.float32]]) -> Rows:
    net = judge.network
    assert isinstance(net, LeNet)
    device = next(net.parameters()).device
    parts = [net.hidden(torch.from_numpy(images[at : at + 1024]).to(device)) for at in range(0, len(images), 1024)]
    return torch.cat(parts).double().cpu().numpy()
