"""Success against the confidence asked for (Ebrahimi et al. 2018, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate
from malaprop.papers.hotflip.record import Curve


def confidence(outcome: Outcome) -> float:
    """With which probability the victim is wrong in the end; 0 where it is right."""
    side = outcome.adversarial
    if side is None or side.prediction is None or side.prediction == outcome.label:
        return 0.0
    return float(side.scores[side.prediction])


def success_at(outcomes: Sequence[Outcome], asked: float) -> Rate:
    """Of the texts that were right before, those that end wrong with at least this confidence."""
    attacked = [o for o in outcomes if o.status in ("success", "failed")]
    return Rate(sum(confidence(o) >= asked and confidence(o) > 0 for o in attacked), len(attacked))


def curve(attack: str, runs: Mapping[float, Sequence[Outcome]], points: Sequence[float]) -> Curve:
    """`runs` are the same attack by the confidence at which it stopped.

    A point is read from the run that went on just far enough: of those that asked for this confidence or a higher one,
    the lowest. A search does not depend on where it stops, so its strongest attempt at a higher one serves a lower one.
    """
    found = []
    for point in sorted(points):
        able = [floor for floor in runs if floor >= point]
        if able:
            found.append((point, success_at(runs[min(able)], point)))
    return Curve(attack=attack, points=tuple(found))
