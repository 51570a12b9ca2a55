"""Tables of the success of replacement rules, from a record of `malaprop rules measure`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from malaprop_bench import table

_FAMILIES = {"word": "-W-", "ELMo": "-WC-", "character": "-C-"}


def family_lines(held: Mapping[str, Any]) -> list[str]:
    """Return a row for all victims and each family, a column for each set of rules; the first rules are from counts."""
    wholes = held["wholes"]
    cells = {(one["rules"], one["victim"]): one["success"]["value"] for one in held["cells"]}
    victims = list(dict.fromkeys(victim for _, victim in cells))
    rows = [[f"all {len(victims)}", *(_interval(one["mean"], one["low"], one["high"]) for one in wholes)]]
    for name in (*_FAMILIES, "BERT"):
        those = [victim for victim in victims if _family(victim) == name]
        if those:
            means = (fmean(cells[one["rules"], victim] for victim in those) for one in wholes)
            rows.append([f"{len(those)} {name}", *(f"{100 * mean:.1f}%" for mean in means)])
    rows.append(["points over counts", *(_ahead(one["ahead"]) for one in wholes)])
    rows.append(["words changed", *(f"{100 * one['words']:.1f}%" for one in wholes)])
    rows.append(["texts broken on all that had them right", *(_of(one["everywhere"]) for one in wholes)])
    return table.lines(["victims", *(f"`{one['rules']}`" for one in wholes)], rows)


def share_lines(held: Mapping[str, Any]) -> list[str]:
    """Return the share of texts broken within each share of words changed, mean over victims."""
    shares = list(held["cells"][0]["within"])
    rows = []
    for name in (one["rules"] for one in held["wholes"]):
        within = [one["within"] for one in held["cells"] if one["rules"] == name]
        means = (fmean(one[share]["value"] for one in within) for share in shares)
        rows.append([f"`{name}`", *(f"{100 * mean:.1f}%" for mean in means)])
    return table.lines(["words allowed", *(f"{100 * float(share):.0f}%" for share in shares)], rows)


def _family(victim: str) -> str:
    return next((name for name, mark in _FAMILIES.items() if mark in victim), "BERT")


def _interval(mean: float, low: float, high: float) -> str:
    return f"{100 * mean:.1f}% ({100 * low:.1f}-{100 * high:.1f})"


def _ahead(found: Iterable[float] | None) -> str:
    return "-" if found is None else "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * one for one in found))


def _of(found: Mapping[str, int] | None) -> str:
    return "-" if found is None else f"{found['hits']} of {found['total']}"
