"""The ensembles that the paper's expert chose (Table 8): each size adds one model to the one before."""

from __future__ import annotations

from collections.abc import Collection

ADDED = (
    "LSTM-W-Random-1",
    "CNN-C-Random-1",
    "LSTM-WC-ELMo-1",
    "BERT",
    "CNN-W-Random-1",
    "LSTM-C-Random-1",
    "CNN-WC-ELMo-1",
)
SIZES = range(2, len(ADDED) + 1)


def expert(size: int) -> tuple[str, ...] | None:
    """The expert's list of that size; None beyond the table."""
    return ADDED[:size] if size in SIZES else None


def missing(size: int, known: Collection[str]) -> tuple[str, ...]:
    """Of the expert's list, those that are not at hand."""
    return tuple(name for name in expert(size) or () if name not in known)
