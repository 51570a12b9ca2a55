"""The paper's two searches (Algorithms 1 and 2: iterative stochastic, hybrid shrinking), and our boundary search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats
from malaprop.papers.natural.search.service import LatentProbe


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


_FRACTIONS = np.linspace(0.05, 1.0, 20, dtype=np.float32)  # of the known distance, where a direction is tried
_TURNS = np.asarray([0.8, 0.4, 0.2, 0.1, 0.05], np.float32)  # radians towards the estimated normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A search by decisions alone, as the paper's are, that estimates the decision boundary from them.

    A random success is moved towards the start along its direction. Random points around it, by which of them reach the
    goal, then estimate the normal of the boundary; the direction turns towards the normal, the success is moved in
    again, and so on. The estimate is that of boundary attacks (Chen et al. 2020), on latent points and by grids.
    """

    samples: int = 200  # points around each success, and in each shell of the first search
    reach: float = 20.0
    rounds: int = 40
    patience: int = 4  # rounds without a gain of 1% before it ends

    def __post_init__(self) -> None:
        if min(self.samples, self.rounds, self.patience) < 1 or self.reach <= 0:
            raise SettingError(f"Boundary takes whole numbers of at least 1 and a reach above 0, got {self}")

    def steps(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[None]:
        if not (yield from self._find_first(probe, rng)):
            return
        barren, spread = 0, 0.3
        for _ in range(self.rounds):
            before = probe.radius
            normal = yield from self._estimate_normal(probe, rng, spread)
            if normal is not None:
                yield from _turn_inward(probe, normal)
            if probe.radius <= 0.99 * before:
                barren = 0
            else:
                barren, spread = barren + 1, spread / 2
            if barren >= self.patience:
                return

    def _find_first(self, probe: LatentProbe, rng: np.random.Generator) -> Steps[bool]:
        """Find a first success in growing shells around the start."""
        for power in (*range(6, 0, -1), *[0] * self.patience):
            high = self.reach / 2**power
            if (yield from probe.shell(rng, self.samples, high / 2, high)):
                return True
        return False

    def _estimate_normal(self, probe: LatentProbe, rng: np.random.Generator, spread: float) -> Steps[Floats | None]:
        """Estimate the boundary's normal at the closest success: from the mean of failures to the mean of successes."""
        here = probe.found[0][1]
        width = spread * probe.radius
        points = rng.standard_normal((self.samples, len(here)), np.float32)
        points *= width / np.sqrt(np.float32(len(here)))
        flags = yield from probe.look(here + points)
        if flags.all() or not flags.any():
            return None
        return np.asarray(points[flags].mean(0) - points[~flags].mean(0), np.float32)


def _turn_inward(probe: LatentProbe, normal: Floats) -> Steps[None]:
    """Turn the direction of the closest success towards the normal by several angles, and move each inward."""
    distance, point = probe.found[0]
    ahead = (point - probe.origin) / np.float32(max(distance, 1e-12))
    side = normal - (normal @ ahead) * ahead
    length = np.linalg.norm(side)
    if length <= 1e-12:
        return
    side /= length
    ways = np.cos(_TURNS)[:, None] * ahead + np.sin(_TURNS)[:, None] * side
    grid = probe.origin + distance * (_FRACTIONS[None, :, None] * ways[:, None, :])
    yield from probe.look(grid.reshape(-1, len(ahead)))
    yield from _move_inward(probe)


def _move_inward(probe: LatentProbe) -> Steps[None]:
    """Move the closest success towards the start along its direction, by a finer grid just below it."""
    ahead = probe.found[0][1] - probe.origin
    yield from probe.look(probe.origin + np.linspace(0.96, 0.99, 4, dtype=np.float32)[:, None] * ahead)
