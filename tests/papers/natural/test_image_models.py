"""Generative models of images: their shapes, their losses, training that a kill does not harm, and their folders."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from papers.natural.small_images import write_bars
from torch import nn

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.data.images import load
from malaprop.papers.natural.generators import train_on
from malaprop.papers.natural.models import images as folders
from malaprop.papers.natural.models import networks
from malaprop.papers.natural.models.networks import ImageShape
from malaprop.papers.natural.models.training import (
    ImagePlan,
    ImageWork,
    critic_loss,
    generator_loss,
    inverter_loss,
    train,
    vae_loss,
)
from malaprop.training.folder import TrainingFolder

SMALL = {"width": 4, "dim": 6, "batch": 16, "steps": 6, "inverter_steps": 4, "critic_steps": 2}


@pytest.fixture
def data(tmp_path):
    return write_bars(tmp_path / "bars.npz")


@pytest.mark.parametrize(
    ("image", "kind", "hidden", "dim"),
    [((1, 28, 28), "strided", 4096, 64), ((3, 64, 64), "residual", 8192, 128), ((1, 8, 8), "strided", 256, 64)],
)
def test_the_papers_sizes(image, kind, hidden, dim):
    shape = ImageShape.of(image)
    assert (shape.kind, shape.hidden, shape.dim) == (kind, hidden, dim)


@pytest.mark.parametrize("image", [(1, 28, 28), (3, 64, 64), (1, 8, 8), (3, 30, 30)])
def test_images_go_out_and_come_in(image):
    shape = ImageShape.of(image, width=2, dim=5)
    made = networks.generator(shape).eval()(torch.randn(3, 5))
    assert made.shape == (3, *image)
    assert made.min() >= 0
    assert made.max() <= 1
    assert networks.critic(shape)(made).shape == (3, 1)
    assert networks.inverter(shape)(made).shape == (3, 5)


def test_layers_are_those_of_the_appendix():
    shape = ImageShape.of((1, 28, 28))
    see = networks.features(shape)
    assert [(c.out_channels, c.stride) for c in see.layers] == [(64, (2, 2)), (128, (2, 2)), (256, (2, 2))]
    full = [layer for layer in networks.inverter(shape) if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in full] == [(4096, 1024), (1024, 64)]
    large = [layer for layer in networks.inverter(ImageShape.of((3, 64, 64))) if isinstance(layer, nn.Linear)]
    assert [layer.in_features for layer in large] == [8192, 2048, 512]


@pytest.mark.parametrize("image", [(1, 28, 30), (1, 4, 4)])
def test_images_that_no_network_fits(image):
    with pytest.raises(SettingError):
        ImageShape.of(image)


class Sum(nn.Module):
    """A critic whose slope is known: `steep` everywhere."""

    def __init__(self, steep):
        super().__init__()
        self.steep = steep

    def forward(self, x):
        return self.steep * x.flatten(1).sum(1, keepdim=True)


def test_the_critics_loss_by_hand():
    real, made, mix = torch.ones(2, 1, 2, 2), torch.zeros(2, 1, 2, 2), torch.full((2, 1, 1, 1), 0.5)
    loss, distance = critic_loss(Sum(0.5), real, made, mix)  # slope of length 0.5 * sqrt(4) = 1: no penalty
    assert float(distance) == pytest.approx(2.0)
    assert float(loss) == pytest.approx(-2.0)
    loss, _ = critic_loss(Sum(1.0), real, made, mix)  # slope of length 2: a penalty of 10 * (2 - 1) ** 2
    assert float(loss) == pytest.approx(-4.0 + 10.0)
    assert float(generator_loss(Sum(1.0), real)) == pytest.approx(-4.0)


def test_the_inverters_loss_by_hand():
    """A generator and an inverter that give zeros: norms of what comes in, the second one weighed."""

    class Zero(nn.Module):
        def __init__(self, *shape):
            super().__init__()
            self.shape = shape

        def forward(self, x):
            return torch.zeros(len(x), *self.shape)

    real, z = torch.ones(3, 1, 2, 2), 2 * torch.ones(3, 4)
    loss, images = inverter_loss(Zero(1, 2, 2), Zero(4), real, z, 0.1)
    assert float(images) == pytest.approx(2.0)
    assert float(loss) == pytest.approx(2.0 + 0.1 * 4.0)


def test_the_vaes_divergence_is_nothing_for_a_plain_gaussian():
    class Plain(nn.Module):
        def forward(self, x):
            return torch.zeros(len(x), 4)

    class Half(nn.Module):
        def forward(self, z):
            return torch.full((len(z), 1, 2, 2), 0.5)

    real = torch.full((2, 1, 2, 2), 0.5)
    small, large = (float(vae_loss(Half(), Plain(), real, torch.zeros(2, 2), w)[0]) for w in (1.0, 100.0))
    assert small == large == pytest.approx(4 * np.log(2), rel=1e-5)


@pytest.mark.parametrize("kind", ["wgan", "vae"])
def test_training_goes_on_where_it_was_killed(kind, data, tmp_path):
    learn = load(data, "train")
    plan = ImagePlan(kind=kind, **SMALL)
    shape = ImageShape.of(learn.shape, width=plan.width, dim=plan.dim)

    def work():
        return ImageWork(plan, shape, learn.images, seed=3, device="cpu")

    whole = work()
    curves, _ = train(whole)

    class Killed(Exception):
        pass

    state = TrainingFolder(folder=tmp_path / "state", recipe={"a": 1}, every=0)
    calls = 0

    def killed(stage, step):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Killed

    with pytest.raises(Killed):
        train(work(), state, glimpse=killed)
    rest = work()
    again, _ = train(rest, state)
    assert again == curves
    for name, net in whole.nets.items():
        for key, tensor in net.state_dict().items():
            assert torch.equal(tensor, rest.nets[name].state_dict()[key]), (name, key)


@pytest.mark.parametrize("kind", ["wgan", "vae"])
def test_large_images_in_colour_train_too(kind):
    images = np.random.default_rng(0).random((6, 3, 64, 64), np.float32)
    plan = ImagePlan(kind=kind, steps=1, inverter_steps=1, critic_steps=1, batch=3, width=1, dim=4)
    work = ImageWork(plan, ImageShape.of((3, 64, 64), width=1, dim=4), images, seed=0, device="cpu")
    curves, _ = train(work)
    assert all(np.isfinite(value) for curve in curves for name, value in curve.items() if name != "phase")


def test_an_inverter_of_large_images_goes_on_exactly(tmp_path):
    """Its generator has norms that must not learn from batches, also where the inverter goes on after a kill."""
    images = np.random.default_rng(0).random((6, 3, 64, 64), np.float32)
    plan = ImagePlan(kind="wgan", steps=1, inverter_steps=4, critic_steps=1, batch=3, width=1, dim=4)

    def work():
        return ImageWork(plan, ImageShape.of((3, 64, 64), width=1, dim=4), images, seed=0, device="cpu")

    whole, rest = work(), work()
    train(whole)
    state = TrainingFolder(folder=tmp_path / "state", recipe={}, every=0)

    def killed(stage, step):
        if (stage, step) == ("inverter", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(work(), state, glimpse=killed)
    train(rest, state)
    for name, net in whole.nets.items():
        for key, tensor in net.state_dict().items():
            assert torch.equal(tensor, rest.nets[name].state_dict()[key]), (name, key)


def test_a_vae_learns_bars(data, tmp_path):
    plan = ImagePlan(kind="vae", width=8, dim=4, steps=300, batch=32, inverter_rate=3e-3, weight=0.05)
    made = train_on(plan, *(load(data, part) for part in ("train", "test")), tmp_path / "vae", seed=0)
    test = load(data, "test")
    blind = folders.root_mean_square(np.full_like(test.images, test.images.mean()), test.images).mean()
    assert made.card.figures["reconstruction_rmse"] < 0.6 * blind
    assert made.card.figures["classes_covered"] >= 3
    assert made.card.figures["steps"] == 300
    assert made.card.figures["greys"] == len(np.unique(load(data, "train").images))
    assert (tmp_path / "vae" / "samples.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "vae" / "unfinished").exists()
    said = []
    again = train_on(plan, *(load(data, part) for part in ("train", "test")), tmp_path / "vae", seed=0, say=said.append)
    assert "already" in said[0]
    assert again.fingerprint == made.fingerprint
    nearer = made.refine(test.images, made.invert(test.images), 40)
    before, after = (
        folders.root_mean_square(made.pictures(z), test.images).mean() for z in (made.invert(test.images), nearer)
    )
    assert after < before


@pytest.fixture
def folder(data, tmp_path):
    train_on(
        ImagePlan(kind="wgan", **SMALL), *(load(data, part) for part in ("train", "test")), tmp_path / "wgan", seed=0
    )
    return tmp_path / "wgan"


def test_a_folder_comes_back(folder, data):
    made = folders.load(folder)
    z = made.invert(load(data).images)
    assert z.shape == (len(load(data)), 6)
    alone = np.concatenate([made.pictures(row[None]) for row in z[:5]])
    assert np.allclose(alone, made.pictures(z)[:5], atol=1e-5)
    assert folders.load(folder).fingerprint == made.fingerprint
    assert [set(curve) - {"step"} for curve in made.card.curves[::6]] == [
        {"phase", "critic", "distance"},
        {"phase", "inverter", "reconstruction"},
    ]
    folders.save(folder.parent / "half", made, half=True)
    assert np.allclose(folders.load(folder.parent / "half").pictures(z), made.pictures(z), atol=0.01)


def test_other_images_are_refused(folder, tmp_path):
    made = folders.load(folder)
    other = load(write_bars(tmp_path / "other.npz", seed=9), "train")
    with pytest.raises(SettingError, match=r"not on these images.*--force"):
        made.check(other.shape, other.fingerprint)
    made.check(other.shape, other.fingerprint, force=True)
    with pytest.raises(DataError, match="images are 28 x 28 x 1, but the wgan makes 8 x 8 x 1"):
        made.check((1, 28, 28), other.fingerprint, force=True)


@pytest.mark.parametrize("harm", ["card", "format", "weights", "gone"])
def test_a_damaged_folder_says_so(folder, harm):
    card = folder / folders.CARD
    if harm == "card":
        card.write_text("{")
    elif harm == "format":
        card.write_text(json.dumps({**json.loads(card.read_text()), "format": 99}))
    elif harm == "weights":
        (folder / folders.WEIGHTS).write_bytes(b"cut")
    else:
        card.unlink()
    with pytest.raises(VictimError, match="train"):
        folders.load(folder)


def test_quality_by_hand():
    ones, zeros = np.ones((4, 1, 2, 2)), np.zeros((4, 1, 2, 2))
    assert folders.root_mean_square(ones, zeros).tolist() == [1, 1, 1, 1]
    assert folders.sliced_wasserstein(ones, ones) == 0
    assert folders.sliced_wasserstein(ones, zeros) > 0.5
    rng = np.random.default_rng(0)
    one = rng.standard_normal((500, 3))
    assert folders.frechet(one, one) == pytest.approx(0, abs=1e-6)
    assert folders.frechet(one, one + 2) == pytest.approx(12, abs=1e-6)
    assert folders.frechet(one[:1], one[:1] + 2) == pytest.approx(12, abs=1e-6)  # one vector has no spread
    assert folders.coverage(np.asarray([0, 0, 1, 1]), np.asarray([0, 1, 2, 3]), 4) == (2, 0.5)


@pytest.mark.parametrize("bad", [{"kind": "gan"}, {"steps": 0}, {"rate": 0}, {"average": 1.0}, {"dim": 0}])
def test_plans_are_checked(bad):
    with pytest.raises(SettingError):
        ImagePlan(**bad)
