"""Exports: adversarial texts as a `datasets` folder, all outcomes as Parquet files, and a section for a model card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.core.files import partial_path, write_whole
from malaprop.frame.records import Outcome, Run
from malaprop.frame.report.run_entries import RunEntry, entries
from malaprop.frame.report.tables import plain_markdown, row_of_markdown

FILE = "data/adversarial.jsonl"
SHARD, GROUP = 100_000, 10_000  # outcomes in a Parquet file, and in a group of its rows, which memory holds
_READ = (
    "In brackets the count and the 95% interval. Success is over the texts that the model answered rightly, and each "
    "was confirmed by a fresh query."
)
_CARD = """---
configs:
- config_name: default
  data_files: {file}
tags:
- adversarial
- robustness
---

# Adversarial texts

{many:,} texts that changed a model's answer, found by malaprop. They may be offensive or wrong: they are made to
deceive a model, and nobody has read them.

| column | |
| --- | --- |
| {fields} | the changed text |
| {originals} | the text as it was |
| `label`, `label_name` | the right answer |
| `prediction`, `prediction_before` | the model's answer to the changed text, and before |
| `victim`, `attack`, `data`, `id` | where it comes from |

{section}"""


def write_export(runs: Sequence[tuple[Run, Sequence[Outcome]]], folder: Path) -> Path:
    """Write a folder with every success of every run in one file, and a card; raise if it is not empty."""
    check_new(folder)
    rows = list(_rows(runs))
    if not rows:
        raise RecordError("no attack was a success, so there are no adversarial texts to export")
    write_whole(folder / FILE, "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows))
    names = list(dict.fromkeys(name for _, found in runs for one in found for name in one.original.fields))
    originals = ", ".join(f"`original_{name}`" for name in names)
    fields = ", ".join(f"`{name}`" for name in names)
    card = _CARD.format(file=FILE, many=len(rows), fields=fields, originals=originals, section=model_card(runs))
    write_whole(folder / "README.md", card)
    return folder


def check_new(folder: Path) -> None:
    """Raise if the folder holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RecordError(f"{folder} holds something already; give a folder that is new or empty")


