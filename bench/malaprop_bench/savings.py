"""Measure the saving of each incremental scorer in arithmetic and time, against whole forward passes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from malaprop.core.example import Example
from malaprop.core.pool import Pool
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop_bench import shapes
from malaprop_bench.floor import in_threads
from malaprop_bench.machine import describe
from malaprop_bench.table import number

if TYPE_CHECKING:
    from malaprop.models.scorers import Scorer
    from malaprop.models.tokens.splice import Splice
    from malaprop.models.victims.tokens import TokenVictim
    from malaprop.training.splits import Splits

# The victims, one for each kind of scorer, by their names in the table.
MODELS: Mapping[str, str] = {
    "word CNN": "CNN-W-Random-1",
    "LSTM": "LSTM-W-Random-1",
    "BiLSTM": "BiLSTM-W-Random-1",
    "average": "Pair-Average",
    "character CNN": "CNN-C-Random-1",
    "character LSTM": "LSTM-C-Random-1",
    "BERT (MiniLM's shape)": "shape:minilm",
}
HEAD = (
    "model",
    "scorer",
    "variants",
    "multiply-adds a variant, plain",
    "incremental",
    "arithmetic saved",
    "ms a thousand, plain",
    "incremental",
    "time saved",
    "largest difference",
)
_REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The size of a round: texts, slots varied in each, and words for each slot, about as in a round of PWWS."""

    texts: int = 24
    dear: int = 4  # texts for a transformer
    slots: int = 8
    words: int = 8


def measure(
    *, threads: int = 1, seed: int = 0, rounds: Rounds | None = None, models: Mapping[str, str] = MODELS
) -> dict[str, Any]:
    """Measure each model with random weights, on the packaged reviews, with words drawn from other texts."""
    from malaprop.data.base import load
    from malaprop.training.splits import splits

    data = splits(load, "mr")
    restore = in_threads(threads)
    try:
        found = [
            row
            for name, spec in models.items()
            if (row := _row(name, spec, data, seed, rounds or Rounds())) is not None
        ]
    finally:
        restore()
    return {**describe("cpu"), "threads": threads, "rows": found}


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows under HEAD."""
    return [_line(row) for row in held["rows"]]


def _line(row: Mapping[str, Any]) -> list[str]:
    plain, less = row["plain"], row["incremental"]
    return [
        row["model"],
        row["scorer"],
        f"{row['variants']:,}",
        f"{plain['multiply_adds']:,}",
        f"{less['multiply_adds']:,}",
        f"{1 - less['multiply_adds'] / plain['multiply_adds']:.1%}",
        number(plain["ms"]),
        number(less["ms"]),
        f"{1 - less['ms'] / plain['ms']:.0%}",
        f"{row['difference']:.1e}",
    ]


def _row(name: str, spec: str, data: Splits, seed: int, rounds: Rounds) -> dict[str, Any] | None:
    """Measure one model; return None if it has no incremental scorer."""
    from malaprop.models.scorers.plain import Plain

    with tempfile.TemporaryDirectory(prefix="malaprop-scorer-") as folder:
        victim = _fresh(spec, data, Path(folder) / "victim", seed)
    if victim.scorer is None:
        return None
    many = rounds.dear if shapes.is_shape(spec) else rounds.texts
    work = variants(victim, data.test[:many], rounds, seed)
    plain = Plain(forward=victim.forward, masks=victim.masks)
    return {
        "model": name,
        "spec": spec,
        "scorer": type(victim.scorer).__name__,
        "variants": work.count,
        "plain": _cost(plain, work),
        "incremental": _cost(victim.scorer, work),
        "difference": float((plain.logits(work) - victim.scorer.logits(work)).abs().max()),
    }


def _cost(scorer: Scorer, work: Splice) -> dict[str, float]:
    """Return multiply-adds and milliseconds for one variant; tables that a victim builds once are not measured."""
    from malaprop_bench.arithmetic import count

    one_round = partial(scorer.logits, work)
    one_round()
    took = []
    for _ in range(_REPEATS):
        began = process_time()
        one_round()
        took.append(process_time() - began)
    return {"multiply_adds": round(count(one_round) / work.count), "ms": round(1e6 * min(took) / work.count, 4)}


def _fresh(spec: str, data: Splits, folder: Path, seed: int) -> TokenVictim:
    from malaprop.frame.runs.load_victim import load
    from malaprop.models.victims.tokens import TokenVictim

    made = (
        shapes.make(spec, data, folder, seed=seed) if shapes.is_shape(spec) else shapes.draw(spec, data, folder, seed)
    )
    victim = load(made)
    assert isinstance(victim, TokenVictim)
    return victim


def variants(victim: TokenVictim, examples: Sequence[Example], rounds: Rounds, seed: int) -> Splice:
    """Return the tokens of variants with one word changed each."""
    from malaprop.models.tokens.pieces import Pieces
    from malaprop.models.tokens.splice import Frame, splice

    table, rng = Words(), generator(seed, "savings")
    texts = [Text.of(e.fields["text"], table, owner) for owner, e in enumerate(examples)]
    known = np.unique(np.concatenate([text.words for text in texts]))
    groups = []
    for text in texts:
        slots = np.sort(rng.permutation(text.slots)[: rounds.slots])
        if len(slots):
            groups.append(Variants.each(text, slots, [rng.choice(known, rounds.words) for _ in slots]))
    pool = Pool(groups)
    frame = Frame(limit=victim.limit, head=(*victim.head,), tail=(*victim.tail,))
    return splice(pool, np.arange(pool.size), Pieces(victim.cut, table), frame, pad=victim.pad, device=victim.device)
