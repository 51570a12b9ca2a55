"""What blind readers say of the successes of attacks: which keep meaning and label, and whether the judge agrees.

python -m malaprop_bench.blind KEY LABELS LABELS CHANCES OUT   joins the draw, two readers' labels, the judge's chances
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.judgement import verdict
from malaprop.features.defending.detection.rates import find_auc
from malaprop.frame.records.summary import Rate

Pair = Mapping[str, Any]
VERDICTS = ("kept", "changed", "unclear")
DATA = {"mr": "MR", "ag": "AG News"}
VICTIMS = {"minilm": "MiniLM", "lstm": "LSTM", "cnn": "CNN"}


def join(
    drawn: Mapping[str, Any], labels: Sequence[Mapping[str, str]], chances: Mapping[str, float], **about: str
) -> dict[str, Any]:
    """Return the record: of each pair its words that changed, its attacks, its readers' labels and the judge's chance.

    `drawn` has for each id the kind (valid or paper), the data, the text's id, the edits, and (victim, recipe) pairs.
    The record holds no texts.
    """
    pairs = [
        {
            "id": one["text"], "kind": one["kind"], "data": one["data"],
            "by": sorted({tuple(by[:2]) for by in one["by"]}),
            "edits": [[edit["from"], edit["to"]] for edit in one["edits"]],
            "read": [found[key] for found in labels], "judge": round(chances[key], 4),
        }
        for key, one in drawn.items()
    ]  # fmt: skip
    return {**about, "pairs": pairs}


# --- the share that keeps the meaning

KEPT = ("successes of", "pairs", "reader 1", "reader 2", "both readers", "either reader")


def kept_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return for all valid successes, and by data, victim and recipe, the share that readers say keeps the meaning."""
    valid = _of(held, "valid")
    rows = [_kept("valid attacks", valid)]
    rows += [_kept(f"valid, {name}", [one for one in valid if one["data"] == key]) for key, name in DATA.items()]
    for place, names in ((0, VICTIMS), (1, {"textfooler": "`textfooler`", "pwws": "`pwws`"})):
        for key, name in names.items():
            rows.append(_kept(f"valid, {name}", [one for one in valid if any(by[place] == key for by in one["by"])]))
    for recipe in ("textfooler", "pwws"):
        rows.append(_kept(f"`{recipe}` as published", _of(held, "paper", recipe)))
    return [row for row in rows if row[1] != "0"]


def _of(held: Mapping[str, Any], kind: str, recipe: str = "") -> list[Pair]:
    return [
        one for one in held["pairs"] if one["kind"] == kind and (not recipe or any(by[1] == recipe for by in one["by"]))
    ]


def _kept(name: str, pairs: Sequence[Pair]) -> list[str]:
    each = [Rate(sum(one["read"][at] == "kept" for one in pairs), len(pairs)) for at in (0, 1)]
    both = Rate(sum(set(one["read"]) == {"kept"} for one in pairs), len(pairs))
    either = Rate(sum("kept" in one["read"] for one in pairs), len(pairs))
    return [name, f"{len(pairs)}", *map(str, (*each, both, either))]


# --- how far the readers agree

AGREE = ("successes of", "pairs", "same label", "kappa")


def agree_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return how often the two readers give the same label, and Cohen's kappa, for each kind of pair and for all."""
    groups = {"valid attacks": _of(held, "valid"), "attacks as published": _of(held, "paper"), "all": held["pairs"]}
    return [
        [name, f"{len(pairs)}", str(Rate(sum(len(set(one["read"])) == 1 for one in pairs), len(pairs))), _shown(pairs)]
        for name, pairs in groups.items()
    ]


def _shown(pairs: Sequence[Pair]) -> str:
    return f"{find_kappa([tuple(one['read']) for one in pairs]):.2f}"


def find_kappa(labels: Sequence[tuple[str, str]]) -> float:
    """Return Cohen's kappa of two readers' labels: agreement beyond chance, 1 where they always agree."""
    total = len(labels)
    same = sum(one == two for one, two in labels) / total
    chance = (
        sum(sum(one == name for one, _ in labels) * sum(two == name for _, two in labels) for name in VERDICTS)
        / total**2
    )
    return (same - chance) / (1 - chance) if chance < 1 else 1.0


# --- the judge beside the readers

JUDGED = ("successes of", "labels of", "pairs", "kept", "right, cut at 0.5", "always changed", "sure and right", "AUC")


def judge_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return how often the judge is right on the successes of attacks as published, by each reader and by both."""
    rows = []
    for recipe in ("textfooler", "pwws"):
        pairs = _of(held, "paper", recipe)
        readings = {
            "reader 1": [(one["read"][0], one["judge"]) for one in pairs],
            "reader 2": [(one["read"][1], one["judge"]) for one in pairs],
            "both alike": [(one["read"][0], one["judge"]) for one in pairs if len(set(one["read"])) == 1],
        }
        rows += [[f"`{recipe}`", name, *_judged(found)] for name, found in readings.items()]
    return rows


def _judged(found: Iterable[tuple[str, float]]) -> list[str]:
    """Return the cells of some (label, chance) pairs; those that were unclear to the reader are left out."""
    clear = [(label == "kept", chance) for label, chance in found if label != "unclear"]
    kept = [chance for label, chance in clear if label]
    changed = [chance for label, chance in clear if not label]
    right = sum((chance >= 0.5) == label for label, chance in clear)
    sure = [(verdict(chance) == "kept") == label for label, chance in clear if verdict(chance) != "unsure"]
    auc = find_auc(changed, kept) if kept and changed else None
    return [
        f"{len(clear)}",
        f"{len(kept)}",
        str(Rate(right, len(clear))),
        f"{len(changed) / len(clear):.1%}",
        str(Rate(sum(sure), len(sure))),
        "" if auc is None else f"{auc.value:.3f} ({auc.low:.3f}-{auc.high:.3f})",
    ]


PASSED = ("chance", "pairs", "of them kept, both readers")


def passed_rows(held: Mapping[str, Any], recipe: str) -> list[list[str]]:
    """Return for each verdict of the judge how many pairs of a recipe as published have it, and how many are kept."""
    rows = []
    for name in ("kept", "unsure", "changed"):
        some = [one for one in _of(held, "paper", recipe) if verdict(one["judge"]) == name]
        rows.append([name, f"{len(some)}", f"{sum(set(one['read']) == {'kept'} for one in some)}"])
    return rows


def _read(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


if __name__ == "__main__":
    key, one, two, judged, out = sys.argv[1:]
    made = join(_read(key), [_read(one), _read(two)], _read(judged))
    text = json.dumps(made, ensure_ascii=False).replace('{"id"', '\n{"id"')
    Path(out).write_text(text + "\n", encoding="utf-8")
