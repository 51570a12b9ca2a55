"""Measure the quality of successes: their similarity to the original by a sentence encoder, and their perplexity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.score import Floats
from malaprop_bench.measured import Measured, Row

Pair = tuple[str, str]  # the original, or the text the tool started from, and the adversarial text


def measure_files(files: Sequence[Path], rows: Sequence[Row], names: Sequence[str]) -> None:
    """Add the measures to the files that lack them; each model reads all texts at once."""
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
    """Return the mean cosine of the pairs; None without a pair."""
    return fmean(float(vectors[one] @ vectors[two]) for one, two in pairs) if pairs else None


def _ratio(pairs: Sequence[Pair], found: dict[str, float]) -> float | None:
    """Return the median ratio of the perplexities after and before; None without a pair."""
    return median(found[two] / found[one] for one, two in pairs) if pairs else None


KINDS: dict[str, tuple[Callable[[Sequence[str]], Sequence[Any]], Callable[[Sequence[Pair], dict[str, Any]], Any]]] = {
    "similarity": (_read_vectors, _similarity),
    "perplexity": (_read_perplexities, _ratio),
}


def check_measures(names: Sequence[str]) -> None:
    """Raise on an unknown name of a measure."""
    for name in names:
        if name not in KINDS:
            raise unknown("measure of bench", name, KINDS)
