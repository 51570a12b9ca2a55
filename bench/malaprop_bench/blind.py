"""What blind readers say of the successes of attacks: which keep meaning and label, and whether the judge agrees.

python -m malaprop_bench.blind draw KEY PAIRS N SEED FOLDER...    draws successes; readers see PAIRS alone
python -m malaprop_bench.blind valid KEY OUT READER...            the record of valid (or: paper) attacks

KEY, PAIRS and READER are lines of JSON, one a pair, with the pair's number `n`: where it comes from, its two texts, and
what a reader says (`verdict`: kept, changed or unclear; `label_same`: yes, no or unclear).
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from malaprop.core.judgement import verdict
from malaprop.features.defending.detection.rates import find_auc
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, outcomes_of
from malaprop.frame.records.summary import Rate

Pair = Mapping[str, Any]
VERDICTS = ("kept", "changed", "unclear")
DATA = {"mr": "MR", "ag": "AG News"}
VICTIMS = {"lstm": "LSTM", "cnn": "CNN", "tfidf": "TF-IDF", "minilm": "MiniLM"}
RECIPES = {"textfooler": "`textfooler`", "pwws": "`pwws`"}
_NAMES = {"bert": "minilm", "ag_news": "ag"}  # parts of the names of victims and data that stand for another key


# --- which successes are read


def draw(folders: Iterable[Path], many: int, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return where each drawn success comes from, and the pairs of texts that readers see, in a random order.

    Equal changes of one text are one pair. Each of the groups (valid or as published, data, victim) gives as many pairs
    as the others, `many` in all; a group that has fewer gives all of them.
    """
    found: dict[tuple[bool, str, str], dict[str, Any]] = {}
    for folder in sorted(find_runs(list(folders))):
        run = Run.read(folder)
        by = [_find_key(run.victim, VICTIMS), run.recipe]
        for one in outcomes_of(folder):
            if one.status == "success" and one.adversarial is not None:
                judged = bool(run.parts.get("judge"))
                pair = found.setdefault((judged, one.id, one.adversarial.text), _describe(run, one))
                pair["by"] += [by] if by not in pair["by"] else []
    rng = random.Random(seed)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for key in sorted(found):
        pair = found[key]
        groups.setdefault((pair["kind"], pair["data"], pair["by"][0][0]), []).append(pair)
    picked: list[dict[str, Any]] = []
    for left, (_, group) in zip(range(len(groups), 0, -1), sorted(groups.items(), key=_size), strict=True):
        picked += rng.sample(group, min(len(group), -(-(many - len(picked)) // left)))
    rng.shuffle(picked)
    whence = [{"n": n, **{k: v for k, v in one.items() if k != "texts"}} for n, one in enumerate(picked)]
    return whence, [{"n": n, **one["texts"]} for n, one in enumerate(picked)]


def _size(item: tuple[Any, Sequence[Any]]) -> int:
    return len(item[1])


def _describe(run: Run, one: Outcome) -> dict[str, Any]:
    assert one.adversarial is not None
    return {
        "id": one.id, "kind": "valid" if run.parts.get("judge") else "paper", "data": _find_key(run.data, DATA),
        "by": [], "edits": [[edit.before, edit.after] for edit in one.edits], "judge": one.meaning,
        "texts": {"original": one.original.text, "changed": one.adversarial.text},
    }  # fmt: skip


def _find_key(name: str, keys: Iterable[str]) -> str:
    """Return the short key of a victim or of data: the one that its name contains."""
    lower = name.lower()
    named = [key for part, key in _NAMES.items() if part in lower] + [key for key in keys if key in lower]
    return named[0] if named else lower


# --- what readers say of them


def join(drawn: Iterable[Pair], readers: Sequence[Iterable[Mapping[str, Any]]], **about: Any) -> dict[str, Any]:
    """Return the record: of each pair its words that changed, its attacks, its readers' labels and the judge's chance.

    The record holds no texts.
    """
    labels = [{one["n"]: label(one["verdict"], one["label_same"]) for one in found} for found in readers]
    pairs = [
        {
            "id": one["id"], "data": one["data"], "by": sorted(map(list, one["by"])), "edits": one["edits"],
            "read": [found[one["n"]] for found in labels], "judge": one["judge"],
        }
        for one in drawn
    ]  # fmt: skip
    return {**about, "pairs": pairs}


def label(meaning: str, label_same: str) -> str:
    """Return what a reader says of a pair: `kept` needs the meaning and the label of the original."""
    if meaning == "changed" or label_same == "no":
        return "changed"
    return "kept" if (meaning, label_same) == ("kept", "yes") else "unclear"


def settle(pair: Pair) -> str:
    """Return the label that most readers give the pair; `unclear` if there is none."""
    many = Counter[str](pair["read"])
    name, count = many.most_common(1)[0]
    return name if 2 * count > many.total() else "unclear"


# --- the share that keeps the meaning

KEPT = ("successes of", "pairs", "kept", "changed", "unclear", "share kept", "by each reader")


def kept_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return for all successes, and by data, victim and recipe, how many keep the meaning, by most readers."""
    pairs = held["pairs"]
    groups = {"all": pairs}
    groups |= {name: [one for one in pairs if one["data"] == key] for key, name in DATA.items()}
    for place, names in enumerate((VICTIMS, RECIPES)):
        for key, name in names.items():
            groups[name] = [one for one in pairs if any(by[place] == key for by in one["by"])]
    return [_kept(name, some) for name, some in groups.items() if some]


def _kept(name: str, pairs: Sequence[Pair]) -> list[str]:
    found = [settle(one) for one in pairs]
    each = [sum(one["read"][at] == "kept" for one in pairs) / len(pairs) for at in range(len(pairs[0]["read"]))]
    counts = [f"{found.count(one)}" for one in VERDICTS]
    return [name, f"{len(pairs)}", *counts, str(Rate(found.count("kept"), len(found))), _join(f"{s:.0%}" for s in each)]


def _join(cells: Iterable[str]) -> str:
    return ", ".join(cells)


# --- how far the readers agree

AGREE = ("successes of", "pairs", "all readers alike", "kappa of two readers, mean")


def agree_row(name: str, pairs: Sequence[Pair]) -> list[str]:
    """Return how often all readers give the same label, and Cohen's kappa, the mean over all two of them."""
    alike = Rate(sum(len(set(one["read"])) == 1 for one in pairs), len(pairs))
    two = combinations(range(len(pairs[0]["read"])), 2)
    kappas = [find_kappa([(one["read"][a], one["read"][b]) for one in pairs]) for a, b in two]
    return [name, f"{len(pairs)}", str(alike), f"{fmean(kappas):.2f}" if kappas else "-"]


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

JUDGED = ("labels of", "pairs", "of them kept", "right", "always changed", "sure", "sure and right", "AUC")


def judge_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return how often the judge is right, by the label of most readers, by data, and by each reader.

    A pair is kept by the judge if its chance is above 0.5; pairs that are unclear to the reader are left out.
    """
    pairs = held["pairs"]
    many = len(pairs[0]["read"])
    who = "most readers" if many > 1 else "the reader"
    readings = {who: [(settle(one), one["judge"]) for one in pairs]}
    readings |= {
        f"{who}, {name}": [(settle(one), one["judge"]) for one in pairs if one["data"] == key]
        for key, name in DATA.items()
    }
    if many > 1:
        readings |= {f"reader {at + 1}": [(one["read"][at], one["judge"]) for one in pairs] for at in range(many)}
    return [[name, *_judged(found)] for name, found in readings.items() if found]


def _judged(found: Iterable[tuple[str, float]]) -> list[str]:
    """Return the cells of some (label, chance) pairs; those that were unclear to the reader are left out."""
    clear = [(said == "kept", chance) for said, chance in found if said != "unclear"]
    kept = [chance for same, chance in clear if same]
    changed = [chance for same, chance in clear if not same]
    right = sum((chance > 0.5) == same for same, chance in clear)
    sure = [(verdict(chance) == "kept") == same for same, chance in clear if verdict(chance) != "unsure"]
    auc = find_auc(changed, kept) if kept and changed else None
    return [
        f"{len(clear)}",
        f"{len(kept)}",
        str(Rate(right, len(clear))),
        f"{len(changed) / len(clear):.1%}",
        f"{len(sure) / len(clear):.1%}",
        str(Rate(sum(sure), len(sure))),
        "" if auc is None else f"{auc.value:.3f} ({auc.low:.3f}-{auc.high:.3f})",
    ]


PASSED = ("verdict of the judge", "pairs", "kept", "changed", "unclear")


def verdict_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return for each verdict of the judge how many pairs have it, and what most readers say of them."""
    rows = []
    for name in ("kept", "unsure", "changed"):
        found = [settle(one) for one in held["pairs"] if verdict(one["judge"]) == name]
        rows.append([name, f"{len(found)}", *(f"{found.count(one)}" for one in VERDICTS)])
    return rows


def _read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]


def _write_lines(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    kind, key, out, *given = sys.argv[1:]
    if kind == "draw":
        for path, rows in zip((key, out), draw(map(Path, given[2:]), int(given[0]), int(given[1])), strict=True):
            _write_lines(path, rows)
        raise SystemExit
    made = join([one for one in _read(key) if one["kind"] == kind], [_read(path) for path in given])
    text = json.dumps(made, ensure_ascii=False).replace('{"id"', '\n{"id"')
    Path(out).write_text(text + "\n", encoding="utf-8")
