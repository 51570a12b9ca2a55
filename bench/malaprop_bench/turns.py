"""Turns: two tools on the same texts by turns, compared by processor time, where other work makes the clock useless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = (
    "victim", "recipe", "side", "texts", "successes", "asked", "forwarded", "processor s a text", "times TextAttack",
)  # fmt: skip
PEER = "TextAttack"


def seconds(side: Mapping[str, Any]) -> float:
    """A text's share of the processor time; of a side run as a process of its own, what texts behind the first took.

    Such a process has loaded its libraries and its model too, so a run on the first text alone is subtracted.
    """
    if "first_s" in side:
        return float((side["processor_s"] - side["first_s"]) / (side["texts"] - 1))
    return float(side["processor_s"] / side["texts"])


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A line for each side of each (victim, recipe), over all turns; a ratio is of turns that both sides ran."""
    out = []
    for victim, recipe in dict.fromkeys((r["victim"], r["recipe"]) for r in records):
        turns = [r["sides"] for r in records if (r["victim"], r["recipe"]) == (victim, recipe)]
        for name in dict.fromkeys(name for sides in turns for name in sides):
            both = [(sides[name], sides[PEER]) for sides in turns if name in sides]
            mine = [side for side, _ in both]
            counts = [sum(side[key] for side in mine) for key in ("texts", "broken", "asked", "forwarded")]
            spent, peers = (_mean(sides) for sides in zip(*both, strict=True))
            ratio = "" if name == PEER else f"{peers / spent:.2f}"
            out.append([victim, recipe, name, *map(str, counts), f"{spent:.2f}", ratio])
    return out


def _mean(sides: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(seconds(side) * side["texts"] for side in sides) / sum(side["texts"] for side in sides))
