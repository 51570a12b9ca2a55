"""Iterative stochastic search: Algorithm 1 of Zhao et al. 2018, as printed, with an end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.papers.natural.search.probe import LatentProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterative:
    """Moves a shell of width `step` outward until one of its `samples` points reaches the goal.

    Differs: stops at distance `reach`; the printed loop has no end.
    """

    samples: int = 5000
    step: float = 0.01
    reach: float = 20.0

    def __post_init__(self) -> None:
        check(self.samples, self.step, self.reach)

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        for turn in range(round(self.reach / self.step)):
            if (yield from probe.shell(rng, self.samples, turn * self.step, (turn + 1) * self.step)):
                return


def check(samples: int, step: float, reach: float) -> None:
    """Settings that both printed searches share."""
    if samples < 1:
        raise SettingError(f"a latent search needs samples of at least 1, got {samples}")
    if not 0 < step <= reach:
        raise SettingError(f"a latent search needs 0 < step <= reach, got step {step:g} and reach {reach:g}")
