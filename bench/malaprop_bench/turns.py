"""Compare two tools on the same texts by turns and by processor time, as other work on a machine distorts wall time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = (
    "victim", "recipe", "side", "texts", "successes", "asked", "forwarded", "processor s a text", "times TextAttack",
)  # fmt: skip
PEER = "TextAttack"


def seconds(side: Mapping[str, Any]) -> float:
    """Return the processor time for a text; of a side in a process of its own that of the texts after the first.

    Such a process has loaded its libraries and its model too, so a run on the first text alone is subtracted.
    """
    if "first_s" in side:
        return float((side["processor_s"] - side["first_s"]) / (side["texts"] - 1))
    return float(side["processor_s"] / side["texts"])


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each side of each (victim, recipe), over all turns; a ratio is of turns that both sides ran."""
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
