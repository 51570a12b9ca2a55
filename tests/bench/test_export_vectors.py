import pickle

import numpy as np
import pytest
from malaprop_bench.export_vectors import FOLDER, INSTALLED, export, mark_installed

from malaprop.core.errors import DataError

WORDS = ["film", "movie", "good"]
NEAR = np.asarray([[1, 2], [0, 2], [0, 1]])


def test_the_peer_finds_its_layout(tmp_path):
    matrix = np.eye(3, 4)
    export(WORDS, matrix, NEAR, tmp_path)
    folder = tmp_path / FOLDER
    assert np.load(folder / "paragram.npy").dtype == np.float32
    assert np.load(folder / "nn.npy").tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    assert pickle.loads((folder / "wordlist.pickle").read_bytes()) == {"film": 0, "movie": 1, "good": 2}
    assert (folder / "words.txt").read_text() == "film\nmovie\ngood\n"
    for name in ("mse_dist.p", "cos_sim.p"):  # the peer adds to them as it goes
        assert pickle.loads((folder / name).read_bytes())[5] == {}


@pytest.mark.parametrize(
    ("matrix", "near", "said"),
    [
        (np.eye(2), NEAR, "3 words"),
        (np.eye(3), NEAR[:2], "3 words"),
        (np.eye(3), NEAR + 1, "0 to 2"),
        (np.eye(3), NEAR - 1, "0 to 2"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, matrix, near, said):
    with pytest.raises(DataError, match=said):
        export(WORDS, matrix, near, tmp_path)


def test_a_neighbour_that_is_no_word_gives_way(tmp_path):
    export(["film", ",", "it's"], np.eye(3), NEAR, tmp_path)
    assert np.load(tmp_path / FOLDER / "nn.npy").tolist() == [[0, 0, 2], [1, 0, 2], [2, 0, 2]]


def test_the_peer_is_kept_from_downloads(tmp_path):
    mark_installed(tmp_path / "cache")
    assert (tmp_path / "cache" / INSTALLED).exists()
