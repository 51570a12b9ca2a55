"""An attack that knows a randomised defence: it asks for means over several draws, and confirms on fresh ones.

Scores are means over several draws, so that the luck of one draw cannot mislead the search (expectation over
transformation, Athalye et al. 2018). A success must hold on fresh draws, which the search has never seen: the label
that wins most of them must be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats, winners
from malaprop.core.text import Ints
from malaprop.core.victim import Fields, Wrapper, in_fields
from malaprop.frame.runs.defended import Defended


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adaptive(Wrapper):
    """A defended victim whose scores are means over `draws` draws, and whose `predict` is the vote of `fresh` others.

    The deployed defence answers with draw 0, which is in neither set.
    """

    defended: Defended
    draws: int = 4
    fresh: int = 9
    lanes: ClassVar[int] = 1
    renews: ClassVar[bool] = False  # the numbers of the draws are fixed

    def __post_init__(self) -> None:
        if self.draws < 1 or self.fresh < 1:
            raise SettingError(f"an adaptive attack needs draws and fresh draws, got {self.draws} and {self.fresh}")

    @property
    def name(self) -> str:
        return f"adaptive:{self.defended.name}"

    @property
    def inside(self) -> Defended:
        return self.defended

    @property
    def fingerprint(self) -> str:
        inner = self.defended.fingerprint
        return f"{inner}-{self.draws}-{self.fresh}" if inner else ""

    @property
    def rounding(self) -> float:
        """Return a rounding above 0, by which a success that fresh draws refute is no error and the search goes on."""
        return max(1e-3, self.defended.rounding)

    def begin(self, pool: Pool, wanted: Ints) -> Floats:
        texts = [text.values() for text in pool.texts(wanted)]
        return np.asarray(self.defended.draws(texts, range(1, self.draws + 1)).mean(0), np.float32)

    def finish(self, begun: Floats) -> Floats:
        return begun

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        """Return [text, label] the share of the fresh draws that each label wins."""
        if not texts:
            return np.empty((0, self.labels or 0), np.float32)
        found = self.defended.draws(in_fields(texts), range(self.draws + 1, self.draws + self.fresh + 1), exact=True)
        votes = np.eye(found.shape[2], dtype=np.float32)[[winners(one) for one in found]]
        return np.asarray(votes.mean(0), np.float32)
