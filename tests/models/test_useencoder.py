"""The Universal Sentence Encoder's forward pass on small random numbers, against the same sums written out by hand."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from malaprop.assets.sentencepieces import convert, read
from malaprop.core.errors import AssetError
from malaprop.models.encoders.encoder import UniversalEncoder

PIECES = ["<unk>", "<s>", "</s>", "\u2581", "\u2581good", "\u2581film", "s", "\u2581bad"]
ORDERS = {2: 0, 3: 1, 5: 2}
WIDE, HIDDEN = 512, 4
TEXTS = ["good film", "bad films", "", "good good bad film film bad good", "?"]


def field(number, value):
    raw = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(raw)]) + raw


def sentencepieces():
    kinds = [2, 3, 3]
    out = b""
    for i, piece in enumerate(PIECES):
        kind = bytes([3 << 3, kinds[i]]) if i < len(kinds) else b""
        out += field(1, field(1, piece) + bytes([2 << 3 | 5]) + struct.pack("<f", -float(i)) + kind)
    return out


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.normal(0, 0.5, shape).astype(np.float32)  # noqa: E731
    held = {f"q{i + 1}": rng.integers(0, 256, (1, WIDE)).astype(np.uint8) for i in range(17)}
    held |= {"scale": np.full(17, 0.01, np.float32), "lo": np.full(17, -1.2, np.float32), "eps": np.asarray(1e-6)}
    for n in ORDERS:
        held |= {f"proj{n}": draw(WIDE, HIDDEN), f"proj_b{n}": draw(HIDDEN)}
        held |= {f"ln_g{n}": draw(HIDDEN), f"ln_b{n}": draw(HIDDEN)}
        for layer in (1, 2):
            held |= {f"w{layer}_{n}": draw(n * HIDDEN, HIDDEN), f"b{layer}_{n}": draw(HIDDEN)}
    features = WIDE + 3 * HIDDEN
    held |= {"ln_g": draw(features), "ln_b": draw(features), "cnn_W": draw(features, 8), "cnn_b": draw(8)}
    held |= {"d0": draw(8, 6), "d1": draw(6, 6), "p1": draw(8, 6), "d2": draw(6, 7), "d3": draw(7, WIDE)}
    held["p3"] = draw(6, WIDE)
    np.savez(tmp_path / "given.npz", **held)
    members = {"weights.npz": (tmp_path / "given.npz").open("rb"), "sp.model": None}
    (tmp_path / "sp").write_bytes(sentencepieces())
    members["sp.model"] = (tmp_path / "sp").open("rb")
    (tmp_path / "made").mkdir()
    convert({name: (lambda stream=stream: stream) for name, stream in members.items()}, tmp_path / "made")
    return tmp_path / "made", held


def norm(x, gain, shift):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-6) * gain + shift


def by_hand(held, ids):
    words = np.stack([held[f"q{i % 17 + 1}"][i // 17] * 0.01 - 1.2 for i in ids])
    gain, shift = (np.concatenate([held[f"ln_{kind}{n}"] for n in ORDERS]) for kind in "gb")
    first = [np.concatenate([w @ held[f"proj{n}"] + held[f"proj_b{n}"] for n in ORDERS]) for w in words]
    first = np.stack([norm(row, gain, shift) for row in first])
    parts = [words]
    for at, (n, left) in enumerate(ORDERS.items()):
        x = first[:, at * HIDDEN : (at + 1) * HIDDEN]
        for layer in (1, 2):
            padded = np.concatenate([np.zeros((left, HIDDEN)), x, np.zeros((n - 1 - left, HIDDEN))])
            seen = np.stack([padded[i : i + n].ravel() for i in range(len(x))])
            x = x + np.maximum(seen @ held[f"w{layer}_{n}"] + held[f"b{layer}_{n}"], 0)
        parts.append(x)
    features = np.stack([norm(row, held["ln_g"], held["ln_b"]) for row in np.concatenate(parts, 1)])
    mean = (features.sum(0) @ held["cnn_W"] + len(ids) * held["cnn_b"]) / np.sqrt(len(ids))
    inner = np.maximum(mean @ held["p1"] + np.maximum(mean @ held["d0"], 0) @ held["d1"], 0)
    last = np.tanh(inner @ held["p3"] + np.maximum(inner @ held["d2"], 0) @ held["d3"])
    return last / np.linalg.norm(last)


def test_vectors_are_those_made_by_hand_alone_and_together(folder):
    path, held = folder
    encoder = UniversalEncoder(path)
    together = encoder.encode(TEXTS)
    rows = [[1, 4, 5, 2], [1, 7, 5, 6, 2], [1, 0, 2], [1, 4, 4, 7, 5, 5, 7, 4, 2]]
    for ids, vector, text in zip(rows, together, TEXTS, strict=False):
        np.testing.assert_allclose(vector, by_hand(held, ids), atol=1e-5)
        np.testing.assert_allclose(encoder.encode([text])[0], vector, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert encoder.encode([]).shape == (0, WIDE)


def test_a_model_cut_short_is_said_to_be():
    with pytest.raises(AssetError, match="cut short"):
        read(sentencepieces()[:-3])
    with pytest.raises(AssetError, match="no pieces"):
        read(b"")
