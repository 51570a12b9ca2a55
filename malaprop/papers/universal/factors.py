"""Which trait of a model decides whether an attack carries over: one is varied, the others stay (Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.papers.universal.matrix import Matrix
from malaprop.papers.universal.record import Factor, Traits
from malaprop.papers.universal.resample import Doubles, ModelResamples, standard_error

Alike = Callable[[Traits, Traits], bool]

# The embedding that stands for each input form where forms are compared: characters know Random alone, both ELMo alone.
_STANDARD = {"word": "Random", "character": "Random", "both": "ELMo"}
ORDER = ("input form", "architecture", "embedding", "capacity")  # the paper's, in every one of its settings


def _architecture(a: Traits, b: Traits) -> bool:
    rest = (a.input, a.embedding, a.layers) == (b.input, b.embedding, b.layers)
    return rest and a.architecture != b.architecture


def _input(a: Traits, b: Traits) -> bool:
    standard = all(t.embedding == _STANDARD.get(t.input) for t in (a, b))
    return standard and (a.architecture, a.layers) == (b.architecture, b.layers) and a.input != b.input


def _input_strictly(a: Traits, b: Traits) -> bool:
    return _input(a, b) and a.embedding == b.embedding


def _embedding(a: Traits, b: Traits) -> bool:
    rest = (a.architecture, a.input, a.layers) == (b.architecture, b.input, b.layers)
    return rest and a.embedding != b.embedding


def _capacity(a: Traits, b: Traits) -> bool:
    rest = (a.architecture, a.input, a.embedding) == (b.architecture, b.input, b.embedding)
    return rest and a.layers != b.layers


FACTORS: dict[str, tuple[Alike, str]] = {
    "input form": (_input, "W-Random, C-Random and WC-ELMo, which has no counterpart with the same embedding"),
    "architecture": (_architecture, "LSTM, BiLSTM and CNN"),
    "embedding": (_embedding, "Random, GloVe, word2vec and fastText, under words"),
    "capacity": (_capacity, "numbers of layers"),
    "input form, embedding fixed": (_input_strictly, "W-Random and C-Random alone"),
}


def pairs(traits: Sequence[Traits | None], alike: Alike) -> tuple[Ints, Ints]:
    """Sources and targets that differ in one trait; the three that are fine-tuned have no counterpart in any."""
    found = [
        (s, t)
        for s, a in enumerate(traits)
        for t, b in enumerate(traits)
        if a is not None and b is not None and "piece" not in (a.input, b.input) and alike(a, b)
    ]
    both = np.asarray(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _find_known(matrix: Matrix, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """Those that were tried, to targets with a base rate."""
    kept = np.isfinite(matrix.rates[sources, targets]) & np.isfinite(matrix.base[targets])
    return sources[kept], targets[kept]


def differences(matrix: Matrix, sources: Ints, targets: Ints) -> Doubles:
    """Absolute differences of rates to the target's base rate."""
    return np.abs(matrix.rates[sources, targets] - matrix.base[targets])


def _noise(matrix: Matrix, sources: Ints, targets: Ints) -> float:
    """The mean absolute difference of two equal rates, from their counts: sqrt(2 / pi) of its standard deviation."""
    spread = np.hypot(matrix.deviations[sources, targets], matrix.deviations[targets, targets])
    return float(np.sqrt(2 / np.pi) * spread.mean())


def _error(matrix: Matrix, sources: Ints, targets: Ints) -> float:
    """The standard error of the mean difference from the counts: those of the rates, and those of the base rates."""
    rates = standard_error(sources, matrix.deviations[sources, targets])
    return float(np.hypot(rates, standard_error(targets, matrix.deviations[targets, targets])))


def factors(matrix: Matrix, traits: Sequence[Traits | None], draws: ModelResamples) -> tuple[Factor, ...]:
    """Table 2 with intervals; a factor that no pair of these models shows is left out."""
    out = []
    for name, (alike, about) in FACTORS.items():
        sources, targets = _find_known(matrix, *pairs(traits, alike))
        if not len(sources):
            continue
        values = differences(matrix, sources, targets)
        out.append(
            Factor(
                name=name,
                about=about,
                mean=draws.estimate(sources, targets, values, _error(matrix, sources, targets)),
                noise=round(_noise(matrix, sources, targets), 6),
                pairs=len(sources),
            )
        )
    return tuple(out)


def order(found: Sequence[Factor]) -> tuple[str, ...]:
    """The four factors that are there, the largest first."""
    kept = [factor for factor in found if factor.name in ORDER]
    return tuple(factor.name for factor in sorted(kept, key=lambda factor: -factor.mean.value))


def order_share(matrix: Matrix, traits: Sequence[Traits | None], draws: ModelResamples) -> float | None:
    """In how many resamples all four stand in the paper's order; None where one of them cannot be told.

    Each resample has other models, and counts that are off by their standard error.
    """
    columns, rng = [], generator(0, "order")
    for name in ORDER:
        sources, targets = _find_known(matrix, *pairs(traits, FACTORS[name][0]))
        if not len(sources):
            return None
        means = draws.means(sources, targets, differences(matrix, sources, targets))
        columns.append(means + rng.normal(0, _error(matrix, sources, targets), len(means)))
    rows = np.stack(columns, 1)
    rows = rows[np.isfinite(rows).all(1)]
    return float((np.diff(rows, axis=1) < 0).all(1).mean()) if len(rows) else None
