"""Exports of adversarial texts as a folder that the `datasets` library loads, and of a section for a model card."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.core.files import write_whole
from malaprop.frame.records import Outcome, Run
from malaprop.frame.report.run_entries import RunEntry, entries
from malaprop.frame.report.tables import plain_markdown, row_of_markdown

FILE = "data/adversarial.jsonl"
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
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RecordError(f"{folder} holds something already; give a folder that is new or empty")
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
