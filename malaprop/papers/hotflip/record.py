"""The record of a HotFlip study: success curves, operations, hardened models, nearest words and speed."""

from __future__ import annotations

from dataclasses import dataclass, field

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread

FILE = "hotflip.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The success of one attack by the confidence that it must reach; 0 requires a wrong label alone."""

    attack: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipChange:
    """The edits of one run's successes: the share of characters changed, and the count of each operation."""

    attack: str
    confidence: float
    success: Rate
    share: Spread
    operations: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardened:
    """One model under the attack by flips alone; `error` is on the whole test part, without an attack."""

    name: str
    about: str
    error: Rate
    success: Rate
    epochs: int
    epoch_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestWords:
    """The words nearest to a word's vector before and after an edit."""

    word: str
    edited: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Economy:
    """The greedy attack by derivatives and by exact losses, on the same texts."""

    success: Rate
    exact_success: Rate
    seconds: float
    exact_seconds: float

    @property
    def ratio(self) -> float | None:
        """Return how many times faster derivatives find successes than exact losses; None where either finds none."""
        if not (self.success.hits and self.exact_success.hits and self.seconds > 0):
            return None
        return (self.success.hits / self.seconds) / (self.exact_success.hits / self.exact_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipRecord(Record):
    """The result of a HotFlip study.

    `moved` counts the edited words of successes whose original is not among the five nearest words any more. `ranked`
    are flips, insertions and deletions on a few texts, ranked by derivatives and by exact losses.
    """

    model: str
    data: str
    texts: int
    curves: tuple[Curve, ...] = ()
    changes: tuple[HotFlipChange, ...] = ()
    hardened: tuple[Hardened, ...] = ()
    neighbours: tuple[NearestWords, ...] = ()
    moved: Rate = field(default_factory=lambda: Rate(0, 0))
    economy: Economy | None = None
    ranked: tuple[HotFlipChange, ...] = ()
