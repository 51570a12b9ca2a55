"""The whole comparison: ours and the peer back to back, cell by cell, written as a table, a picture and JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median_low
from typing import Any

from malaprop.bench import own
from malaprop.bench.cell import Cell
from malaprop.bench.floor import floor, in_threads
from malaprop.bench.measured import Measured, Row
from malaprop.bench.peer import Peer
from malaprop.bench.peer_textattack import RECIPES
from malaprop.bench.table import markdown, svg
from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.core.victim import Victim

PEERS = Path(__file__).with_name("peers.txt")
STOCK = " (stock wrapper)"
VICTIMS = ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What both sides of every cell share."""

    threads: int
    seconds: float
    seed: int
    width: int
    repeats: int


def bench(
    out: Path,
    victims: Sequence[str] = VICTIMS,
    recipes: Sequence[str] = RECIPES,
    n: int = 100,
    threads: int = 1,
    peer_python: Path | None = None,
    seconds: float = 120,
    *,
    data: str = "mr",
    seed: int = 0,
    width: int = 256,
    repeats: int = 1,
    quiet: bool = False,
    say: Say | None = None,
) -> dict[str, Any]:
    """Runs every recipe on every victim and writes bench.json, bench.md and bench.svg to `out`.

    A recipe may carry the suffix ` (stock wrapper)`: the peer then uses its own Hugging Face wrapper, on victims that
    have one. The peer's Python is looked for in .venv-peers; where there is none, our side alone is run. A side that
    fails leaves its reason; the rest goes on.
    """
    _check(recipes, n, threads, seconds, repeats)
    tell = say or (_nothing if quiet else _to_stderr)
    python = peer_python or found_peer(tell)
    terms = Terms(threads=threads, seconds=seconds, seed=seed, width=width, repeats=repeats)
    out.mkdir(parents=True, exist_ok=True)
    cells: list[Cell] = []
    with tempfile.TemporaryDirectory(prefix="malaprop-bench-") as folder:
        peer = None if python is None else Peer(python=python, folder=Path(folder)).prepare(recipes)
        for name in victims:
            spec = own.folder(name, data)
            victim = own.victim(spec)
            rows = correct_rows(victim, data, n)
            for recipe in recipes:
                if recipe.endswith(STOCK) and not own.has_stock(spec):
                    continue
                tell(f"{recipe} on {name}: {len(rows)} texts")
                cells.append(_cell(recipe, Path(name).name, spec, victim, rows, peer, Path(folder), terms))
                tell(_told(cells[-1]))
                write(out, cells, _about(terms, data))
    return write(out, cells, _about(terms, data))


def found_peer(tell: Say) -> Path | None:
    """The Python of .venv-peers in the working folder; its link is kept, for it tells Python where it belongs."""
    python = Path(".venv-peers", "bin", "python").absolute()
    if python.exists():
        return python
    tell(f"no peer: make one with python -m venv .venv-peers && .venv-peers/bin/pip install -r {PEERS}")
    return None


def _nothing(line: str) -> None:
    pass


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def write(out: Path, cells: Sequence[Cell], about: dict[str, Any]) -> dict[str, Any]:
    summary = {**about, "cells": [cell.to_dict() for cell in cells]}
    (out / "bench.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    (out / "bench.md").write_text(markdown(cells, about), encoding="utf-8")
    (out / "bench.svg").write_text(svg(cells), encoding="utf-8")
    return summary


def correct_rows(victim: Victim, data: str, n: int) -> tuple[Row, ...]:
    """The first `n` texts of the test split, in the order of a sample, that the victim gets right."""
    from malaprop.data import load

    def found() -> Any:
        examples = load(data).sample(None).examples
        for at in range(0, len(examples), 64):
            part = examples[at : at + 64]
            labels = victim.predict([tuple(e.fields.values()) for e in part]).argmax(1).tolist()
            yield from ((e.fields["text"], e.label) for e, label in zip(part, labels, strict=True) if e.label == label)

    return tuple(islice(found(), n))


def _check(recipes: Sequence[str], n: int, threads: int, seconds: float, repeats: int) -> None:
    for recipe in recipes:
        if recipe.removesuffix(STOCK) not in RECIPES:
            raise unknown("recipe of bench", recipe, RECIPES)
    if min(n, threads, repeats) < 1 or seconds <= 0:
        raise SettingError(
            f"bench wants n, threads and repeats of at least 1 and seconds above 0, "
            f"got {n}, {threads}, {repeats} and {seconds:g}"
        )


def _cell(
    recipe: str,
    name: str,
    spec: str,
    victim: Victim,
    rows: tuple[Row, ...],
    peer: Peer | None,
    folder: Path,
    terms: Terms,
) -> Cell:
    pairs: list[Pair] = []
    reason = ""
    for _ in range(terms.repeats):
        theirs = None
        try:
            if peer is not None and not reason:
                theirs = _theirs(recipe, spec, rows, peer, terms)
        except MalapropError as error:
            reason = plain(error)
        try:
            pairs.append((_ours(recipe, spec, rows, theirs, folder, terms), theirs))
        except MalapropError as error:
            return Cell(recipe=recipe, victim=name, rows=rows, peer=theirs, reason=plain(error))
    return _settled(Cell(recipe=recipe, victim=name, rows=rows, reason=reason), pairs, victim, terms.threads)


Pair = tuple[Measured, Measured | None]


def _theirs(recipe: str, spec: str, rows: tuple[Row, ...], peer: Peer, terms: Terms) -> Measured:
    return peer.run(
        spec,
        rows,
        recipe.removesuffix(STOCK),
        threads=terms.threads,
        seconds=terms.seconds,
        seed=terms.seed,
        stock=recipe.endswith(STOCK),
    )


def _ours(
    recipe: str, spec: str, rows: tuple[Row, ...], theirs: Measured | None, folder: Path, terms: Terms
) -> Measured:
    """Over the rows that the peer finished in its time, or all of them."""
    done = rows if theirs is None else rows[: len(theirs.outcomes)]
    name = recipe.removesuffix(STOCK)
    return own.run(spec, done, name, folder, threads=terms.threads, seed=terms.seed, width=terms.width)


def _settled(cell: Cell, pairs: Sequence[Pair], victim: Victim, threads: int) -> Cell:
    """The pair of the middle ratio, with the floor of the texts that its peer asked."""
    ratios = [theirs.wall_s / ours.wall_s for ours, theirs in pairs if theirs is not None]
    whole = len(ratios) == len(pairs)
    ours, theirs = pairs[ratios.index(median_low(ratios)) if whole else 0]
    least = None
    if theirs is not None:
        restore = in_threads(threads)
        try:
            least = floor(victim, theirs.texts)
        finally:
            restore()
    done = cell.rows[: len(ours.outcomes)]
    return replace(cell, rows=done, ours=ours, peer=theirs, floor=least, ratios=tuple(ratios))


def _told(cell: Cell) -> str:
    if cell.ours is None:
        return f"  {cell.reason}"
    ratio = (
        "" if cell.faster is None or cell.peer is None else f", TextAttack {cell.peer.wall_s:.3g} s: {cell.faster:.2g}x"
    )
    return f"  ours {cell.ours.wall_s:.3g} s{ratio}"


def _about(terms: Terms, data: str) -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": terms.threads,
        "python": platform.python_version(),
        "torch": version("torch"),
        "data": data,
        "seed": terms.seed,
        "width": terms.width,
        "repeats": terms.repeats,
        "precision": "float32",
    }
