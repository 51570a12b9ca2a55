"""Measure how the cost of a recipe grows with the length of texts, the number of labels and the number of texts.

python -m malaprop_bench.growth docs/measured/growth.json

The victim is a word CNN with random weights, and so sure of one label that no attack succeeds. So every recipe searches
to its end, and its queries are the most that it asks. The second of two runs counts: words are looked up by then.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import islice, product
from math import log
from pathlib import Path
from time import process_time
from typing import Any

from malaprop_bench.table import lines

RECIPES = ("pwws", "textfooler", "deepwordbug", "genetic", "beam")
AXES: Mapping[str, tuple[int, ...]] = {
    "words": (10, 50, 200, 500, 1000, 2000), "labels": (2, 10, 100, 1000), "texts": (20, 80, 320),
}  # fmt: skip
UNITS = {"words": "words in a text", "labels": "labels", "texts": "texts"}
LONG, SHORT, FEW = 50, 10, 8  # words of a text, of many texts, and texts, where these are not what grows
HEAD = ("recipe", "from", "to", "queries of a text", "ms of a text", "us of a query", "time grows as")


def cut_texts(words: int, many: int) -> list[str]:
    """Return texts of so many words, cut from reviews."""
    from malaprop.data.base import load

    whole = iter(" ".join(next(iter(one.fields.values())) for one in load("mr", split="train")).split())
    return [" ".join(islice(whole, words)) for _ in range(many)]


def make_victim(texts: Sequence[str], labels: int) -> Any:
    """Return a word CNN of random weights with so many labels that gives the first one to every text."""
    import torch

    from malaprop.models.tokens.vocab import UNKNOWN, Vocab
    from malaprop.models.victims.tokens import TokenVictim
    from malaprop.zoo.blocks.cnn import WordCNN
    from malaprop.zoo.scorers.cnn import CnnEdits

    torch.manual_seed(0)
    vocab = Vocab.build(list(texts))
    model = WordCNN(len(vocab), labels, dim=100, filters=100).eval().requires_grad_(False)
    model.head.weight.mul_(0.1)
    model.head.bias[0] += 3 + log(labels)
    return TokenVictim(
        name="CNN", cut=vocab.cut, encode_whole=vocab.encode, forward=model, scorer=CnnEdits(model=model),
        labels=labels, limit=1 << 16, context_free=True, unknown=UNKNOWN, fingerprint=f"growth-{labels}",
    )  # fmt: skip


def measure(recipe: str, axis: str, size: int) -> dict[str, Any]:
    """Attack texts of this size twice; return queries and processor time of the second run."""
    from malaprop.core.example import Example
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.make_attack import recipe as make
    from malaprop.frame.runs.services import services

    at = {"words": SHORT if axis == "texts" else LONG, "labels": 2, "texts": FEW, axis: size}
    at["texts"] = 2 if at["words"] > 2 * LONG else at["texts"]
    texts = cut_texts(at["words"], at["texts"])
    victim, attack = make_victim(texts, at["labels"]), make(recipe)
    rows = [Example(str(number), {"text": text}, 0) for number, text in enumerate(texts)]
    for _ in range(2):
        held = services(victim)
        began = process_time()
        found = list(run(attack, victim, rows, services=held))
        took = process_time() - began
    return {
        "recipe": recipe, "axis": axis, **at, "seconds": round(took, 4), "asked": sum(o.queries.asked for o in found),
        "statuses": sorted({one.status for one in found}),
    }  # fmt: skip


def grows(cells: Sequence[Mapping[str, Any]]) -> float:
    """Return by which power of the size the time of all texts grows, from the last size but one to the last."""
    one, other = cells[-2:]
    axis = other["axis"]
    each = (other["seconds"] / other["texts"]) / (one["seconds"] / one["texts"])
    power = float(log(each) / log(other[axis] / one[axis]))
    return power + 1 if axis == "texts" else power


def rows(held: Mapping[str, Any], axis: str) -> list[list[str]]:
    """Return a row for each recipe: queries and time at the smallest and the largest size, and how time grows."""
    out = []
    for recipe in RECIPES:
        cells = sorted((c for c in held["cells"] if (c["recipe"], c["axis"]) == (recipe, axis)), key=lambda c: c[axis])
        first, last = cells[0], cells[-1]
        asked = (f"{c['asked'] / c['texts']:,.0f}" for c in (first, last))
        took = (f"{1e3 * c['seconds'] / c['texts']:,.1f}" for c in (first, last))
        each = (f"{1e6 * c['seconds'] / c['asked']:,.1f}" for c in (first, last))
        sizes = f"{first[axis]:,}", f"{last[axis]:,}"
        out.append([recipe, *sizes, *map(" to ".join, (asked, took, each)), f"n^{grows(cells):.1f}"])
    return out


def table_lines(axis: str, held: Mapping[str, Any]) -> list[str]:
    """Return the table of one axis."""
    return lines(HEAD, rows(held, axis))


def main(words: Sequence[str]) -> None:
    """Measure the cells that the file does not hold yet."""
    import torch

    torch.set_num_threads(1)
    path = Path(words[0])
    held: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"cells": []}
    there = {(c["recipe"], c["axis"], c[c["axis"]]) for c in held["cells"]}
    for axis, recipe in product(AXES, RECIPES):
        for size in AXES[axis]:
            if (recipe, axis, size) not in there:
                held["cells"].append(measure(recipe, axis, size))
                print(json.dumps(held["cells"][-1]), flush=True)
                path.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
