"""What successes read like: how near to the original a sentence encoder finds them, and how odd a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.score import Floats
from malaprop_bench.measured import Measured, Row

Pair = tuple[str, str]  # the original, or what the tool began with, and what became of it


def measure_files(files: Sequence[Path], rows: Sequence[Row], names: Sequence[str]) -> None:
    """Adds the measures to those of the files that lack them; all texts are read in one go."""
    for name in names:
        held = {file: Measured.read(file) for file in files}
        wanted = {file: _pairs(one, rows) for file, one in held.items() if name not in one.quality}
        texts = list(dict.fromkeys(text for pairs in wanted.values() for pair in pairs for text in pair))
        if not texts:
            continue
        read, judge = KINDS[name]
        found = dict(zip(texts, read(texts), strict=True))
        for file, pairs in wanted.items():
            value = judge(pairs, found)
            if value is not None:
                replace(held[file], quality={**held[file].quality, name: round(value, 4)}).write(file)


def _pairs(held: Measured, rows: Sequence[Row]) -> list[Pair]:
    ended = zip(rows, held.outcomes, strict=False)
    return [(one.start or text, one.text) for (text, _), one in ended if one.status == "success" and one.text.strip()]


def _read_vectors(texts: Sequence[str]) -> list[Floats]:
    from malaprop.models.encoders.encoder import open_encoder

    return list(open_encoder().encode(texts))


def _read_perplexities(texts: Sequence[str]) -> list[float]:
    from malaprop.models.encoders.language_model import open_language_model

    found: list[float] = open_language_model().perplexity(texts).tolist()
    return found


def _similarity(pairs: Sequence[Pair], vectors: dict[str, Floats]) -> float | None:
    """The mean cosine."""
    return fmean(float(vectors[one] @ vectors[two]) for one, two in pairs) if pairs else None


def _ratio(pairs: Sequence[Pair], found: dict[str, float]) -> float | None:
    """The median of how many times as odd the changed text is."""
    return median(found[two] / found[one] for one, two in pairs) if pairs else None


KINDS: dict[str, tuple[Callable[[Sequence[str]], Sequence[Any]], Callable[[Sequence[Pair], dict[str, Any]], Any]]] = {
    "similarity": (_read_vectors, _similarity),
    "perplexity": (_read_perplexities, _ratio),
}


def check_measures(names: Sequence[str]) -> None:
    """Refuses a measure that is none of these."""
    for name in names:
        if name not in KINDS:
            raise unknown("measure of bench", name, KINDS)
