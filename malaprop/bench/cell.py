"""Cell: one recipe on one victim, ours beside the peer's, and the ratios between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from malaprop.bench.floor import Floor
from malaprop.bench.measured import Measured, Row

# What this project promises, as the peer's wall time over ours; by recipe and the victim's encoder.
GOALS = {
    ("pwws", "LSTM"): 6.0,
    ("pwws", "CNN"): 7.0,
    ("pwws", "BERT"): 1.3,
    ("textfooler", "LSTM"): 5.0,
    ("textfooler", "CNN"): 10.0,
    ("genetic", "LSTM"): 12.0,
    ("genetic", "CNN"): 15.0,
    ("pwws (stock wrapper)", "BERT"): 15.0,
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many of the rows ended alike: with the same status, the same text, the same number of queries."""

    rows: int
    statuses: int
    texts: int
    queries: int

    @classmethod
    def of(cls, ours: Measured, peer: Measured) -> Agreement:
        pairs = list(zip(ours.outcomes, peer.outcomes, strict=False))
        return cls(
            len(pairs),
            sum(a.status == b.status for a, b in pairs),
            sum(a.text == b.text for a, b in pairs),
            sum(a.queries == b.queries for a, b in pairs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`reason` says why a side is missing. With several runs of each side, the one of the middle ratio stands here."""

    recipe: str
    victim: str
    rows: tuple[Row, ...]
    ours: Measured | None = None
    peer: Measured | None = None
    floor: Floor | None = None
    ratios: tuple[float, ...] = ()
    reason: str = ""

    @property
    def faster(self) -> float | None:
        """The peer's wall time over ours, for the same rows."""
        if self.ours is None or self.peer is None:
            return None
        return self.peer.wall_s / self.ours.wall_s

    @property
    def goal(self) -> float | None:
        encoder = next((e for e in ("LSTM", "CNN", "BERT") if e in self.victim), "")
        return GOALS.get((self.recipe, encoder))

    @property
    def of_floor(self) -> float | None:
        """Our wall time over that of plain forward passes; below one where variants are scored incrementally."""
        if self.ours is None or self.floor is None or not self.floor.seconds:
            return None
        return self.ours.wall_s / self.floor.seconds

    @property
    def agreement(self) -> Agreement | None:
        return None if self.ours is None or self.peer is None else Agreement.of(self.ours, self.peer)

    def to_dict(self) -> dict[str, Any]:
        agreement = self.agreement
        return {
            "recipe": self.recipe,
            "victim": self.victim,
            "rows": len(self.rows),
            "faster": _three(self.faster),
            "goal": self.goal,
            "ratios": [_three(r) for r in self.ratios],
            "ours": _side(self.ours, self.rows),
            "peer": _side(self.peer, self.rows),
            "floor": None if self.floor is None else asdict(self.floor),
            "share_of_floor": _three(self.of_floor),
            "equal": None if agreement is None else asdict(agreement),
            "reason": self.reason,
        }


def _side(side: Measured | None, rows: Sequence[Row]) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "tool": side.tool,
        "threads": side.threads,
        "wall_s": round(side.wall_s, 4),
        "model_s": round(side.model_s, 4),
        "lookup_s": round(side.lookup_s, 4),
        "ms_per_example": _three(1000 * side.wall_s / max(1, len(side.outcomes))),
        "asked": side.asked,
        "unique": side.distinct,
        "forwarded": side.forwarded,
        "success": side.success.to_dict(),
        "changed_share": _three(side.changed(rows)),
    }


def _three(value: float | None) -> float | None:
    """Three digits that count: no more can be read off a shared machine."""
    return None if value is None else float(f"{value:.3g}")
