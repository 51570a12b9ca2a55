"""Neighbourhoods of attacked words: which neighbours keep the label, and noisy vectors laid out in a plane."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from small_victims import words

from malaprop.core.errors import SettingError
from malaprop.frame.runs.local import run
from malaprop.papers.firebert.neighbourhood import (
    count_kept_neighbours,
    describe_neighbourhoods,
    project_vectors,
    spots,
)

ATTACK = toy.listed({"good": ("bad",)})


@pytest.fixture
def outcomes(tiny_assets):
    return list(run(ATTACK, toy.victim(), toy.examples(["a good film", "a fine film"])))


def test_neighbours_in_their_place(outcomes):
    broken = [o for o in outcomes if o.status == "success"]
    assert len(broken) == 1
    before, after = spots(broken[0], 5)
    assert [str(text) for text in before.texts()] == ["a good film", "a fine film", "a nice film"]
    assert [str(text) for text in after.texts()] == ["a bad film", "a poor film", "a okay film"]
    (share,) = count_kept_neighbours({"none": toy.victim()}, outcomes)
    assert (share.original.hits, share.original.total) == (2, 2)
    assert (share.adversarial.hits, share.adversarial.total) == (1, 2)  # okay is good, a little
    assert share.texts == 1


def test_pictures_of_a_victim_that_shows_no_vectors(outcomes):
    (look,) = describe_neighbourhoods({"none": toy.victim()}, outcomes)
    assert (look.word, look.swapped) == ("good", "bad")
    assert [strip.labels for strip in look.strips] == [(1, 1, 1), (0, 0, 1)]
    assert look.fields == ()


def test_fields_of_noisy_vectors(outcomes):
    looks = [describe_neighbourhoods({"lstm": words()}, outcomes, points=20, noise=2.0)[0] for _ in range(2)]
    (field,) = looks[0].fields
    assert len(field.points) == 40
    assert sum(adversarial for *_, adversarial in field.points) == 20
    assert looks[0] == looks[1]
    (still,) = describe_neighbourhoods({"lstm": words()}, outcomes, points=3, noise=0.0)[0].fields
    assert len({(x, y) for x, y, _, _ in still.points}) == 2  # without noise, two words are two points


def test_layouts():
    vectors = np.asarray([[0.0, 0, 5], [0, 1, 5], [10, 0, 5], [10, 1, 5]])
    flat = project_vectors(vectors, "pca", 0)
    assert np.allclose(np.abs(flat[:, 0]), 5)
    assert np.allclose(np.abs(flat[:, 1]), 0.5)
    with pytest.raises(SettingError, match="pca or tsne"):
        project_vectors(vectors, "umap", 0)
    pytest.importorskip("sklearn")
    assert project_vectors(np.random.default_rng(0).normal(size=(24, 5)), "tsne", 0).shape == (24, 2)
