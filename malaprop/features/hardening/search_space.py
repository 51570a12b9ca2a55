"""The space that a random search draws from: the settings of a defence and their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator


class Asker(Protocol):
    """The part of an optuna trial that draws values."""

    def suggest_int(self, name: str, low: int, high: int) -> int: ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, both ends included."""

    low: int
    high: int

    def ask(self, trial: Asker, name: str) -> int:
        return trial.suggest_int(name, self.low, self.high)


@dataclass(frozen=True, slots=True)
class RealRange:
    low: float
    high: float
    log: bool = False

    def ask(self, trial: Asker, name: str) -> float:
        return float(f"{trial.suggest_float(name, self.low, self.high, log=self.log):.4g}")


@dataclass(frozen=True, slots=True)
class OneOf:
    choices: tuple[Any, ...]

    def ask(self, trial: Asker, name: str) -> Any:
        return trial.suggest_categorical(name, self.choices)


Space = Mapping[str, Whole | RealRange | OneOf]
_VOTE = OneOf(("majority", "logits", "probabilities"))

# The ranges include what the paper's own search found: 1 to 23 words, noise of 2.3 and 8.14, 4 to 14 samples.
SPACES: Mapping[str, Space] = {
    "five": {"words": Whole(1, 10), "noise": RealRange(0.02, 10.0, log=True), "samples": Whole(4, 16), "vote": _VOTE},
    "fuse": {
        "words": Whole(1, 10),
        "candidates": Whole(3, 30),
        "samples": Whole(4, 16),
        "vote": _VOTE,
        "part": OneOf(("same", "any")),
        "similarity": OneOf(("off", "rank", "filter")),
        "multiplier": Whole(1, 4),
        "floor": RealRange(0.0, 0.6),
    },
    "fact": {
        "words": Whole(1, 25),
        "candidates": Whole(3, 30),
        "alternatives": Whole(1, 6),
        "part": OneOf(("same", "any")),
    },
}
_IDLE = {"off": ("multiplier", "floor"), "rank": ("floor",)}  # settings that a kind of similarity does not read


def narrow(space: Space, fixed: Mapping[str, Any]) -> Space:
    """Return the space without the fixed settings; raise on a fixed setting that the space does not have."""
    for name in fixed:
        if name not in space:
            raise unknown("setting to fix", name, space)
    left = {name: part for name, part in space.items() if name not in fixed}
    if not left:
        raise SettingError("every setting is fixed, so there is nothing to search; leave out a --fix")
    return left


def draw(space: Space, fixed: Mapping[str, Any], trial: Asker) -> dict[str, Any]:
    """Draw one set of settings, without those that the others make meaningless."""
    found = {name: part.ask(trial, name) for name, part in space.items()} | dict(fixed)
    idle = _IDLE.get(str(found.get("similarity", "")), ())
    return {name: value for name, value in found.items() if name not in idle}


class RandomTrial:
    """Draws values as an optuna trial does, without optuna."""

    def __init__(self, seed: int, number: int) -> None:
        self._rng = generator(seed, "trial", str(number))

    def suggest_int(self, name: str, low: int, high: int) -> int:  # noqa: ARG002
        return int(self._rng.integers(low, high + 1))

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:  # noqa: ARG002
        if log:
            return float(np.exp(self._rng.uniform(np.log(low), np.log(high))))
        return float(self._rng.uniform(low, high))

    def suggest_categorical(self, name: str, choices: Any) -> Any:  # noqa: ARG002
        return choices[int(self._rng.integers(len(choices)))]