def write_parquet(runs: Sequence[tuple[Run, Sequence[Outcome]]], folder: Path) -> Path:
    """Write every outcome of every run as a row, in Parquet files of SHARD rows; raise if the folder is not empty."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RecordError("--parquet needs pyarrow; install malaprop[parquet]") from None
    check_new(folder)
    rows = ((run, outcome) for run, found in runs for outcome in found)
    groups = iter(lambda: list(islice(rows, GROUP)), [])
    schema = _schema(pyarrow, runs)
    half = partial_path(folder)
    try:
        half.mkdir(parents=True)
        for number, first in enumerate(groups):
            with parquet.ParquetWriter(half / f"outcomes-{number:05}.parquet", schema) as file:
                for group in chain([first], islice(groups, SHARD // GROUP - 1)):
                    file.write_batch(pyarrow.RecordBatch.from_pylist([_row(*one) for one in group], schema))
        if folder.exists():
            folder.rmdir()
        half.replace(folder)
    except OSError as error:
        raise RecordError(f"cannot write {folder}: {error.strerror or error}; choose another folder") from None
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return folder


def _schema(pa: Any, runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> Any:
    """Return the columns of the table: those of a run, of an outcome, and one for each field of the texts."""
    sides = (side for _, found in runs for one in found for side in (one.original, one.adversarial) if side is not None)
    names = dict.fromkeys(name for side in sides for name in side.fields)
    name, text, real, many = pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.float64(), pa.int64()
    edit = pa.struct([("field", text), ("slot", many), ("op", text), ("from", text), ("to", text)])
    columns = [("victim", name), ("attack", name), ("data", name), ("id", text), ("status", name), ("label", many)]
    for side in ("original", "adversarial"):
        columns += [(_column(side, field), text) for field in names]
        columns += [(f"{side}_prediction", many), (f"{side}_scores", pa.list_(real))]
    columns += [("edits", pa.list_(edit)), ("asked", many), ("unique", many), ("forwarded", many)]
    columns += [("changed_share", real), ("seconds", real), ("seed", many), ("reason", text), ("by", name)]
    columns += [("validity", name), ("meaning", real), ("flips", many), ("measures", pa.map_(text, real))]
    return pa.schema(columns)


def _row(run: Run, one: Outcome) -> dict[str, Any]:
    """Return one outcome as plain values by column; texts are whole."""
    row: dict[str, Any] = {
        "victim": run.victim, "attack": run.recipe, "data": run.data, "id": one.id, "status": one.status,
        "label": one.label, "edits": [
            {"field": _whole(e.field), "slot": e.slot, "op": e.op, "from": _whole(e.before), "to": _whole(e.after)}
            for e in one.edits
        ],
        "asked": one.queries.asked, "unique": one.queries.unique, "forwarded": one.queries.forwarded,
        "changed_share": one.changed_share, "seconds": one.seconds, "seed": one.seed, "reason": one.reason,
        "by": one.by, "validity": one.validity, "meaning": one.meaning, "flips": one.flips,
        "measures": list(one.measures.items()),
    }  # fmt: skip
    for name, side in (("original", one.original), ("adversarial", one.adversarial)):
        if side is not None:
            row |= {_column(name, field): text for field, text in side.fields.items()}
            row |= {f"{name}_prediction": side.prediction, f"{name}_scores": list(side.scores)}
    return {name: _whole(value) if isinstance(value, str) else value for name, value in row.items()}


def _column(side: str, field: str) -> str:
    """Return the column of a field's text; one called like a column of the model's answer gets an underscore."""
    return f"{side}_{_whole(field)}{'_' * (field in ('prediction', 'scores'))}"


def _whole(text: str) -> str:
    """Return the text with a question mark for half of a character, which no file of Unicode holds."""
    return text.encode("utf-8", "replace").decode()


def _rows(runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> Iterator[dict[str, Any]]:
    for run, found in runs:
        for one in found:
            if one.status != "success" or one.adversarial is None:
                continue
            yield {
                **one.adversarial.fields, **{f"original_{name}": text for name, text in one.original.fields.items()},
                "label": one.label, "label_name": _name(run, one.label), "prediction": one.adversarial.prediction,
                "prediction_before": one.original.prediction, "victim": run.victim, "attack": run.recipe,
                "data": run.data, "id": one.id,
            }  # fmt: skip


def _name(run: Run, label: int) -> str:
    return run.labels[label] if 0 <= label < len(run.labels) else str(label)


def model_card(runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> str:
    """Return a section in Markdown: how robust the models are, on what data, and how that was measured."""
    names = ("Model", "Attack", "Texts", "Accuracy", "Accuracy under attack", "Attack success rate", "Queries (median)")
    found = entries(runs)
    lines = ["## Robustness", "", row_of_markdown(names), row_of_markdown(["---"] * len(names))]
    lines += [row_of_markdown(_cells(entry)) for entry in found]
    first = found[0].run if found else None
    if first is not None:
        data = ", ".join(dict.fromkeys(f"{e.run.data}{f' ({e.run.split})' if e.run.split else ''}" for e in found))
        seeds = ", ".join(dict.fromkeys(str(e.run.seed) for e in found))
        by = f"malaprop {first.versions.get('malaprop', '')}, {first.started[:10]}"
        lines += ["", f"Texts: {plain_markdown(data)}; seed {seeds}; {by}. {_READ}"]
    return "\n".join(lines) + "\n"


def _cells(entry: RunEntry) -> tuple[str, ...]:
    summary = entry.summary
    texts = f"{len(entry.outcomes):,}" + (f" of {entry.run.n:,}" if entry.missing else "")
    queries = "-" if summary.asked.median is None else f"{summary.asked.median:,.0f}"
    rates = (summary.clean, summary.under_attack, summary.success)
    return entry.victim, entry.attack, texts, *map(str, rates), queries
