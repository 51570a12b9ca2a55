"""Compare attacks that see labels alone with one that sees scores, by query budget: measurement, table and picture.

python -m malaprop_bench.budgets measure docs/measured/labels-alone.json --victim LSTM-W-GloVe-1 --n 100
python -m malaprop_bench.budgets draw docs/measured/labels-alone.json docs/labels-alone.svg
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.records.summary import Rate

BUDGETS = (50, 100, 200, 500, 1000, 5000)
RECIPES = ("pwws", "hqa", "leap", "texthoaxer", "hlbb")
SEES_SCORES = "pwws"
HEAD = ("victim", "recipe", *(f"{budget:,}" for budget in BUDGETS), "words changed", "median queries")
_COLORS = {"pwws": "#555", "hqa": "#0b6fb8", "leap": "#c2571a", "texthoaxer": "#2a8a4a", "hlbb": "#8a3fa0"}
_WIDE, _HIGH, _LEFT, _TOP, _LOW = 360, 250, 48, 34, 44


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCell:
    """One recipe on one victim with one query budget; of `texts` the victim answered `right` correctly."""

    victim: str
    recipe: str
    budget: int
    data: str
    texts: int
    right: int
    broken: int
    changed: float | None  # share of words, mean over broken texts; None: read from the run with a larger budget
    queries: float  # median over texts that were attacked

    @property
    def key(self) -> tuple[str, int, int]:
        return self.victim, RECIPES.index(self.recipe), self.budget


def measure(
    victim: str, *, n: int, data: str = "mr", budgets: Sequence[int] = BUDGETS, recipes: Sequence[str] = RECIPES
) -> list[BudgetCell]:
    """Run every recipe with every budget, on the same texts and with the same replacements: WordNet's.

    The victim's answers are kept meanwhile: a smaller budget repeats queries of a larger one.
    """
    from tempfile import TemporaryDirectory

    from malaprop.data.base import load
    from malaprop.data.matching import agree
    from malaprop.engine.paid import Paid
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.make_attack import recipe as make
    from malaprop.frame.runs.victims import victim as open_victim

    cells = []
    with TemporaryDirectory() as folder:
        model = Paid(open_victim(victim, quiet=True), Path(folder) / "answers.db")
        chosen = load(data).sample(n)
        texts = agree(chosen, model).examples
        for recipe, budget in product(recipes, sorted(budgets, reverse=True)):
            settings: dict[str, Any] = {} if recipe == SEES_SCORES else {"words": "wordnet"}
            found = list(run(make(recipe, budget=budget, **settings), model, texts))
            tried = [one for one in found if one.status in ("success", "failed")]
            broken = [one for one in tried if one.status == "success"]
            cell = BudgetCell(
                victim=model.name, recipe=recipe, budget=budget, data=chosen.name, texts=len(found), right=len(tried),
                broken=len(broken), changed=round(fmean(one.changed_share for one in broken), 4) if broken else 0.0,
                queries=median(one.queries.asked for one in tried),
            )  # fmt: skip
            print(cell, flush=True)
            cells.append(cell)
    return cells


def read(path: Path) -> list[BudgetCell]:
    """Return the cells of a file that `measure` wrote."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
        return [BudgetCell(**{f.name: row[f.name] for f in fields(BudgetCell)}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path} does not hold measured budgets: {error!r}; write it with: measure") from None


def write(path: Path, cells: Sequence[BudgetCell]) -> None:
    """Write the cells in order, the last of each victim, recipe and budget."""
    kept = {cell.key: cell for cell in cells}
    path.write_text(json.dumps({"cells": [asdict(kept[key]) for key in sorted(kept)]}, indent=1) + "\n", "utf-8")


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim and recipe: the share of correctly answered texts that it broke, by budget.

    Words changed and queries are of the runs with a budget of 1,000 queries.
    """
    lines: dict[tuple[str, str], dict[int, BudgetCell]] = {}
    for row in held["cells"]:
        cell = BudgetCell(**row)
        lines.setdefault((cell.victim, cell.recipe), {})[cell.budget] = cell
    out = []
    for (victim, recipe), cells in lines.items():
        at = cells[1000]
        rates = [f"{c.broken / c.right:.1%} ({c.broken}/{c.right})" if (c := cells.get(b)) else "-" for b in BUDGETS]
        out.append([victim, f"`{recipe}`", *rates, f"{at.changed or 0:.1%}", f"{at.queries:.0f}"])
    return out


def gap_lines(held: Mapping[str, Any]) -> list[str]:
    """Return a line for each victim: how far recipes that see labels alone are behind the one that sees scores."""
    out = []
    cells = [BudgetCell(**row) for row in held["cells"] if row["budget"] == 1000]
    for victim in dict.fromkeys(cell.victim for cell in cells):
        mine = {cell.recipe: cell for cell in cells if cell.victim == victim}
        scores = mine.pop(SEES_SCORES)
        least = min(mine.values(), key=lambda cell: cell.broken)
        most = max(mine.values(), key=lambda cell: cell.broken)
        behind = [100 * (scores.broken - cell.broken) / scores.right for cell in (most, least)]
        out.append(
            f"- `{victim}`, 1,000 queries: `{SEES_SCORES}` with scores {Rate(scores.broken, scores.right)}; with "
            f"labels alone {Rate(most.broken, most.right)} at best and {Rate(least.broken, least.right)} at worst, "
            f"{behind[0]:.1f} and {behind[1]:.1f} points less."
        )
    return out


def draw(cells: Sequence[BudgetCell]) -> str:
    """Draw accuracy under attack against the query budget as SVG, a panel for each victim, a line for each recipe."""
    victims = list(dict.fromkeys(cell.victim for cell in cells))
    panels = [
        f'<g transform="translate({i * _WIDE} 0)">{_panel(victim, [c for c in cells if c.victim == victim])}</g>'
        for i, victim in enumerate(victims)
    ]
    wide, high = len(victims) * _WIDE, _HIGH + 26
    legend = "".join(
        f'<line x1="{20 + i * 110}" x2="{44 + i * 110}" y1="{_HIGH + 8}" y2="{_HIGH + 8}" stroke="{_COLORS[name]}" '
        f'stroke-width="2.5"{_dash(name)}/><text x="{49 + i * 110}" y="{_HIGH + 12}">{name}</text>'
        for i, name in enumerate(RECIPES)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(wide, 580)} {high}" font-family="sans-serif" '
        'font-size="11" role="img">\n<title>Accuracy under attack against the query budget</title>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{"".join(panels)}\n{legend}\n</svg>\n'
    )


def _dash(recipe: str) -> str:
    return ' stroke-dasharray="6 4"' if recipe == SEES_SCORES else ""


def _panel(victim: str, cells: Sequence[BudgetCell]) -> str:
    right, bottom = _WIDE - 16, _HIGH - _LOW
    whole = cells[0].texts
    clean = cells[0].right / whole

    def across(budget: float) -> float:
        return _LEFT + math.log(budget / BUDGETS[0]) / math.log(BUDGETS[-1] / BUDGETS[0]) * (right - _LEFT)

    def height(share: float) -> float:
        return bottom - share * (bottom - _TOP)

    parts = [f'<text x="{_LEFT}" y="18" font-size="13">{victim}, clean {clean:.0%}</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = height(share)
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    parts += [
        f'<text x="{across(budget):.1f}" y="{bottom + 16}" text-anchor="middle">{budget:,}</text>' for budget in BUDGETS
    ]
    parts.append(f'<text x="{(_LEFT + right) / 2:.1f}" y="{bottom + 32}" text-anchor="middle">queries a text</text>')
    for recipe in RECIPES:
        mine = sorted((c for c in cells if c.recipe == recipe), key=lambda c: c.budget)
        points = " ".join(f"{across(c.budget):.1f},{height((c.right - c.broken) / whole):.1f}" for c in mine)
        stroke = f'stroke="{_COLORS[recipe]}" stroke-width="2"{_dash(recipe)}'
        parts.append(f'<polyline points="{points}" fill="none" {stroke}/>')
    return "".join(parts)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.budgets", description=__doc__)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser("measure", help="attack with every recipe and budget, and add the cells to the file")
    one.add_argument("file", type=Path)
    one.add_argument("--victim", required=True)
    one.add_argument("--data", default="mr")
    one.add_argument("--n", type=int, default=100)
    one.add_argument("--recipes", default=",".join(RECIPES))
    one.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    two = parts.add_parser("draw", help="draw the picture")
    two.add_argument("file", type=Path)
    two.add_argument("picture", type=Path)
    given = parser.parse_args(words)
    if given.what == "measure":
        budgets = [int(budget) for budget in given.budgets.split(",")]
        cells = measure(given.victim, n=given.n, data=given.data, budgets=budgets, recipes=given.recipes.split(","))
        write(given.file, [*read(given.file), *cells])
    else:
        given.picture.write_text(draw(read(given.file)), "utf-8")


if __name__ == "__main__":
    main()
