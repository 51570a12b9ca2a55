"""Image victims of every kind answer alike, and what cannot be one says why."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from papers.natural.small_images import brightest, write_bars
from safetensors.torch import load_file, save_file
from torch import nn

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, SettingError, VictimError
from malaprop.data.images import load as images
from malaprop.papers.natural.images import Fgsm
from malaprop.papers.natural.models.image_classifiers import ImageTrainingSettings, accurate, fit, train
from malaprop.papers.natural.models.image_victim import CARD, WEIGHTS, load, of_function, of_network, of_sklearn


@pytest.fixture
def data(tmp_path):
    return write_bars(tmp_path / "bars.npz")


@pytest.mark.parametrize(
    ("kind", "more"), [("forest", {}), ("lenet", {"epochs": 25}), ("mlp", {"widths": (16,), "epochs": 25})]
)
def test_a_trained_one_comes_back_from_its_folder(kind, more, data, tmp_path):
    plan = ImageTrainingSettings(kind=kind, rate=5e-3, **more)
    made, card = train(plan, images(data, "train"), images(data, "test"), folder=tmp_path / kind)
    assert card.figures["test_accuracy"] > 0.9
    there = load(str(tmp_path / kind))
    some = images(data).images
    assert np.allclose(there(some), made(some), atol=1e-5)
    assert np.allclose(there(some).sum(1), 1, atol=1e-4)
    assert there.name == kind
    assert len(there.fingerprint) == 16
    assert (Capability.GRADIENTS in there.offers) == (kind != "forest")
    with pytest.raises(VictimError, match="reads images of 8 x 8 x 1, got 28 x 28 x 1"):
        there.check((1, 28, 28))


def test_a_forest_of_arrays_answers_as_scikit_learn(data):
    from sklearn.ensemble import RandomForestClassifier

    learn, some = images(data, "train"), np.random.default_rng(0).random((500, 1, 8, 8), np.float32)
    net, settings = fit(ImageTrainingSettings(kind="forest", trees=7), learn, seed=5)
    theirs = RandomForestClassifier(n_estimators=7, random_state=5)
    theirs.fit(learn.images.reshape(len(learn), -1), learn.labels)
    ours = of_network(net, name="forest")(some)
    assert np.allclose(ours, theirs.predict_proba(some.reshape(500, -1)), atol=1e-6)
    assert settings["trees"] == 7


def test_a_function_sees_plain_arrays():
    seen = []

    def function(arrays):
        seen.append(arrays.shape)
        return np.full((len(arrays), 3), 1 / 3)

    victim = of_function(function, name="f")
    victim(np.zeros((2, 1, 8, 8), np.float32))
    victim(torch.zeros(2, 3, 8, 9))
    assert seen == [(2, 8, 8), (2, 8, 9, 3)]


def test_labels_alone_will_do():
    victim = of_function(lambda arrays: np.full(len(arrays), 7), name="f")
    assert victim(np.zeros((2, 1, 8, 8), np.float32)).argmax(1).tolist() == [7, 7]


@pytest.mark.parametrize(
    "answer",
    [lambda a: np.zeros((len(a) + 1, 3)), lambda a: np.zeros((len(a), 1)), lambda a: np.full((len(a), 2), np.nan)],
)
def test_answers_that_are_no_scores(answer):
    with pytest.raises(VictimError, match="answered"):
        of_function(answer, name="f")(np.zeros((2, 1, 8, 8), np.float32))


def test_a_function_that_fails_is_named():
    def function(arrays):
        raise ValueError("no such\nlayer")

    with pytest.raises(VictimError, match="f raised ValueError: no such"):
        of_function(function, name="f")(np.zeros((2, 1, 8, 8), np.float32))


def test_scikit_learn_by_object_and_by_file(data, tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from skops import io

    learn, test = images(data, "train"), images(data)
    flat = learn.images.reshape(len(learn), -1)
    model = LogisticRegression(max_iter=200).fit(flat, learn.labels)
    io.dump(model, tmp_path / "model.skops")
    there = load(str(tmp_path / "model.skops"))
    assert np.allclose(there(test.images), model.predict_proba(test.images.reshape(len(test), -1)), atol=1e-6)
    with pytest.raises(VictimError, match="reads 64 pixels an image, got 784"):
        there(np.zeros((1, 1, 28, 28), np.float32))
    two = LinearSVC().fit(flat, learn.labels % 2)
    assert of_sklearn(two, name="svm")(test.images).shape == (len(test), 2)
    with pytest.raises(VictimError, match="neither"):
        of_sklearn(object(), name="thing")


def test_module_and_attribute(tmp_path, monkeypatch, data):
    (tmp_path / "mine_images.py").write_text(
        "import numpy as np\nfrom papers.natural.small_images import brightest\nnothing = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine_images", raising=False)
    victim = load("mine_images:brightest")
    assert accurate(victim, images(data)).mean() > 0.95
    with pytest.raises(VictimError, match="is a int; expected a function"):
        load("mine_images:nothing")


@pytest.mark.parametrize("spec", ["lenet7", "none.skops", "model.pkl"])
def test_what_is_no_victim(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pkl").write_bytes(b"x")
    with pytest.raises(VictimError):
        load(spec)


@pytest.mark.parametrize("harm", ["card", "weights", "kind"])
def test_a_damaged_folder_says_so(harm, data, tmp_path):
    train(
        ImageTrainingSettings(kind="mlp", epochs=1),
        images(data, "train"),
        images(data, "test"),
        folder=tmp_path / "mlp",
    )
    card = tmp_path / "mlp" / CARD
    if harm == "card":
        card.write_text("{}")
    elif harm == "weights":
        (tmp_path / "mlp" / WEIGHTS).write_bytes(b"")
    else:
        card.write_text(json.dumps({**json.loads(card.read_text()), "kind": "forest"}))
    with pytest.raises(VictimError, match="train the model again"):
        load(str(tmp_path / "mlp"))


@pytest.mark.parametrize("harm", [{"left": slice(0, 1)}, {"left": 10**6}, {"pixel": 10**6}, {"roots": -1}])
def test_a_forest_whose_arrays_lead_astray_says_so(harm, data, tmp_path):
    train(ImageTrainingSettings(kind="forest"), images(data, "train"), images(data, "test"), folder=tmp_path / "forest")
    arrays = load_file(tmp_path / "forest" / WEIGHTS)
    ((name, how),) = harm.items()
    arrays[name] = arrays[name][how].clone() if isinstance(how, slice) else torch.full_like(arrays[name], how)
    save_file(arrays, tmp_path / "forest" / WEIGHTS)
    with pytest.raises(VictimError, match="train the model again"):
        load(str(tmp_path / "forest"))


@pytest.mark.parametrize("bad", [{"kind": "cnn"}, {"epochs": 0}, {"dropout": 1.0}, {"share": 0}, {"widths": (0,)}])
def test_plans_are_checked(bad):
    with pytest.raises(SettingError):
        ImageTrainingSettings(**bad)


def test_the_fast_gradient_sign_by_hand(data):
    """Two pixels decide by their difference: each step lowers the one and raises the other by its size."""

    class Difference(nn.Module):
        def __init__(self):
            super().__init__()
            self.sign = nn.Parameter(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))

        def forward(self, x):
            return x[:, 0, 0, :2] @ self.sign

    some = images(data).pick(np.asarray([0]))
    pixels = np.full((1, 1, 8, 8), 0.5, np.float32)
    pixels[0, 0, 0, 0] = 0.55
    from dataclasses import replace

    some = replace(some, images=pixels, labels=np.asarray([0]))
    victim = of_network(Difference(), name="difference")
    (find,) = Fgsm(data=some, victim=victim, steps=(0.01, 0.02, 0.03, 0.04)).finds()
    assert (find.status, find.changed) == ("success", 1)
    assert find.pixels == pytest.approx(0.03 * np.sqrt(2), rel=1e-3)  # two steps of 0.02 leave a difference of 0.01
    (find,) = Fgsm(data=some, victim=victim, steps=(0.01,)).finds()
    assert find.status == "failed"
    with pytest.raises(CapabilityError, match="gradients"):
        list(Fgsm(data=some, victim=of_function(brightest, name="f")).finds())
