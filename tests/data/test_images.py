"""Image sets: files come in as [n, channel, height, width] in [0, 1], and what is wrong with one is said."""

from __future__ import annotations

import gzip
import pickle
import struct

import numpy as np
import pytest

from malaprop.core.errors import DataError
from malaprop.data import images


def bars(many, seed=0):
    """Bytes [n, 8, 8] with a bright bar that stands for the label, and noise so that no two are alike."""
    rng = np.random.default_rng(seed)
    labels = np.arange(many) % 4
    out = rng.integers(0, 60, (many, 8, 8)).astype(np.uint8)
    out[np.arange(many), 2 * labels] = 220
    return out, labels


def written(path, **arrays):
    np.savez(path, **arrays)
    return str(path)


def test_a_set_in_one_piece_is_cut_by_hash(tmp_path):
    pixels, labels = bars(300)
    spec = written(tmp_path / "bars.npz", images=pixels, labels=labels)
    parts = {split: images.load(spec, split) for split in ("train", "validation", "test")}
    assert sum(map(len, parts.values())) == 300
    assert 0.7 < len(parts["train"]) / 300 < 0.9
    assert parts["test"].shape == (1, 8, 8)
    assert parts["test"].classes == 4
    assert len({part.fingerprint for part in parts.values()}) == 3
    assert parts["train"].images.max() == np.float32(220 / 255)
    shuffled = written(tmp_path / "other.npz", images=pixels[::-1], labels=labels[::-1])
    assert {i.tobytes() for i in images.load(shuffled, "test").images} == {i.tobytes() for i in parts["test"].images}


def test_a_test_part_of_its_own_is_kept(tmp_path):
    (x, y), (p, q) = bars(120), bars(40, seed=1)
    spec = written(tmp_path / "two.npz", x_train=x / 255, y_train=y, x_test=p / 255, y_test=q)
    assert len(images.load(spec, "test")) == 40
    assert len(images.load(spec, "train")) + len(images.load(spec, "validation")) == 120


@pytest.mark.parametrize("zipped", [False, True])
def test_idx_files(tmp_path, zipped):
    for prefix, seed in (("train", 0), ("t10k", 1)):
        pixels, labels = bars(60, seed)
        raw = {
            "images-idx3-ubyte": struct.pack(">HBBIII", 0, 8, 3, 60, 8, 8) + pixels.tobytes(),
            "labels-idx1-ubyte": struct.pack(">HBBI", 0, 8, 1, 60) + labels.astype(np.uint8).tobytes(),
        }
        for name, body in raw.items():
            path = tmp_path / f"{prefix}-{name}{'.gz' if zipped else ''}"
            path.write_bytes(gzip.compress(body) if zipped else body)
    assert images.is_images(tmp_path)
    found = images.load(tmp_path, "test")
    assert np.array_equal(found.images[:, 0], (bars(60, 1)[0] / np.float32(255)).astype(np.float32))
    assert found.labels.tolist() == bars(60, 1)[1].tolist()


def test_a_sample_takes_labels_in_turns_and_is_nested(tmp_path):
    pixels, labels = bars(400)
    whole = images.load(written(tmp_path / "b.npz", images=pixels, labels=labels), "train")
    few, more = whole.sample(8, 3), whole.sample(20, 3)
    assert np.bincount(few.labels).tolist() == [2, 2, 2, 2]
    assert set(few.ids) < set(more.ids)
    assert whole.sample(8, 4).ids != few.ids
    assert whole.sample(None, 0) is whole


def test_what_stands_for_images():
    assert images.is_images("mnist")
    assert images.is_images("some.npz")
    assert not images.is_images("mr")
    assert not images.is_images("reviews.csv")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"pictures": np.zeros((9, 8, 8))}, "holds pictures; expected images and labels"),
        ({"images": np.zeros((9, 8)), "labels": np.zeros(9, int)}, "shape"),
        ({"images": np.full((300, 8, 8), 2.0), "labels": np.zeros(300, int)}, "values from 2 to 2"),
        (
            {"images": np.full((300, 8, 8), np.nan), "labels": np.zeros(300, int)},
            "not finite; expected numbers in",
        ),
        ({"images": bars(300)[0], "labels": np.zeros(299, int)}, "expected 300 whole numbers"),
        ({"images": bars(300)[0], "labels": np.full(300, -1)}, "whole numbers from 0"),
        ({"images": bars(300)[0], "labels": np.zeros(300)}, "float64"),
        ({"images": bars(3)[0], "labels": bars(3)[1]}, "too few images"),
    ],
)
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_bad_files_say_what_is_wrong(tmp_path, arrays, words):
    with pytest.raises(DataError, match=words):
        images.load(written(tmp_path / "bad.npz", **arrays), "train")


def test_other_bad_files(tmp_path):
    (tmp_path / "text.npz").write_text("not an archive")
    (tmp_path / "pickled.npz").touch()
    np.savez(tmp_path / "pickled.npz", images=np.asarray([{}], object), labels=np.zeros(1, int))
    for name in ("text.npz", "pickled.npz", "none.npz"):
        with pytest.raises(DataError, match=name):
            images.load(tmp_path / name)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03")
    with pytest.raises(DataError, match="labels-idx1-ubyte"):
        images.load(tmp_path)


def test_the_full_set_wants_local_copies(monkeypatch):
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    images._parts.cache_clear()
    with pytest.raises(DataError, match="MALAPROP_DATA"):
        images.load("mnist-full")


@pytest.mark.assets
def test_the_packaged_digits():
    parts = [images.load("mnist", split) for split in ("train", "validation", "test")]
    assert sum(map(len, parts)) == 5000
    assert parts[0].shape == (1, 28, 28)
    assert np.bincount(np.concatenate([part.labels for part in parts])).tolist() == [500] * 10


def test_images_are_laid_out_the_same_however_they_came(tmp_path):
    """Else a model that is trained in another process ends with other last digits."""
    pixels, labels = bars(40)
    np.savez(tmp_path / "set.npz", images=pixels, labels=labels)
    found = images.load(tmp_path / "set.npz", "train")
    sent, picked = pickle.loads(pickle.dumps(found)), found.pick(np.arange(len(found)))
    assert found.images.strides == sent.images.strides == picked.images.strides == (256, 256, 32, 4)
