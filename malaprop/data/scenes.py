"""Images of churches and towers under a sky, in colour, drawn by program: a second image set beside digits.

They stand in for the photographs of churches and towers (LSUN) on which natural adversaries were first shown, which no
package holds. Results on them need not hold for photographs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator

SIDE, MANY = 32, 3000
LABELS = ("church", "tower")
_ROWS: NDArray[np.float32] = np.repeat(np.arange(SIDE, dtype=np.float32)[:, None], SIDE, 1)
_COLUMNS: NDArray[np.float32] = _ROWS.T.copy()


def draw_scenes(many: int = MANY) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw scenes as bytes [scene, side, side, 3], with alternating labels; the result is always the same."""
    labels = np.arange(many) % len(LABELS)
    return np.stack([_draw(int(label), generator(0, "scene", str(n))) for n, label in enumerate(labels)]), labels


def _draw(label: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw sky, ground and a building: a church with a wide nave, gable and spire, or a tall tower with a crown."""
    sky, ground = rng.uniform(0.45, 1, 3), rng.uniform(0.1, 0.5, 3)
    stone = rng.uniform(0.25, 0.75) * np.ones(3) + rng.uniform(-0.12, 0.12, 3)
    horizon = rng.uniform(23, 28)
    shade = (1 - 0.35 * _ROWS / SIDE)[..., None]
    picture = np.where((horizon > _ROWS)[..., None], sky * shade, ground)
    middle = rng.uniform(11, 21)
    inside = (_church, _tower)[label](middle, horizon, rng)
    light = (1 + 0.25 * np.sign(middle - _COLUMNS))[..., None]
    picture = np.where(inside[..., None], stone * light, picture)
    windows = inside & ((_COLUMNS.astype(int) % 4) == int(rng.integers(4))) & ((_ROWS.astype(int) % 6) < 2)
    picture = np.where((windows & (horizon - 14 < _ROWS))[..., None], 0.12, picture)
    noisy = picture + rng.normal(0, 0.03, picture.shape)
    return np.asarray(np.clip(np.rint(noisy * 255), 0, 255), np.uint8)


def _box(left: float, right: float, top: float, bottom: float) -> NDArray[np.bool_]:
    return (left <= _COLUMNS) & (right >= _COLUMNS) & (top <= _ROWS) & (bottom >= _ROWS)


def _gable(middle: float, half: float, top: float, bottom: float) -> NDArray[np.bool_]:
    """Return the mask of a triangle that stands on its base."""
    share = (_ROWS - top) / max(bottom - top, 1e-6)
    return np.asarray((share >= 0) & (share <= 1) & (np.abs(_COLUMNS - middle) <= half * share))


def _church(middle: float, horizon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    half, eaves = rng.uniform(6, 10), horizon - rng.uniform(6, 9)
    side = middle + rng.choice([-1.0, 1.0]) * half * 0.8
    top = eaves - rng.uniform(5, 8)
    nave = _box(middle - half, middle + half, eaves, horizon) | _gable(middle, half + 1, eaves - half * 0.6, eaves)
    return nave | _box(side - 2, side + 2, top, horizon) | _gable(side, 2.5, top - rng.uniform(4, 7), top)


def _tower(middle: float, horizon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    half, top = rng.uniform(2.5, 5), rng.uniform(3, 10)
    crown = _box(middle - half - 1, middle + half + 1, top, top + 3) & ~((top + 1.5 > _ROWS) & (_COLUMNS % 3 < 1))
    return _box(middle - half, middle + half, top, horizon) | crown
