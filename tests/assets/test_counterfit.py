from __future__ import annotations

import json

import numpy as np
import pytest
import tiny

from malaprop.assets import counterfit, yardsticks
from malaprop.assets.counterfit import CounterFit, centred, close, constraints, vocabulary
from malaprop.assets.vectors import Vectors

WORDS = ["film", "films", "movie", "movies", "good", "bad", "cinema", "nice", "dog", "the"]


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return tiny.wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture
def matrix():
    return centred(np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32))


def test_constraints_reach_inflected_forms(wordnet):
    alike, opposed = constraints({word: i for i, word in enumerate(WORDS)}, wordnet, senses=1)
    named = {(WORDS[a], WORDS[b]) for a, b in alike.tolist()}
    assert {("film", "movie"), ("films", "movies")} <= named
    assert ("film", "movies") not in named
    assert ("film", "cinema") not in named  # it is film's second sense
    assert [(WORDS[a], WORDS[b]) for a, b in opposed.tolist()] == [("good", "bad")]


def test_vocabulary(wordnet):
    words = ["the", "2000", ",", "film", "qqq", "movies", "well-made", "oxen"]
    assert vocabulary(words, wordnet, frequent=1) == ["the", "film", "movies", "oxen"]
    assert vocabulary(words, wordnet, frequent=1, most=2) == ["the", "film"]
    assert "well-made" in vocabulary(words, wordnet, frequent=8)


def test_synonyms_come_nearer_and_antonyms_part(matrix):
    alike, opposed = np.asarray([[0, 2], [1, 3]]), np.asarray([[4, 5]])
    fitted, curve = CounterFit().fit(matrix, alike, opposed, close(matrix, 0.2, 10))
    for pairs, better in ((alike, np.greater), (opposed, np.less)):
        assert better(yardsticks.mean_cosine(fitted, pairs), yardsticks.mean_cosine(matrix, pairs))
    assert np.linalg.norm(fitted, axis=1) == pytest.approx(np.ones(len(WORDS)), abs=1e-5)
    assert len(curve) == CounterFit().steps
    assert sum(curve[-1].values()) < sum(curve[0].values())
    assert fitted[8] == pytest.approx(matrix[8], abs=1e-5)  # a word without pairs stays


def test_the_slope_is_the_loss_s(matrix):
    """One small step of plain size lowers the loss as much as autograd says it should."""
    import torch

    alike, opposed, near = np.asarray([[0, 2]]), np.asarray([[4, 5]]), np.asarray([[6, 7]])
    settings = CounterFit(steps=2, rate=1e-4, anchor=0.0, preserve=1.0)
    _, curve = settings.fit(matrix, alike, opposed, near)
    start = torch.from_numpy(matrix).requires_grad_()
    unit = start / start.norm(dim=1, keepdim=True)
    apart = lambda pair: 1 - (unit[pair[0]] * unit[pair[1]]).sum()  # noqa: E731
    loss = apart((0, 2)) + 3 * torch.relu(1 - apart((4, 5)))
    loss.backward()
    moved = matrix - 1e-4 * np.sign(start.grad.numpy()) * (start.grad.numpy() != 0)  # Adam's first step is the sign
    after = torch.from_numpy(moved)
    after = after / after.norm(dim=1, keepdim=True)
    expected = float(1 - (after[0] * after[2]).sum() + 3 * torch.relu((after[4] * after[5]).sum()))
    assert sum(curve[0].values()) == pytest.approx(loss.item(), abs=1e-5)
    assert curve[1]["attract"] + curve[1]["repel"] == pytest.approx(expected, abs=2e-5)


def test_pairs_of_one_kind_alone(matrix):
    none = np.empty((0, 2), np.int64)
    for kinds in ((np.asarray([[0, 1]]), none, none), (none, np.asarray([[0, 1]]), none), (none, none, none)):
        fitted, curve = CounterFit(steps=3).fit(matrix, *kinds)
        assert np.isfinite(fitted).all()
        assert len(curve) == 3


def test_close_pairs():
    angles = np.deg2rad([0, 10, 25, 90])
    matrix = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert close(matrix, 0.2, 10).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert close(matrix, 0.2, 1).tolist() == [[0, 1], [1, 2]]


def test_building_writes_vectors_neighbours_curve_and_check(tmp_path, monkeypatch, wordnet, matrix):
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    monkeypatch.setattr(counterfit, "open_vectors", lambda name: Vectors(WORDS, matrix))
    monkeypatch.setattr(counterfit, "open_wordnet", lambda: wordnet)
    counterfit.build({}, tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"words.txt", "vectors.npy", "neighbours.npy", "cosines.npy", "curve.json", "check.json"}
    check = json.loads((tmp_path / "check.json").read_text())
    assert check["counts"]["antonyms"] == 1
    assert check["after"]["synonyms"] > check["before"]["synonyms"]
    assert check["after"]["antonyms"] < max(check["before"]["antonyms"], 0.1)


def test_rank_correlation():
    assert yardsticks.ranks(np.asarray([3.0, 1.0, 3.0])).tolist() == [2.5, 1, 2.5]
    rising = np.asarray([1.0, 2.0, 5.0])
    assert yardsticks.spearman(rising, rising**3) == pytest.approx(1)
    assert yardsticks.spearman(rising, -rising) == pytest.approx(-1)


def test_yardsticks_without_and_with_files(tmp_path, monkeypatch):
    import gzip

    vectors = Vectors(["a", "b", "c", "d", "e"], np.eye(5, dtype=np.float32) + 0.1)
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    assert yardsticks.outside(vectors) == {}
    folder = tmp_path / "counter_fitting"
    folder.mkdir()
    rows = "word1\tword2\tPOS\tSimLex999\na\ta\tN\t9\na\tb\tN\t1\nb\tzzz\tN\t1\n"
    (folder / "SimLex-999.txt.gz").write_bytes(gzip.compress(rows.encode()))
    lists = {"a": ["b", "c", "d", "e"], "b": ["a"]}
    (folder / "counterfitted_neighbors_k8.json.gz").write_bytes(gzip.compress(json.dumps(lists).encode()))
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path))
    found = yardsticks.outside(vectors)
    assert found == {"simlex": pytest.approx(1), "simlex_pairs": 2, "published_in_8": 1.0, "published_in_50": 1.0}
