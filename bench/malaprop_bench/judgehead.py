"""Train the head of the judge of meaning.

python -m malaprop_bench.judgehead OUT.npz [--data ../shared/data] [--seed 0]

The head is the sum of two logistic regressions, trained apart, of equal weight: on the encoder's vectors of a pair,
which reads it in both orders, and on the lexical numbers of `differences.describe`. `judgepairs` makes the pairs. It
needs scikit-learn and the asset `entailment`, and takes a few minutes of one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from malaprop.assets.polarity import STEPS
from malaprop.core.errors import DataError, plain
from malaprop.core.score import Floats
from malaprop.models.encoders.differences import NAMES, describe
from malaprop.models.encoders.judge import PackagedJudge, open_judge
from malaprop_bench.judgepairs import Pair, draw, place

DATA = Path("../shared/data")
_STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)  # tried for the inverse of the penalty on weights
_CLEAR = 15  # of the packaged valences, in steps of 1/30: a word that is nearer to neutral is left out
_MOST = 4.0  # the valence that becomes 1: the end of people's ratings
_THIRDS = 3
Rows = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How good or bad words are: a whole number for each, times a scale."""

    words: tuple[str, ...]
    values: NDArray[np.int8]
    scale: float

    @classmethod
    def packaged(cls) -> Lexicon:
        """Read the packaged table of valences, without the words that are nearly neutral."""
        with as_file(files("malaprop.assets") / "words" / "polarity.npz") as path, np.load(path) as held:
            words, values = bytes(held["words"]).decode().split("\n"), held["valences"]
        clear = np.abs(values.astype(np.int64)) >= _CLEAR
        kept = tuple(word for word, wanted in zip(words, clear.tolist(), strict=True) if wanted)
        return cls(kept, values[clear], 1 / STEPS / _MOST)

    def as_dict(self) -> dict[str, float]:
        return dict(zip(self.words, (self.values.astype(np.float32) * np.float32(self.scale)).tolist(), strict=True))


def read_vectors(judge: PackagedJudge, pairs: Sequence[Pair]) -> Floats:
    """Return the encoder's vectors of pairs [pair, both orders]."""
    texts = [(pair.original, pair.changed) for pair in pairs]
    both = judge.read([*texts, *((two, one) for one, two in texts)])
    return np.concatenate([both[: len(pairs)], both[len(pairs) :]], 1)


def read_numbers(pairs: Sequence[Pair], polarity: Mapping[str, float]) -> Floats:
    """Return the lexical numbers of pairs [pair, name]."""
    return np.stack([describe(pair.original, pair.changed, polarity) for pair in pairs])


# --- training


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic regression of numbers that were centred and scaled first."""

    mean: Rows
    scale: Rows
    weight: Rows
    bias: float

    @classmethod
    def fit(cls, seen: Floats | Rows, kept: Flags, strength: float) -> Linear:
        mean, spread = seen.mean(0, dtype=np.float64), seen.std(0, dtype=np.float64)
        scale = np.where(spread > 1e-6, spread, 1.0)  # a number that is always the same says nothing
        model = LogisticRegression(C=strength, max_iter=5000).fit((seen - mean) / scale, kept)
        return cls(mean, scale, model.coef_[0], float(model.intercept_[0]))

    def logits(self, seen: Floats | Rows) -> Rows:
        return np.asarray(((seen - self.mean) / self.scale) @ self.weight + self.bias)


def find_strength(seen: Floats, kept: Flags, thirds: NDArray[np.int64]) -> tuple[float, Rows]:
    """Return the strength that gives the likeliest answers on thirds left out of training, and their logits."""
    tried = {}
    for strength in _STRENGTHS:
        out = np.empty(len(kept))
        for third in range(_THIRDS):
            rest = thirds != third
            out[~rest] = Linear.fit(seen[rest], kept[rest], strength).logits(seen[~rest])
        tried[strength] = out
    best = min(tried, key=lambda one: float(np.logaddexp(0, np.where(kept, -tried[one], tried[one])).mean()))
    return best, tried[best]


def train(pairs: Sequence[Pair], vectors: Floats, lexicon: Lexicon, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Return the arrays of a head's file, and what was chosen on thirds of the pairs.

    The logits of each third, by a head trained on the other two, calibrate the chances.
    """
    kept = np.asarray([pair.kept for pair in pairs])
    thirds = np.asarray([int(place(seed, "third", pair.group) * _THIRDS) for pair in pairs])
    lexical = read_numbers(pairs, lexicon.as_dict())
    parts = {"vectors": vectors, "lexical": lexical}
    found = {name: find_strength(part, kept, thirds) for name, part in parts.items()}
    both = np.sum([logits for _, logits in found.values()], 0)[:, None]
    chance = Linear.fit(both, kept, 1e6)
    slope = float(chance.weight[0] / chance.scale[0])
    fitted = [Linear.fit(part, kept, found[name][0]) for name, part in parts.items()]
    bias = float(chance.logits(np.full((1, 1), sum(one.bias for one in fitted)))[0])
    held: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in fitted]).astype(np.float32)
        for name in ("mean", "scale", "weight")
    }
    held["weight"] *= np.float32(slope)
    held |= {
        "bias": np.float32(bias), "low": lexical.min(0), "high": lexical.max(0),
        "words": _to_bytes("\n".join(lexicon.words)), "names": _to_bytes(json.dumps(NAMES)),
        "polarity": lexicon.values, "polarity_scale": np.float32(lexicon.scale),
    }  # fmt: skip
    return held, {"strength": {name: strength for name, (strength, _) in found.items()}, "slope": round(slope, 3)}


def _to_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.judgehead", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(words)
    try:
        pairs = [pair for pair in draw(given.data, given.seed) if not pair.held]
    except DataError as error:
        parser.error(plain(error))
    held, chosen = train(pairs, read_vectors(open_judge(), pairs), Lexicon.packaged(), given.seed)
    with given.out.open("wb") as file:
        np.savez_compressed(file, **held)
    print(f"{given.out}: {len(pairs):,} pairs; {json.dumps(chosen)}")


if __name__ == "__main__":
    main()
