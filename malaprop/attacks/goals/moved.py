"""A goal for models that give one number: to move it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Flags, Floats

_KNOWN = {"record": False}  # from the data, and from the first answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The score has moved by more than `bound` from that of the original, up or down, or with `falls` down alone.

    Where the labels of the data are numbers, an example whose score is off by more than the bound already is skipped,
    as a wrong label is; where they are not, none is.
    """

    bound: float = 0.5
    falls: bool | None = None  # true: only downwards counts
    truths: tuple[float, ...] = field(default=(), repr=False, metadata=_KNOWN)  # by the number of a label
    origin: float = field(default=0.0, repr=False, metadata=_KNOWN)
    needs = frozenset({Capability.NUMBER})

    def __post_init__(self) -> None:
        if not 0 < self.bound < float("inf"):
            raise SettingError(f"Moved.bound must be a number above 0, got {self.bound}")

    def for_labels(self, names: Sequence[str]) -> Moved:
        """The same goal on data whose labels are written so."""
        try:
            return replace(self, truths=tuple(map(float, names)))
        except ValueError:
            return self

    def from_original(self, answer: Floats) -> Moved:
        """The same goal for a text with this answer."""
        return replace(self, origin=float(answer[0]))

    def wrong(self, answers: Floats, label: int) -> Flags:
        truth = self.truths[label] if 0 <= label < len(self.truths) else None
        if truth is None:
            return np.zeros(len(answers), np.bool_)
        return np.asarray(np.abs(answers[:, 0] - truth) > self.bound)

    def values(self, answers: Floats, label: int) -> Floats:  # noqa: ARG002
        fall = np.float32(self.origin) - answers[:, 0]
        return np.asarray(fall if self.falls else np.abs(fall))

    def reached(self, answers: Floats, label: int, margin: float = SLACK) -> Flags:
        return np.asarray(self.values(answers, label) > self.bound + margin)
