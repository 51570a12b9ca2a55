from __future__ import annotations

import bz2
import gzip
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.assets import vectorfiles
from malaprop.assets.vectors import Neighbours, Vectors, keep, nearest, open_neighbours, open_vectors, read_vectors
from malaprop.core.errors import DataError, SettingError

TEXT = "up 0 2\nright 3 0\ndiagonal 1 1\n"


def test_unit_vectors_and_their_lengths():
    vectors = Vectors(*vectorfiles.parse(TEXT, "here"))
    assert vectors.words == ["up", "right", "diagonal"]
    assert vectors.lengths.tolist() == pytest.approx([2, 3, 2**0.5])
    near = vectors.cosine("up", ["right", "Diagonal", "unknown", "up"])
    assert near.tolist() == pytest.approx([0, 0.5**0.5, float("nan"), 1], nan_ok=True)
    assert np.isnan(vectors.cosine("unknown", ["up"])).all()
    assert vectors.cosine("up", []).shape == (0,)


def test_raw_vectors_for_an_embedding():
    table, known = Vectors(*vectorfiles.parse(TEXT, "here")).raw(["right", "unknown", "Up"])
    assert table.tolist() == [[3, 0], [0, 0], [0, 2]]
    assert known.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("v.txt", TEXT.encode()),
        ("v.vec", b"3 2\n" + TEXT.encode()),
        ("v.txt.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("v.txt.bz2", bz2.compress(TEXT.encode())),
        ("crlf.txt", TEXT.replace("\n", "\r\n").encode()),
    ],
)
def test_files_that_can_be_read(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    vectors = read_vectors(tmp_path / name)
    assert vectors.words == ["up", "right", "diagonal"]
    assert vectors.dim == 2
    assert open_vectors(str(tmp_path / name)).words == vectors.words


def test_npz(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.asarray(["a", "b"]), vectors=np.eye(2))
    assert read_vectors(tmp_path / "v.npz").words == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("up 0 2\nright 3\n", r"vector 2 \('right'\) has 1 numbers, expected 2"),
        ("up 0 2\nright 3 0 1\n", "has 3 numbers"),
        ("up\n", "expected 1"),
        ("up 0 x\n", "not a number"),
        ("", "no word vectors"),
    ],
)
def test_files_that_cannot(tmp_path, text, says):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(DataError, match=says) as error:
        read_vectors(tmp_path / "v.txt")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_and_one_that_is_no_archive(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_vectors(tmp_path / "none.txt")
    (tmp_path / "v.npz").write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"\.npz"):
        read_vectors(tmp_path / "v.npz")
    np.savez(tmp_path / "objects.npz", words=np.asarray([{}], dtype=object), vectors=np.eye(1))
    with pytest.raises(DataError, match="plain arrays"):
        read_vectors(tmp_path / "objects.npz")


@pytest.mark.parametrize(
    "found",
    [
        {"glove.6B.50d.txt.bz2": bz2.compress(TEXT.encode())},
        {"v.json": b'{"dimensions": 2, "words": ["up", "right"], "vectors": {"up": [0, 2, 9], "right": [3, 0, 9]}}'},
    ],
)
def test_conversion(tmp_path, found):
    vectorfiles.convert({name: (lambda data=data: BytesIO(data)) for name, data in found.items()}, tmp_path)
    words, matrix = vectorfiles.load(tmp_path)
    assert words[:2] == ["up", "right"]
    assert matrix[:2].tolist() == [[0, 2], [3, 0]]
    assert matrix.dtype == np.float16


@given(st.integers(1, 700), st.integers(1, 60), st.integers(0, 9), st.booleans())
def test_nearest_is_a_whole_sort(many, k, seed, coarse):
    """Coarse vectors have many equal cosines: the order must still be by number."""
    rng = np.random.default_rng(seed)
    matrix = (
        rng.integers(-1, 2, (many, 3)).astype(np.float32) if coarse else rng.normal(size=(many, 8)).astype(np.float32)
    )
    cosines = matrix @ matrix.T
    np.fill_diagonal(cosines, -np.inf)
    table, found = nearest(matrix, k)
    assert table.shape == (many, min(k, many - 1))
    for row in range(many):
        expected = np.lexsort((np.arange(many), -cosines[row]))[: table.shape[1]]
        assert found[row] == pytest.approx(cosines[row, expected], abs=0.02)
        if coarse:
            assert table[row].tolist() == expected.tolist()
        assert row not in table[row]


def test_neighbours_of_a_word(tmp_path):
    keep(tmp_path, ["up", "right", "diagonal"], vectorfiles.parse(TEXT, "here")[1])
    vectors = Vectors(*vectorfiles.load(tmp_path))
    table, cosines = (np.load(tmp_path / f"{part}.npy") for part in ("neighbours", "cosines"))
    words, near = Neighbours(vectors, table, cosines, 1).of("up")
    assert words == ("diagonal",)
    assert near.tolist() == pytest.approx([0.5**0.5], abs=1e-3)
    assert Neighbours(vectors, table, cosines).of("unknown")[0] == ()


def test_more_neighbours_than_are_kept():
    with pytest.raises(SettingError, match="1 to 100"):
        open_neighbours("glove", 101)


@pytest.mark.assets
def test_real_glove(real_asset):
    real_asset("glove")
    near = open_vectors("glove").cosine("film", ["movie", "banana"])
    assert near[0] > 0.8 > near[1]


@pytest.mark.assets
def test_real_counter_fitted(real_asset):
    real_asset("counter-fitted")
    vectors, near = open_vectors("counter-fitted"), open_neighbours("counter-fitted")
    assert "movie" in near.of("film")[0]
    assert vectors.cosine("good", ["bad"])[0] < 0.3 < vectors.cosine("good", ["nice"])[0]
    assert near.table.shape[1] == 50
