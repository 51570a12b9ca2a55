"""Mean transfer between classes of models: by architecture (Table 3), by input form and embedding (Table 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from malaprop.core.text import Ints
from malaprop.frame.records.intervals import Estimate
from malaprop.papers.universal.matrix import Matrix
from malaprop.papers.universal.record import ClassTable, Traits
from malaprop.papers.universal.resample import Doubles, ModelResamples


def architecture(traits: Traits) -> str:
    return "BERT" if traits.input == "piece" else traits.architecture


def reading(traits: Traits) -> str:
    if traits.input == "piece":
        return "BERT"
    return "Character" if traits.input == "character" else traits.embedding.replace("W2vec", "word2vec")


TABLES: dict[str, tuple[Callable[[Traits], str], tuple[str, ...]]] = {
    "architecture": (architecture, ("LSTM", "BiLSTM", "CNN", "BERT")),
    "input form and embedding": (
        reading,
        ("Random", "GloVe", "word2vec", "fastText", "Character", "ELMo", "BERT"),
    ),
}


def tables(matrix: Matrix, traits: Sequence[Traits | None], draws: ModelResamples) -> tuple[ClassTable, ...]:
    """Both tables over the classes that these models fill; one class alone makes no table.

    As in the paper a class's mean to itself takes in the base rates on the diagonal, where they are known.
    """
    out = []
    for name, (which, known) in TABLES.items():
        of = [None if t is None else which(t) for t in traits]
        classes = [c for c in known if c in of]
        classes += sorted({c for c in of if c is not None} - set(known))
        if len(classes) > 1:
            out.append(_table(name, classes, of, matrix, draws))
    return tuple(out)


def _table(
    name: str, classes: Sequence[str], of: Sequence[str | None], matrix: Matrix, draws: ModelResamples
) -> ClassTable:
    members = {c: np.asarray([i for i, mine in enumerate(of) if mine == c], np.int64) for c in classes}
    cells = [[_cell(matrix, draws, members[a], members[b]) for b in classes] for a in classes]
    values = np.asarray([[np.nan if cell is None else cell.value for cell in row] for row in cells])
    return ClassTable(
        name=name,
        classes=tuple(classes),
        models=tuple(len(members[c]) for c in classes),
        cells=tuple(map(tuple, cells)),
        sources=tuple(_mean(row) for row in values),
        targets=tuple(_mean(column) for column in values.T),
    )


def _cell(matrix: Matrix, draws: ModelResamples, sources: Ints, targets: Ints) -> Estimate | None:
    s, t = (grid.ravel() for grid in np.meshgrid(sources, targets, indexing="ij"))
    kept = np.isfinite(matrix.rates[s, t])
    return matrix.mean(s[kept], t[kept], draws) if kept.any() else None


def _mean(values: Doubles) -> float | None:
    known = values[np.isfinite(values)]
    return round(float(known.mean()), 6) if len(known) else None
