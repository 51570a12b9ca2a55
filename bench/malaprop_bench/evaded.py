"""Accuracy under attacks that see the detector: rows of docs/measured/detect.json, from a finished test of defences.

malaprop study defences --victim V --defence detect:FOLDER --attack pwws,textfooler --n 100 --out DIR
python -m malaprop_bench.evaded docs/measured/detect.json DIR --victim LSTM-W-GloVe-1 --texts mr --method cloze

A row of the same victim, texts, detector and attack is replaced. `malaprop bench --fill
docs/appendix/defences.md` shows them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError, RecordError
from malaprop.core.victim import find_rejected
from malaprop.features.defending.evaluation_record import DefencesRecord

_KEY = ("victim", "texts", "method", "recipe")


def read_rows(folder: Path, about: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a row for each attack of the study, whose one defence is the detector."""
    record = DefencesRecord.read(folder)
    if record is None:
        raise RecordError(f"{folder} holds no finished test of defences")
    alone, guarded = (_find(record, detector=kind) for kind in (False, True))
    attacks = [(record.attack, alone.active, guarded.active, guarded.transferred)]
    other = {one.attack: one.active for one in alone.others}
    attacks += [(one.attack, other[one.attack], one.active, one.transferred) for one in guarded.others]
    rejected = count_rejected(folder)
    return [
        {
            **about, "recipe": recipe, "clean": _two(guarded.clean), "knowing": _two(seen.accuracy),
            "plain": _two(unseen), "unguarded": {"clean": _two(alone.clean), "under": _two(plain.accuracy)},
            "rejected_clean": rejected,
        }
        for recipe, plain, seen, unseen in attacks
    ]  # fmt: skip


def _find(record: DefencesRecord, *, detector: bool) -> Any:
    found = [row for row in record.rows if row.name.startswith("detect:") == detector]
    if len(found) != 1:
        raise RecordError("a test of one detector has two rows: the model alone, and the model behind it")
    return found[0]


def count_rejected(folder: Path) -> int:
    """Return how many texts the detector rejects before an attack, from the outcomes of the first attack."""
    for file in sorted(folder.glob("*/clean.json")):
        label = find_rejected(json.loads(file.read_text(encoding="utf-8"))["seen"]["label_names"])
        runs = sorted(file.parent.glob("*/outcomes.jsonl"))
        if label >= 0 and runs:
            lines = map(json.loads, runs[0].read_text(encoding="utf-8").splitlines())
            return sum(line["original"]["prediction"] == label for line in lines)
    raise RecordError(f"{folder} has no attack on a victim that rejects texts")


def _two(rate: Any) -> dict[str, int]:
    return {"hits": rate.hits, "total": rate.total}


def put(held: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record with these rows, which replace those of the same victim, texts, detector and attack."""
    fresh = {tuple(row[name] for name in _KEY): row for row in rows}
    kept = [fresh.pop(tuple(row[name] for name in _KEY), row) for row in held["evaded"]]
    return {**held, "evaded": [*kept, *fresh.values()]}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.evaded", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path, help="what malaprop study defences wrote")
    for name in ("victim", "texts", "method"):
        parser.add_argument(f"--{name}", required=True)
    given = vars(parser.parse_args(words))
    file, folder = given.pop("file"), given.pop("folder")
    try:
        held = put(json.loads(file.read_text(encoding="utf-8")), read_rows(folder, given))
    except (MalapropError, OSError, ValueError) as error:
        parser.error(str(error))
    file.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
