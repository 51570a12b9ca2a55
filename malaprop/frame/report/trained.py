"""The report section on trained models, from their records alone."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.records.trained import TrainedModel, TrainedRecord
from malaprop.frame.report import tables
from malaprop.frame.report.markup import Markup
from malaprop.frame.report.section import Section

TITLE = "Trained models"


def models(found: Sequence[TrainedRecord]) -> Markup:
    """Return one table of all models in the records."""
    every = [(record.command, model) for record in found for model in record.models]
    if not every:
        return Markup("")
    rows = [
        (model.name, command, model.data, str(model.seed), model.reason or figures_line(model), model.about)
        for command, model in every
    ]
    names = ("Model", "By", "Data", "Seed", "Figures", "About")
    return tables.card("trained", TITLE, "", tables.grid(TITLE, names, rows))


def figures_line(model: TrainedModel) -> str:
    """Return the figures of a model in one line."""
    figures = {name: _number(value) for name, value in model.figures.items()}
    figures |= {name: str(rate) for name, rate in model.rates.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def terminal(record: TrainedRecord) -> str:
    """Return a line for each model, and the sentences that it generates."""
    lines = []
    for model in record.models:
        line = model.reason or figures_line(model)
        lines += [line if len(record.models) == 1 else f"{model.name}: {line}"]
        lines += [f"  {sample}" for sample in model.samples]
    return "\n".join(lines)


SECTION = Section(rank=90, title=TITLE, body=models, terminal=terminal)
