"""The table of README: features of Malaprop, TextAttack and OpenAttack, and the time of each for the same work.

The features of the peers were read from their installed source, of the versions that the speed was measured with. The
stands there is in docs/measured/peer-features.json: file, line and words, or the words that occur nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from malaprop_bench.table import lines, number

FEATURES = (
    ("attack recipes", "{recipes}", "24", "14"),
    ("victims without code", "transformers, scikit-learn, ONNX, address, LLM prompt", "transformers", "transformers"),
    ("other victims", "a function", "a wrapper class", "a wrapper class"),
    ("texts under attack at a time", "hundreds, in shared batches", "one per process", "one per process"),
    ("asks the model again before it counts a success", "yes", "no", "yes; a failed check ends the run"),
    ("continues a killed run", "yes, without losses", "from checkpoints", "no"),
    ("limits", "queries per text; queries, tokens, cost and time per run", "queries per text", "queries per text"),
    ("result", "HTML report, records, figures with intervals", "log, CSV, JSON summary", "log"),
    ("training against attacks", "{methods} methods", "adversarial training", "no"),
    ("certified accuracy", "SAFER, RanMASK, RanDel", "no", "no"),
    (
        "languages of word recipes",
        "31 by synonyms; German and others by forms ([languages](docs/languages.md), "
        "[side by side](docs/languages.md#beside-other-toolkits))",
        "English; Chinese, French, Spanish in part",
        "English, Chinese",
    ),
    (
        "sentence paraphrases",
        "translation, language models, syntax",
        "has back-translation; no recipe uses it",
        "GAN, SCPN",
    ),
)  # fmt: skip
SHOWN = ("LSTM-W-GloVe-1", "BERT")  # the smallest and the largest victim; docs/performance.md has all cells


def beside_lines(held: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table: features first, then the seconds of each tool for the same texts."""
    whole = [cell for cell in held["cells"] if cell["precision"] == "fp32" and len(cell["peers"]) > 1]
    cells = [cell for cell in whole if cell["victim"] in SHOWN]
    tools = {name: side["tool"] for cell in cells for name, side in cell["peers"].items()}
    head = ["", "Malaprop", tools["TextAttack"], tools["OpenAttack"]]
    counts = _count_ours()
    features = [[cell.format(**counts) for cell in row] for row in FEATURES]
    return lines(head, [*features, *_times(cells)])


def _times(cells: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    for cell in cells:
        text, other = cell["peers"]["TextAttack"], cell["peers"]["OpenAttack"]
        name = f"{cell['recipe']}, {cell['victim']}, {cell['rows']} texts"
        yield [name, f"{number(cell['ours']['wall_s'])} s", _slower(text, cell["rows"]), _slower(other, cell["rows"])]


def _slower(side: Mapping[str, Any], rows: int) -> str:
    """Return a peer's seconds, and their ratio to ours on the texts that the peer finished."""
    fewer = f", {side['rows']} texts" if side["rows"] < rows else ""
    times = f"{side['faster']:.0f}" if side["faster"] >= 10 else f"{side['faster']:.1f}"
    return f"{number(side['wall_s'])} s{fewer} ({times} times)"


def _count_ours() -> dict[str, str]:
    """Return how many recipes and training methods we have, in tens, so that one more does not change the page."""
    from malaprop.attacks.recipes import RECIPES
    from malaprop.frame.study.training_methods import DEFENCES

    many = {"recipes": sum(":" not in name for name in RECIPES), "methods": sum(":" not in name for name in DEFENCES)}
    return {name: f"over {count // 10 * 10}" for name, count in many.items()}
