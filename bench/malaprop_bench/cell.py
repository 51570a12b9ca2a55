"""The measurement of one recipe on one victim: our run, each peer's run, and the ratios between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median_low
from typing import Any

from malaprop_bench.floor import Floor
from malaprop_bench.measured import Measured, Row
from malaprop_bench.roster import find

# What this project promises: TextAttack's wall time over ours, by recipe, the victim's encoder, and our precision.
GOALS = {
    ("pwws", "LSTM", "fp32"): 12.0,
    ("pwws", "CNN", "fp32"): 40.0,
    ("pwws", "BERT", "fp32"): 1.5,
    ("pwws", "BERT", "bf16"): 3.5,
    ("pwws", "BERT", "int8"): 3.0,
    ("pwws (stock wrapper)", "BERT", "fp32"): 15.0,
    ("pwws", "DistilBERT", "fp32"): 1.3,
    ("pwws (stock wrapper)", "DistilBERT", "fp32"): 15.0,
    ("pwws", "RoBERTa", "fp32"): 1.3,
    ("pwws (stock wrapper)", "RoBERTa", "fp32"): 15.0,
    ("textfooler", "LSTM", "fp32"): 12.0,
    ("textfooler", "CNN", "fp32"): 40.0,
    ("genetic", "LSTM", "fp32"): 30.0,
    ("genetic", "CNN", "fp32"): 45.0,
}


def encoder(victim: str) -> str:
    kinds = ("LSTM", "CNN", "DistilBERT", "RoBERTa", "BERT")
    return next((kind for kind in kinds if kind in victim), "")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many rows ended alike on both sides: with the same status, the same text, the same number of queries."""

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


@dataclass(frozen=True, slots=True)
class Duel:
    """Both sides on the same rows. With several runs of each, `ratios` has all and the middle run is kept, by
    processor times, if all runs have them, as other work on the machine changes these less."""

    ours: Measured
    theirs: Measured
    ratios: tuple[float, ...]
    processor_ratios: tuple[float, ...] = ()

    @classmethod
    def of(cls, pairs: Sequence[tuple[Measured, Measured]]) -> Duel:
        ratios = tuple(theirs.wall_s / ours.wall_s for ours, theirs in pairs)
        spent = tuple(t.processor_s / o.processor_s for o, t in pairs if o.processor_s and t.processor_s)
        steady = spent if len(spent) == len(pairs) else ratios
        return cls(*pairs[steady.index(median_low(steady))], ratios, spent)

    @property
    def faster(self) -> float:
        """Return their wall time over ours."""
        return self.theirs.wall_s / self.ours.wall_s

    def to_dict(self, rows: Sequence[Row], ours: str = "") -> dict[str, Any]:
        agreement = Agreement.of(self.ours, self.theirs)
        return {
            **side(self.theirs, rows),
            "rows": len(self.theirs.outcomes),
            "ours_recipe": ours,
            "ours": side(self.ours, rows),
            "ours_wall_s": round(self.ours.wall_s, 4),
            "faster": three(self.faster),
            "ratios": [three(r) for r in self.ratios],
            "processor_ratios": [three(r) for r in self.processor_ratios],
            "equal": asdict(agreement),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One recipe on one victim. The first of `duels` decides the rows of `ours` and the floor; `reasons` explain gaps.

    `duels` go by the peer's name; `floor_of` names the side whose distinct texts the floor is of.
    """

    recipe: str
    victim: str
    rows: tuple[Row, ...]
    precision: str = "fp32"
    ours: Measured | None = None
    defaults: Measured | None = None
    duels: tuple[tuple[str, Duel], ...] = ()
    floor: Floor | None = None
    floor_of: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def faster(self) -> float | None:
        """Return TextAttack's wall time over ours, for the same rows."""
        return next((duel.faster for tool, duel in self.duels if tool == "TextAttack"), None)

    @property
    def goal(self) -> float | None:
        return GOALS.get((self.recipe, encoder(self.victim), self.precision))

    @property
    def of_floor(self) -> float | None:
        """Return our wall time over that of plain forward passes; incremental scorers can bring it below 1."""
        if self.ours is None or self.floor is None or not self.floor.seconds:
            return None
        return self.ours.wall_s / self.floor.seconds

    @property
    def processor_of_floor(self) -> float | None:
        """Return our processor time over that of plain forward passes."""
        if self.ours is None or self.floor is None or not self.floor.processor_s:
            return None
        return self.ours.processor_s / self.floor.processor_s

    def _walked(self, tool: str) -> str:
        """Return the name of our recipe that ran beside a peer's."""
        found = find(tool, self.recipe.partition(" (")[0])
        return "" if found is None else found.recipe if "our defaults" in self.recipe else found.ours

    def to_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "victim": self.victim,
            "precision": self.precision,
            "rows": len(self.rows),
            "faster": three(self.faster),
            "goal": self.goal,
            "ours": None if self.ours is None else side(self.ours, self.rows),
            "defaults": None if self.defaults is None else side(self.defaults, self.rows),
            "peers": {tool: duel.to_dict(self.rows, self._walked(tool)) for tool, duel in self.duels},
            "floor": None if self.floor is None else {**asdict(self.floor), "of": self.floor_of},
            "share_of_floor": three(self.of_floor),
            "processor_share_of_floor": three(self.processor_of_floor),
            "reasons": list(self.reasons),
        }


def side(held: Measured, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "tool": held.tool,
        "threads": held.threads,
        "wall_s": round(held.wall_s, 4),
        "processor_s": round(held.processor_s, 4),
        "model_s": round(held.model_s, 4),
        "lookup_s": round(held.lookup_s, 4),
        "ms_per_example": three(1000 * held.wall_s / max(1, len(held.outcomes))),
        "asked": held.asked,
        "median_queries": held.median_queries,
        "unique": held.distinct,
        "forwarded": held.forwarded,
        "success": held.success.to_dict(),
        "changed_share": three(held.changed(rows)),
        **({"quality": {name: three(value) for name, value in held.quality.items()}} if held.quality else {}),
    }


def three(value: float | None) -> float | None:
    """Round to three significant digits: a measurement on a shared machine has no more."""
    return None if value is None else float(f"{value:.3g}")
