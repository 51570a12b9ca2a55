"""Run the whole comparison, our side and the peers back to back, cell by cell; write a table, a picture and JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop_bench import peer
from malaprop_bench.bout import STOCK, Bout, Terms, peers_name
from malaprop_bench.cell import GOALS, Cell, encoder
from malaprop_bench.machine import describe
from malaprop_bench.own import COMPARED, RECIPES, entry_of
from malaprop_bench.peer import TOOLS, Peer
from malaprop_bench.peer_textattack import VARIANTS
from malaprop_bench.roll import Roll
from malaprop_bench.table import markdown, svg

VICTIMS = ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT")
EVERY = tuple(recipe for recipe in COMPARED if recipe not in VARIANTS and entry_of(recipe).language == "en")
LISTED = ("pwws", f"pwws{STOCK}", "textfooler", "genetic")
PLAN = tuple((r, v) for v, r in product(VICTIMS, LISTED) if (r, encoder(v), "fp32") in GOALS)
Say = Callable[[str], None]
Pair = tuple[str, str]  # a recipe, and a victim as the user names it


def bench(
    out: Path,
    plan: Sequence[Pair] = PLAN,
    terms: Terms | None = None,
    *,
    given: Mapping[str, Path | None] | None = None,
    resume: bool = False,
    say: Say | None = None,
) -> dict[str, Any]:
    """Run every cell of the plan and write bench.json, bench.md and bench.svg to `out` after each.

    A recipe may carry the suffix ` (stock wrapper)`: TextAttack then uses its own Hugging Face wrapper, on victims that
    have one; or ` (our defaults)`: our side then runs with its own defaults, not in the peer's variant. `given` names
    peers' Pythons; others are looked for in the working folder. Without any, our side runs alone. A side that fails is
    missing from its cell, which holds the reason. With `resume`, cells that an earlier run in `out` completed with the
    same settings are kept.
    """
    terms, tell = terms or Terms(), say or _to_stderr
    for recipe, _ in plan:
        if peers_name(recipe) not in RECIPES:
            raise unknown("recipe of bench", recipe, RECIPES)
    found = found_peers(given or {}, tell)
    table = _Table(out, _about(terms), resume)
    with tempfile.TemporaryDirectory(prefix="malaprop-bench-") as room:
        folder = Path(room)
        peers = [Peer(tool=TOOLS[name], python=python, folder=folder) for name, python in found.items()]
        left = [pair for pair in plan if not table.has(pair)]
        if peers and left:
            peer.prepare(folder, [recipe for recipe, _ in left])
        for name in dict.fromkeys(victim for _, victim in left):
            recipes = [recipe for recipe, victim in left if victim == name]
            for cell in _cells(name, recipes, peers, folder, out, terms):
                tell(table.add(cell))
    return table.write()


def _cells(
    name: str, recipes: Sequence[str], peers: Sequence[Peer], folder: Path, out: Path, terms: Terms
) -> Iterator[Cell]:
    """Yield the cells of one victim: all recipes from one start of each tool, or each recipe with fresh processes."""
    if terms.together:
        yield from Roll.of(name, peers, out / "held", terms).cells(recipes)
        return
    bout = Bout.of(name, peers, folder, terms)
    for recipe in recipes:
        yield from bout.cells(recipe)


def plan(
    *, victims: Sequence[str] | None = None, recipes: Sequence[str] | None = None, only: Sequence[str] = ()
) -> tuple[Pair, ...]:
    """Return the chosen cells: `only` lists them as recipe,victim; else all recipes on all victims, if either is given.

    Without any choice, return the cells for which there are goals.
    """
    if not only and victims is None and recipes is None:
        return PLAN
    if not only:
        named = EVERY if recipes is not None and tuple(recipes) == ("all",) else recipes
        return tuple((r, v) for v, r in product(victims or VICTIMS, named or LISTED))
    pairs = [tuple(part.strip() for part in cell.split(",")) for cell in only]
    for cell, pair in zip(only, pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            raise SettingError(f"--only expects recipe,victim, as pwws,CNN-W-GloVe-1, got {cell!r}")
    return tuple((pair[0], pair[1]) for pair in pairs)


def found_peers(given: Mapping[str, Path | None], tell: Say) -> dict[str, Path]:
    """Return the peers' Pythons, given or in the working folder; links stay, for Python finds its packages by them."""
    out = {}
    for tool in TOOLS.values():
        named = given.get(tool.name)
        python = (named or Path(tool.environment, "bin", "python")).absolute()
        if python.exists():
            out[tool.name] = python
        elif named is not None:
            raise SettingError(f"{tool.name}'s Python is not there: {named}; run make bench-peers")
        else:
            venv = tool.environment
            tell(
                f"no {tool.name}: run make bench-peers, or "
                f"python -m venv {venv} && {venv}/bin/pip install -r {tool.requirements}"
            )
    return out


def silent(line: str) -> None:
    """Ignore a note."""


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Table:
    """The cells measured so far, written to disk after each one."""

    def __init__(self, out: Path, about: dict[str, Any], resume: bool) -> None:
        self.out, self.about = out, about
        out.mkdir(parents=True, exist_ok=True)
        self.cells: list[dict[str, Any]] = self._earlier() if resume else []

    def _earlier(self) -> list[dict[str, Any]]:
        try:
            held = json.loads((self.out / "bench.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise SettingError(f"{self.out / 'bench.json'} cannot be read: {error}; name another --out") from None
        cells: list[dict[str, Any]] = held.pop("cells", [])
        if odd := [name for name, value in self.about["terms"].items() if held.get("terms", {}).get(name) != value]:
            raise SettingError(
                f"{self.out} holds a bench with other settings ({', '.join(odd)}); name another --out or omit --resume"
            )
        return [cell for cell in cells if not cell["reasons"]]

    def has(self, pair: Pair) -> bool:
        return any((cell["recipe"], cell["victim"]) == (pair[0], Path(pair[1]).name) for cell in self.cells)

    def add(self, cell: Cell) -> str:
        self.cells.append(cell.to_dict())
        self.write()
        return cell_line(cell)

    def write(self) -> dict[str, Any]:
        summary = {**self.about, "cells": self.cells}
        for name, text in (
            ("json", json.dumps(summary, indent=1) + "\n"),
            ("md", markdown(summary)),
            ("svg", svg(summary)),
        ):
            (self.out / f"bench.{name}").write_text(text, encoding="utf-8")
        return summary


def cell_line(cell: Cell) -> str:
    """Return the line that the terminal shows for a cell."""
    start = f"{cell.recipe} on {cell.victim} ({cell.precision}), {len(cell.rows)} texts:"
    if cell.ours is None:
        return f"{start} {'; '.join(cell.reasons)}"
    sides = [f"ours {cell.ours.wall_s:.3g} s"]
    sides += [f"{tool} {duel.theirs.wall_s:.3g} s ({duel.faster:.3g}x)" for tool, duel in cell.duels]
    sides += [] if cell.of_floor is None else [f"{cell.of_floor:.2f} of the floor"]
    return f"{start} {', '.join([*sides, *cell.reasons])}"


def _about(terms: Terms) -> dict[str, Any]:
    return {
        **describe("cpu"),
        "terms": {
            "texts": terms.n,
            "threads": terms.threads,
            "seconds": terms.seconds,
            "data": terms.data,
            "seed": terms.seed,
            "width": terms.width,
            "repeats": terms.repeats,
            **({"together": True} if terms.together else {}),
        },
    }
