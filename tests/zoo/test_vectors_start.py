"""Word vectors that models start from: published files, trained tables in the cache, and what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from malaprop.assets import store
from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.data import of
from malaprop.training.splits import splits
from malaprop.zoo import start_vectors as vectors
from malaprop.zoo.pretrain import texts
from malaprop.zoo.start_vectors import SkipGram, check_width, find_or_train_vectors, read_file, starting


@pytest.fixture
def data(own_cache, monkeypatch):
    monkeypatch.setattr(store, "key", lambda name: "key")
    rows = [(f"the {w} film was {w} indeed", y) for i in range(40) for y, w in enumerate(("bad", "good"))]
    monkeypatch.setattr(texts, "_wikitext", lambda: [f"a good ship on the sea {i}" for i in range(40)])
    return splits(lambda spec, split: of(rows, name=spec), "toy")


def binary(path, words, matrix, head=None):
    body = b"".join(
        w.encode() + b" " + row.astype("<f4").tobytes() + b"\n" for w, row in zip(words, matrix, strict=True)
    )
    path.write_bytes((head or f"{len(words)} {matrix.shape[1]}\n".encode()) + body)
    return path


def test_a_word2vec_file_is_read(tmp_path):
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    words, found = read_file(binary(tmp_path / "v.bin", ["good", "schön"], matrix))
    assert words == ["good", "schön"]
    assert found.tolist() == matrix.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 3\ngood " + b"\0" * 12, "cut short: it says 2 vectors of 3"),
        (b"2 3\ngood " + b"\0" * 12 + b"\nbad " + b"\0" * 8, "cut short"),
        (b"hello\n", "expected two counts"),
        (b"", "expected two counts"),
        ((793_712_314).to_bytes(4, "little") + b"\x0c\0\0\0", "only the .vec file is read"),
        (b"999999999 999999999\n", "cut short"),
        (b"3 0\n", "cut short"),
    ],
)
def test_a_wrong_file_says_why(content, message, tmp_path):
    path = tmp_path / "v.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_file(path)


def test_given_vectors_are_found_by_word(data, tmp_path):
    path = tmp_path / "v.vec"
    path.write_text("2 2\ngood 1 2\nbad 3 4\n")
    start = starting("W2vec", ["bad", "ugly", "good"], data, path)
    assert start.table.tolist() == [[3, 4], [0, 0], [1, 2]]
    assert start.known.tolist() == [True, False, True]
    with pytest.raises(SettingError, match="should have 5 dimensions, but its vectors have 2"):
        check_width(start, 5, "LSTM-W-W2vec-1")


@pytest.mark.parametrize("kind", ["W2vec", "fastText"])
def test_trained_once_and_kept(kind, data, capfd):
    pytest.importorskip("gensim")
    course = SkipGram(dim=6, epochs=1, rows=50)
    first = find_or_train_vectors(kind, data, course)
    assert "training" in capfd.readouterr().err
    before = (first / "vectors.npy").read_bytes()
    assert find_or_train_vectors(kind, data, course) == first
    assert capfd.readouterr().err == ""
    assert find_or_train_vectors(kind, data, SkipGram(dim=5, epochs=1, rows=50)) != first
    words = (first / "words.txt").read_text().split("\n")
    assert words == sorted({"the", "bad", "good", "film", "was", "indeed"})
    (first / "vectors.npy").unlink()
    assert (find_or_train_vectors(kind, data, course) / "vectors.npy").read_bytes() == before


def test_without_gensim_a_cached_table_is_used_or_the_way_out_is_said(data, monkeypatch):
    monkeypatch.setattr(vectors, "find_spec", lambda name: None)
    with pytest.raises(AssetError, match=r"install malaprop\[vectors\], or give published ones with --vectors"):
        starting("W2vec", ["good"], data)
    folder = vectors.home("W2vec", data)
    folder.mkdir(parents=True)
    vectors.vectorfiles.save(folder, ["good"], np.ones((1, 4)))
    assert starting("W2vec", ["good", "x"], data).known.tolist() == [True, False]
