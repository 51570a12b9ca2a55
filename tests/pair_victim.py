"""A second victim beside the toy one, of the same opinion but less sure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from toy import weigh


def predict(texts: Sequence[str | tuple[str, ...]]) -> list[list[float]]:
    good = [1 / (1 + math.exp(-weigh(text) / 2)) for text in texts]
    return [[1 - p, p] for p in good]
