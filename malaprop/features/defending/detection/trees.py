"""Boosted trees as plain arrays: fitted by scikit-learn, stored and applied without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.victim import Victim
from malaprop.features.defending.detection.suspicion import Describing, Learnt, Lessons, Numbers

Arrays = Mapping[str, NDArray[Any]]
_TREES, _DEPTH, _RATE = 150, 3, 0.06  # larger ones overfit some hundred texts


def fit_trees(x: Numbers, y: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Fit gradient boosting; the arrays [tree, node] are the feature, the border, both children and the value."""
    from sklearn.ensemble import GradientBoostingClassifier

    many = np.bincount(y, minlength=2)
    weights = (len(y) / (2 * np.maximum(many, 1)))[y]
    made = GradientBoostingClassifier(
        n_estimators=_TREES, max_depth=_DEPTH, learning_rate=_RATE, subsample=0.7, max_features=0.5, random_state=0
    ).fit(x.astype(np.float32), y, sample_weight=weights)
    trees = [one.tree_ for one in made.estimators_[:, 0]]
    size = max(tree.node_count for tree in trees)

    def stack(values: list[NDArray[Any]], kind: type) -> NDArray[Any]:
        out = np.zeros((len(values), size), kind)
        for row, value in enumerate(values):
            out[row, : len(value)] = value
        return out

    leaf = [tree.children_left < 0 for tree in trees]
    here = [np.arange(tree.node_count) for tree in trees]
    pairs = list(zip(trees, leaf, here, strict=True))
    return {
        "feature": stack([np.where(ends, 0, tree.feature) for tree, ends, _ in pairs], np.int64),
        "border": stack([tree.threshold for tree in trees], np.float64),
        "left": stack([np.where(ends, own, tree.children_left) for tree, ends, own in pairs], np.int64),
        "right": stack([np.where(ends, own, tree.children_right) for tree, ends, own in pairs], np.int64),
        "value": stack([_RATE * tree.value[:, 0, 0] for tree in trees], np.float64),
    }


def learn_trees(method: Describing, victim: Victim, lessons: Lessons) -> Learnt:
    """Fit trees over the features of a method; return them with what `study` learnt."""
    known, x = method.study(victim, lessons)
    return Learnt({**fit_trees(x, lessons.labels), **known.arrays}, known.words)


def apply_trees(arrays: Arrays, x: Numbers) -> Numbers:
    """Return the log-odds [text] of being adversarial, up to a constant."""
    rounded = x.astype(np.float32)  # as scikit-learn compares them
    trees = np.arange(len(arrays["feature"]))[None, :]
    node = np.zeros((len(x), trees.shape[1]), np.int64)
    for _ in range(_DEPTH):
        asked = np.take_along_axis(rounded, arrays["feature"][trees, node], 1)
        goes_left = asked <= arrays["border"][trees, node]
        node = np.where(goes_left, arrays["left"][trees, node], arrays["right"][trees, node])
    return np.asarray(arrays["value"][trees, node].sum(1))
