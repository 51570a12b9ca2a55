"""Test Theorem 1 of Hsieh et al. 2019: how far one changed word moves the scores of self-attention.

As printed, the proof says that E[x . e_1] is 1 / sqrt(d) for x uniform on the sphere. It is 0, by symmetry; so are all
E[x_i], and their squares do not add up to 1. What holds is E[x_i^2] = 1 / d, and with Jensen's inequality E|x . z| <=
|z| / sqrt(d), which is what the theorem wants: the bound stands, the step does not. The mean itself is known:
E|x . z| = |z| gamma(d / 2) / (sqrt(pi) gamma((d + 1) / 2)), about 0.798 |z| / sqrt(d).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Text
from malaprop.features.explain.record import Bound, Tail
from malaprop.models.inside import FirstLayer, WordStates

Doubles = NDArray[np.float64]
DIMS, WORDS, DELTAS = (16, 64, 256, 1024), (10, 40), (0.5, 2.0)  # of the simulations
TAILS = (0.5, 1.0, 2.0)  # multiples of the bound at which tails are taken
_EACH = 64  # numbers a head has for a word


def mean_part(dim: int) -> float:
    """Return E|x . e| for x uniform on the unit sphere of `dim` dimensions and e of length 1."""
    return math.exp(math.lgamma(dim / 2) - math.lgamma((dim + 1) / 2)) / math.sqrt(math.pi)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TheoremCase:
    """One head and one changed word: the change s' - s of the score of every other word, and the theorem's terms."""

    moved: Doubles  # [word]
    bound: float  # C delta / sqrt(d), times the mean norm of the words
    exact: float  # the mean for words spread evenly over a sphere
    delta: float


def simulate(dim: int, words: int, delta: float, *, draws: int = 200, seed: int = 0, identity: bool = False) -> Bound:
    """Simulate the theorem with words uniform on the unit sphere, Gaussian matrices and a change of length `delta`.

    With `identity` the matrices are 1, for which |z| is C delta: the worst case, which shows how tight the bound is.
    """
    if min(dim, words, draws) < 1 or delta <= 0:
        raise SettingError(
            f"a simulation needs dim, words and draws from 1 and delta above 0, got {dim}, {words}, {draws}, {delta}"
        )
    cases, angles = [], []
    each = min(dim, _EACH)
    for draw in range(draws):
        rng = generator(seed, f"theorem {dim} {words} {delta} {draw}")
        query, key = (np.eye(dim) if identity else rng.standard_normal((dim, each)) / math.sqrt(dim) for _ in "qk")
        x = _on_sphere(rng.standard_normal((words, dim)))
        change = delta * _on_sphere(rng.standard_normal((1, dim)))[0]
        z = query @ (key.T @ change)
        scale = np.linalg.norm(query, 2) * np.linalg.norm(key, 2)
        bound = float(scale * delta / math.sqrt(dim))
        cases.append(
            TheoremCase(moved=x @ z, bound=bound, exact=float(np.linalg.norm(z)) * mean_part(dim), delta=delta)
        )
        angles.append(mean_cosine(x))
    return add_cases("sphere, identity" if identity else "sphere, Gaussian", dim, cases, angles)


def _on_sphere(x: Doubles) -> Doubles:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def mean_cosine(x: Doubles) -> float:
    """Return the mean cosine between two different rows; nan for one row."""
    rows = _on_sphere(x)
    many = len(rows)
    return float((np.square(rows.sum(0)).sum() - many) / (many * (many - 1))) if many > 1 else float("nan")


def cases_of(first: FirstLayer, before: Doubles, after: Doubles, place: int) -> list[TheoremCase]:
    """Return a case for every head of a trained first layer, for inputs that differ at one token.

    Scores are without their scale and offset.

    The words need not have length 1: the bound is multiplied by their mean norm.
    """
    change = after[place] - before[place]
    others = np.delete(before, place, axis=0)
    size, dim = float(np.linalg.norm(others, axis=1).mean()), before.shape[1]
    delta = float(np.linalg.norm(change))
    out = []
    for query, key, scale in zip(first.query, first.key, first.norms().tolist(), strict=True):
        z = query @ (key.T @ change)
        bound = scale * delta * size / math.sqrt(dim)
        exact = float(np.linalg.norm(z)) * size * mean_part(dim)
        out.append(TheoremCase(moved=others @ z, bound=bound, exact=exact, delta=delta))
    return out


def bound_trained(name: str, states: WordStates | None, pairs: Iterable[tuple[Text, Text]]) -> Bound | None:
    """Evaluate the theorem on a trained first layer, over texts in which one word, a single token, became another.

    None if the first layer has no self-attention, or no text is of that kind.
    """
    first = None if states is None or states.first is None else states.first()
    if states is None or first is None:
        return None
    cases: list[TheoremCase] = []
    angles = []
    for origin, final in pairs:
        (laid, (before, *_)), (other, (after, *_)) = states.tokens(origin), states.tokens(final)
        slots = final.changed(origin)
        if len(slots) != 1 or len(laid.row) != len(other.row):
            continue
        slot = int(slots[0])
        if laid.size[slot] != 1 or other.size[slot] != 1:
            continue
        cases += cases_of(first, before.astype(np.float64), after.astype(np.float64), int(laid.start[slot]))
        angles.append(mean_cosine(before.astype(np.float64)))
    return add_cases(name, first.query.shape[1], cases, angles) if cases else None


def add_cases(where: str, dim: int, cases: Sequence[TheoremCase], angles: Sequence[float]) -> Bound:
    """Average the cases; tails are taken at multiples of each case's own bound."""
    means = [float(np.abs(case.moved).mean()) for case in cases]
    bounds = [case.bound for case in cases]
    ratio = np.concatenate([np.abs(case.moved) / max(case.bound, 1e-300) for case in cases])
    return Bound(
        where=where,
        dim=dim,
        words=round(float(np.mean([len(case.moved) for case in cases]))),
        delta=float(np.mean([case.delta for case in cases])),
        bound=float(np.mean(bounds)),
        mean=float(np.mean(means)),
        signed=float(np.mean([case.moved.mean() for case in cases])),
        exact=float(np.mean([case.exact for case in cases])),
        largest=float(np.mean([np.abs(case.moved).max() for case in cases])),
        over=sum(mean > bound * (1 + 1e-12) for mean, bound in zip(means, bounds, strict=True)),
        cases=len(cases),
        cosine=float(np.nanmean(angles)) if not np.isnan(angles).all() else float("nan"),
        tails=tuple(Tail(epsilon=at, share=float((ratio >= at).mean()), markov=min(1.0, 1 / at)) for at in TAILS),
    )


def simulate_all(draws: int, seed: int) -> list[Bound]:
    """Simulate Theorem 1 over dimensions, numbers of words and lengths of the change, and its tightest case."""
    rows = [simulate(dim, WORDS[1], DELTAS[0], draws=draws, seed=seed) for dim in DIMS]
    rows += [simulate(DIMS[2], WORDS[0], DELTAS[0], draws=draws, seed=seed)]
    rows += [simulate(DIMS[2], WORDS[1], DELTAS[1], draws=draws, seed=seed)]
    return [*rows, simulate(DIMS[2], WORDS[1], DELTAS[0], draws=draws, seed=seed, identity=True)]
