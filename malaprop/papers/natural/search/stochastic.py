"""The paper's two searches: iterative stochastic search (Algorithm 1) and hybrid shrinking search (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.papers.natural.search.probe import LatentProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """Algorithm 2: searches wide, halves the range, then steps inward until `patience` shells in a row have no success.

    As printed, halving can leave a shell below the range untested, so what is found bounds the nearest from above.
    `reach` is the printed upper limit r, `patience` the limit B. Differs: where the wide search finds nothing, there
    is no point to return, and the second part is left out.
    """

    samples: int = 5000
    step: float = 0.01
    reach: float = 10.0
    patience: int = 5

    def __post_init__(self) -> None:
        check_printed(self.samples, self.step, self.reach)
        if self.patience < 1:
            raise SettingError(f"Shrinking.patience must be at least 1, got {self.patience}")

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        yield from self._halve(probe, rng)
        if probe.found:
            yield from self._creep(probe, rng)

    def _halve(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        low, high = 0.0, self.reach
        while high - low >= self.step:
            if (yield from probe.shell(rng, self.samples, low, high)):
                low, high = 0.0, probe.radius
            else:
                low = (low + high) / 2

    def _creep(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        barren, high = 0, probe.radius
        while barren < self.patience and high > 0:
            low = max(0.0, high - self.step)
            if (yield from probe.shell(rng, self.samples, low, high)):
                barren, high = 0, probe.radius
            else:
                barren, high = barren + 1, high - self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterative:
    """Algorithm 1: moves a shell of width `step` outward until one of its `samples` points reaches the goal.

    Differs: stops at distance `reach`; the printed loop has no end.
    """

    samples: int = 5000
    step: float = 0.01
    reach: float = 20.0

    def __post_init__(self) -> None:
        check_printed(self.samples, self.step, self.reach)

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        for turn in range(round(self.reach / self.step)):
            if (yield from probe.shell(rng, self.samples, turn * self.step, (turn + 1) * self.step)):
                return


def check_printed(samples: int, step: float, reach: float) -> None:
    """Raise on wrong values of the settings that both searches share."""
    if samples < 1:
        raise SettingError(f"a latent search needs samples of at least 1, got {samples}")
    if not 0 < step <= reach:
        raise SettingError(f"a latent search needs 0 < step <= reach, got step {step:g} and reach {reach:g}")
