"""The table of architectures: the fast path of each transformer, its speed beside plain forward passes, and goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop_bench.shapes import PREFIX, SHAPES

Records = Sequence[Mapping[str, Any]]
HEAD = (
    "architecture",
    "works",
    "fast path (GPU, bf16)",
    "share of bare forward passes",
    "tokens are spliced",
    "largest difference of scores",
)
GOAL_HEAD = ("victim", "asked/s", "goal", "times the goal", "share of forward-only", "goal of the share")
# Goals of this project: texts asked a second by PWWS on 1,000 AG News texts, one process on one H200.
ASKED = {
    "bert-base": 28_000,
    "roberta-base": 28_000,
    "electra-base": 28_000,
    "distilbert": 55_000,
    "mpnet-base": 18_000,
    "deberta-v3-base": 10_000,
    "modernbert-base": 8_000,
    "qwen2-0.5b": 5_000,
    "minilm": 80_000,
    "bilstm": 140_000,
    "cnn": 300_000,
}
SHARE = 0.65  # of each transformer's forward-only rate


@dataclass(frozen=True, slots=True)
class Family:
    """Architectures that share a fast path; `shapes` gives the measured ones, by their name in the table."""

    names: str
    fast_path: str
    difference: str
    shapes: Mapping[str, str]
    spliced: str = "yes"


FAMILIES = (
    Family("BERT", "its own, end to end", "2e-7", {"base": "bert-base", "MiniLM": "minilm"}),
    Family(
        "DistilBERT, ELECTRA, ALBERT, RoBERTa, XLM-R",
        "end to end",
        "2e-7",
        {"DistilBERT": "distilbert", "ELECTRA": "electra-base", "RoBERTa": "roberta-base"},
    ),
    Family("ModernBERT (`cls` and `mean` pooling, local attention)", "end to end", "4e-7", {"base": "modernbert-base"}),
    Family(
        "GPT-2, Llama, Qwen2, Gemma, Mistral, with or without a padding token",
        "end to end",
        "4e-7",
        {"Qwen2-0.5B": "qwen2-0.5b"},
    ),
    Family(
        "MPNet, DeBERTa v2 and v3, BART", "buckets", "3e-7", {"MPNet": "mpnet-base", "DeBERTa v3": "deberta-v3-base"}
    ),
    Family("XLNet", "no: texts of one length together", "2e-7", {}),
    Family(
        "CANINE, and others whose tokenizer is written in Python",
        "no: texts of one length together",
        "2e-7",
        {},
        spliced="no: whole texts",
    ),
)


def rows(records: Records) -> list[list[str]]:
    """Return the rows under HEAD: shares come from the records; tests of architectures check the other columns."""
    found = _by_shape(records)
    return [
        [f.names, "yes", f.fast_path, _shares(f, found) or "not measured", f.spliced, f.difference] for f in FAMILIES
    ]


def goal_rows(records: Records) -> list[list[str]]:
    """Return the rows under GOAL_HEAD, in the order of the goals; a shape that was not measured has no row."""
    found = _by_shape(records)
    return [_goal_row(name, goal, found[name]) for name, goal in ASKED.items() if name in found]


def _goal_row(name: str, goal: int, held: Mapping[str, Any]) -> list[str]:
    asked = held["asked_per_s"]
    wanted = "" if SHAPES[name].zoo else f"{SHARE:.2f}"
    return [f"{PREFIX}{name}", f"{asked:,.0f}", f"{goal:,}", f"{asked / goal:.2f}", f"{held['share']:.2f}", wanted]


def _by_shape(records: Records) -> dict[str, Mapping[str, Any]]:
    """Return the last record of each shape."""
    return {held["setting"]["victim"].removeprefix(PREFIX): held for held in records}


def _shares(family: Family, found: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{called} {found[shape]['share']:.2f}" for called, shape in family.shapes.items() if shape in found
    )
