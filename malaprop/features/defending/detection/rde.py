"""Robust density estimation (Yoo et al. 2022): adversarial texts lie where few texts of their label do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, DataError, SettingError
from malaprop.core.pool import Pool
from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.features.defending.detection.suspicion import Learnt, Lessons, Numbers, ask, need_sklearn, split_by_table

_MOST = 1500  # vectors that the kernel PCA is fitted on
_ENOUGH = 24  # texts of a label, or a tenth of those of the most frequent one, for a covariance of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustDensity:
    """The distance of the vector that the classifier reads from those of clean texts with the same prediction.

    Vectors are reduced to `dim` numbers by kernel PCA (radial basis functions); the distance is that of Mahalanobis, by
    a covariance from which outliers are left out (MCD), one a predicted label. Of a label that few clean texts get, the
    nearest of the others counts.
    """

    dim: int = 32
    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise SettingError(f"rde: dim must be at least 1, got {self.dim}")

    def check(self, victim: Victim) -> None:
        need_sklearn("rde")
        if Capability.EMBEDDINGS not in victim.offers:
            raise CapabilityError(
                f"rde needs the vector that a classifier reads, and {victim.name} does not show it; use fgws, wdr, "
                "rtd or perplexity, which need scores alone"
            )

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt:
        from sklearn.covariance import MinCovDet
        from sklearn.decomposition import KernelPCA

        clean = lessons.clean[:_MOST]
        x, labels = find_vectors(victim, clean), _predict(victim, clean, exact=False)
        gamma = 1 / (x.shape[1] * x.var() + 1e-12)
        many = np.bincount(labels)
        known = np.flatnonzero(many >= max(2, min(_ENOUGH, many.max() // 10)))
        if not len(known):
            raise DataError("rde needs at least two clean texts that get the same label; give more texts (--n)")
        dim = min(self.dim, len(x) - 1, max(1, many[known].min() // 3))
        made = KernelPCA(dim, kernel="rbf", gamma=gamma, random_state=0).fit(x)
        kernel = _apply_kernel(x, x, gamma)
        axes = made.eigenvectors_ / np.sqrt(np.maximum(made.eigenvalues_, 1e-12))
        arrays: dict[str, Any] = {
            "vectors": x.astype(np.float32), "gamma": np.asarray([gamma]), "rows": kernel.mean(0),
            "mean": np.asarray([kernel.mean()]), "axes": axes, "labels": known,
        }  # fmt: skip
        z = _project(Learnt(arrays), x)
        fitted = [MinCovDet(random_state=0).fit(z[labels == label]) for label in arrays["labels"]]
        arrays["centres"] = np.stack([one.location_ for one in fitted])
        arrays["precisions"] = np.stack([np.linalg.pinv(one.covariance_, hermitian=True) for one in fitted])
        return Learnt(arrays)

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        z, labels = _project(learnt, find_vectors(victim, texts)), _predict(victim, texts, exact=exact)
        known, centres, precisions = (learnt.arrays[name] for name in ("labels", "centres", "precisions"))
        apart = np.empty(len(texts))
        for label in np.unique(labels):
            own = known == label
            places = own if own.any() else ~own
            off = z[labels == label, None] - centres[places]
            apart[labels == label] = np.einsum("tli,lij,tlj->tl", off, precisions[places], off).min(1)
        return np.log1p(np.maximum(0.0, apart))

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        del victim, learnt, text
        return 1  # the vector


def _predict(victim: Victim, texts: Sequence[Text], *, exact: bool) -> Any:
    return ask(victim, [Variants.itself(text) for text in texts], exact=exact).argmax(1)


def find_vectors(victim: Victim, texts: Sequence[Text]) -> Numbers:
    """Return for each text the vector that the classifier's last layer reads."""
    parts = split_by_table([Variants.itself(text) for text in texts])
    reader = victim.parts[Capability.EMBEDDINGS]
    found = [reader.vectors(pool, np.arange(pool.size)).cpu().double().numpy() for pool in map(Pool, parts)]
    return np.concatenate(found)


def _apply_kernel(x: Numbers, others: Numbers, gamma: float) -> Numbers:
    apart = (x**2).sum(1)[:, None] + (others**2).sum(1)[None] - 2 * x @ others.T
    return np.asarray(np.exp(-gamma * np.maximum(apart, 0)))


@lru_cache(maxsize=8)
def _read_vectors(learnt: Learnt) -> Numbers:
    return np.asarray(learnt.arrays["vectors"], np.float64)


def _project(learnt: Learnt, x: Numbers) -> Numbers:
    """Return the principal components of vectors, as scikit-learn's KernelPCA does."""
    arrays = learnt.arrays
    kernel = _apply_kernel(x, _read_vectors(learnt), float(arrays["gamma"][0]))
    centred = kernel - kernel.mean(1, keepdims=True) - arrays["rows"] + arrays["mean"][0]
    return np.asarray(centred @ arrays["axes"])
