"""Tables of a transfer study and its ensembles, from their kept records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from malaprop_bench import table

# What the paper reports of each factor, by attack and data.
_NAMES = ("input form", "architecture", "embedding", "capacity")
PAPER = {
    ("pwws", "ag_news"): (0.286, 0.197, 0.085, 0.066),
    ("pwws", "mr-full"): (0.285, 0.145, 0.114, 0.045),
    ("genetic", "ag_news"): (0.030, 0.018, 0.015, 0.013),
}
FACTORS = ("factor", "mean difference to the base rate", "pairs", "noise", "paper")
_HOW = ("genetic", "expert", "greedy", "exact")
ENSEMBLES = ("size", *_HOW, "genetic over expert, on models outside both")


def about_lines(held: Mapping[str, Any]) -> list[str]:
    """Return a paragraph: models attacked, success rates, and the two means that rates are compared with."""
    broken = [_share(model["counts"]) for model in held["models"]]
    right = [(one.get("success", 0) + one.get("failed", 0)) / held["texts"] for one in _counts(held)]
    drawn = [model["drawn"] for model in held["models"]]
    resampled = f"{100 * held['order_share']:.1f}% of the resamples of the models"
    return [
        f"{len(broken)} models, {held['texts']} texts, `{held['recipe']}`. The models get {_percents(right)} of the "
        f"texts right and the attack breaks {_percents(broken)} of those. Each source gave {min(drawn)} to "
        f"{max(drawn)} texts. Mean base rate {estimate(held['base'])}, mean over all pairs of two models "
        f"{estimate(held['pairs'])}. The paper's order of factors came in {resampled}."
    ]


def factor_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each factor, the largest first, beside the paper's value."""
    paper = dict(zip(_NAMES, PAPER.get((held["recipe"].partition(":")[0], held["data_spec"]), ()), strict=False))
    return [
        [
            one["name"], estimate(one["mean"]), str(one["pairs"]), _short(one["noise"]),
            _short(paper[one["name"]]) if one["name"] in paper else "",
        ]
        for one in sorted(held["factors"], key=lambda one: -float(one["mean"]["value"]))
    ]  # fmt: skip


def class_lines(held: Mapping[str, Any], name: str) -> list[str]:
    """Return a table of mean rates between classes of models, sources in rows and targets in columns."""
    found = next(one for one in held["tables"] if one["name"] == name)
    rows = [
        [source, *(_short(cell["value"]) if cell else "" for cell in cells)]
        for source, cells in zip(found["classes"], found["cells"], strict=True)
    ]
    last = ["as target", *("" if one is None else _short(one) for one in found["targets"])]
    return table.lines(["source", *found["classes"]], [*rows, last])


def ensemble_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each size: the transfer rate of each choice of models to the models outside it."""
    chosen = {(one["size"], one["how"]): one["outside"] for one in held["chosen"]}
    ahead = {one["size"]: one for one in held["contrasts"] if (one["first"], one["second"]) == ("genetic", "expert")}
    rows = []
    for size in sorted({size for size, _ in chosen}):
        cells = [estimate(found) if (found := chosen.get((size, how))) else "-" for how in _HOW]
        gap = ahead.get(size)
        contrast = f"{estimate(gap['difference'], '+')}, {gap['targets']} models" if gap else "-"
        rows.append([str(size), *cells, contrast])
    return rows


def estimate(found: Mapping[str, float], sign: str = "") -> str:
    """Format a rate with its interval."""
    ends = (_short(found[end], sign) for end in ("low", "high"))
    return f"{_short(found['value'], sign)} ({(' to ' if sign else '-').join(ends)})"


def _counts(held: Mapping[str, Any]) -> list[Mapping[str, int]]:
    return [model["counts"] for model in held["models"]]


def _share(counts: Mapping[str, int]) -> float:
    won = counts.get("success", 0)
    return won / (won + counts.get("failed", 0))


def _percents(some: Sequence[float]) -> str:
    return f"{100 * fmean(some):.1f}% ({100 * min(some):.1f}% to {100 * max(some):.1f}%)"


def _short(value: float, sign: str = "") -> str:
    """Format a number without the zero before the point."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:{sign}.3f}"
