"""Build the record of a transfer study from the sampled successes and the targets' answers.

Its tables say what decides whether an attack transfers: pairs of models that differ in one trait (Table 2), and mean
rates between classes of models (Tables 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.data.base import Dataset
from malaprop.frame.records.intervals import Estimate
from malaprop.papers.universal.matrix import Doubles, Matrix, ModelResamples, standard_error
from malaprop.papers.universal.record import ClassTable, Factor, Speed, Traits, TransferModel, TransferRecord
from malaprop.papers.universal.sampled_successes import SampledSuccesses, SampledTexts, Verdicts
from malaprop.papers.universal.study_models import StudyModel


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
    """Return Tables 3 and 4 over the classes that these models fill; a table needs two classes or more.

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
    cells = [[_mean_cell(matrix, draws, members[a], members[b]) for b in classes] for a in classes]
    values = np.asarray([[np.nan if cell is None else cell.value for cell in row] for row in cells])
    return ClassTable(
        name=name,
        classes=tuple(classes),
        models=tuple(len(members[c]) for c in classes),
        cells=tuple(map(tuple, cells)),
        sources=tuple(_mean(row) for row in values),
        targets=tuple(_mean(column) for column in values.T),
    )


def _mean_cell(matrix: Matrix, draws: ModelResamples, sources: Ints, targets: Ints) -> Estimate | None:
    s, t = (grid.ravel() for grid in np.meshgrid(sources, targets, indexing="ij"))
    kept = np.isfinite(matrix.rates[s, t])
    return matrix.mean(s[kept], t[kept], draws) if kept.any() else None


def _mean(values: Doubles) -> float | None:
    known = values[np.isfinite(values)]
    return round(float(known.mean()), 6) if len(known) else None


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
    """Return the sources and targets that differ in one trait alone; fine-tuned models have no such counterpart."""
    found = [
        (s, t)
        for s, a in enumerate(traits)
        for t, b in enumerate(traits)
        if a is not None and b is not None and "piece" not in (a.input, b.input) and alike(a, b)
    ]
    both = np.asarray(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _find_known(matrix: Matrix, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """Keep the pairs that were tried and whose target has a base rate."""
    kept = np.isfinite(matrix.rates[sources, targets]) & np.isfinite(matrix.base[targets])
    return sources[kept], targets[kept]


def differences(matrix: Matrix, sources: Ints, targets: Ints) -> Doubles:
    """Return the absolute differences of rates to the target's base rate."""
    return np.abs(matrix.rates[sources, targets] - matrix.base[targets])


def _noise(matrix: Matrix, sources: Ints, targets: Ints) -> float:
    """Return the mean absolute difference of two equal rates from counts: sqrt(2 / pi) of its standard deviation."""
    spread = np.hypot(matrix.deviations[sources, targets], matrix.deviations[targets, targets])
    return float(np.sqrt(2 / np.pi) * spread.mean())


def _error(matrix: Matrix, sources: Ints, targets: Ints) -> float:
    """Return the standard error of the mean difference, from the counts of the rates and of the base rates."""
    rates = standard_error(sources, matrix.deviations[sources, targets])
    return float(np.hypot(rates, standard_error(targets, matrix.deviations[targets, targets])))


def factors(matrix: Matrix, traits: Sequence[Traits | None], draws: ModelResamples) -> tuple[Factor, ...]:
    """Return the rows of Table 2 with intervals; a factor that no pair of these models shows is left out."""
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
    """Return the names of the four factors that were measured, the largest first."""
    kept = [factor for factor in found if factor.name in ORDER]
    return tuple(factor.name for factor in sorted(kept, key=lambda factor: -factor.mean.value))


def order_share(matrix: Matrix, traits: Sequence[Traits | None], draws: ModelResamples) -> float | None:
    """Return the share of resamples in which all four factors stand in the paper's order; None without all four.

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


_EACH = 6  # sources that fell short, up to which each is named


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFigures:
    """The settings of a transfer study that its record keeps."""

    recipe: str
    data: Dataset
    data_spec: str
    trained_on: str
    wanted: int
    seed: int
    split: str
    columns: dict[str, str | None]
    settings: dict[str, Any]


def gather(
    study_models: Sequence[StudyModel],
    found: SampledTexts,
    verdicts: Mapping[str, Verdicts],
    said: TransferFigures,
    speed: Speed,
) -> TransferRecord:
    """Build the record from the sampled successes of each source and the answers of each target."""
    mine = [found.sources[model.name] for model in study_models]
    counts = _count(study_models, mine, verdicts)
    matrix, draws = Matrix.of(counts[0], counts[1]), ModelResamples(len(study_models), seed=said.seed)
    traits = [model.traits for model in study_models]
    table = factors(matrix, traits, draws)
    return TransferRecord(
        recipe=said.recipe,
        data=said.data.name,
        data_spec=said.data_spec,
        trained_on=said.trained_on,
        texts=len(said.data),
        wanted=said.wanted,
        seed=said.seed,
        split=said.split,
        columns=said.columns,
        settings=said.settings,
        labels=said.data.labels,
        models=tuple(map(_model, study_models, mine)),
        hits=counts[0],
        totals=counts[1],
        before=counts[2],
        carried=counts[3],
        factors=table,
        order=order(table),
        order_share=order_share(matrix, traits, draws),
        tables=tables(matrix, traits, draws),
        base=matrix.base_mean(draws),
        pairs=matrix.pairs_mean(draws),
        speed=speed,
        notes=(*_notes(study_models, mine, said.wanted), *_name_unanswered(study_models, mine, counts[1])),
    )


Grid = tuple[tuple[int | None, ...], ...]


def _count(
    study_models: Sequence[StudyModel], found: Sequence[SampledSuccesses], verdicts: Mapping[str, Verdicts]
) -> tuple[Grid, ...]:
    """Count hits, totals, texts right before the attack, and those of them now wrong, each [source, target]."""
    rows: list[list[tuple[int | None, ...]]] = []
    for s, mine in enumerate(found):
        rows.append([])
        for t, model in enumerate(study_models):
            target = model if t != s else model.second
            known = len(mine) and target is not None
            rows[s].append(_cell(mine, verdicts[target.name]) if known and target else (None,) * 4)
    return tuple(tuple(tuple(cell[kind] for cell in row) for row in rows) for kind in range(4))


def _cell(mine: SampledSuccesses, target: Verdicts) -> tuple[int, ...]:
    answered, wrong = target.misled(mine.texts, mine.labels)
    knew, mistaken = target.wrong(mine.originals, mine.labels)
    right = answered * knew * (1 - mistaken)
    return int(wrong.sum()), int(answered.sum()), int(right.sum()), int((right * wrong).sum())


def _model(model: StudyModel, mine: SampledSuccesses) -> TransferModel:
    second = model.second
    return TransferModel(
        name=model.name,
        spec=model.spec,
        number=model.number,
        traits=model.traits,
        second=second.name if second else None,
        second_spec=second.spec if second else None,
        counts=mine.counts,
        drawn=len(mine),
        asked=mine.asked,
        forwarded=mine.forwarded,
    )


def _why(mine: SampledSuccesses) -> str:
    counts = mine.counts
    if counts["error"] and not mine.right.total:
        return f"all {counts['error']} texts ended in an error ({mine.reason})"
    if not mine.right.hits:
        return f"it gets all {mine.right.total} texts wrong without an attack"
    return f"the attack broke none of the {mine.right.hits} texts it gets right"


def check_any(found: Mapping[str, SampledSuccesses]) -> None:
    """Raise if no source has an adversarial text to try on the others."""
    if not any(map(len, found.values())):
        each = "; ".join(f"{name}: {_why(mine)}" for name, mine in found.items())
        raise VictimError(f"no source gave an adversarial text, so there is nothing to carry over: {each}")


def _notes(study_models: Sequence[StudyModel], found: Sequence[SampledSuccesses], wanted: int) -> list[str]:
    """Name the sources with fewer successes than wanted, errors, and models without a second training run."""
    out = []
    short = sorted(
        (len(mine), model.name) for model, mine in zip(study_models, found, strict=True) if 0 < len(mine) < wanted
    )
    if len(short) > _EACH:
        (least, worst), (most, best) = short[0], short[-1]
        out.append(
            f"{len(short)} of {len(study_models)} sources gave {least} ({worst}) to {most} ({best}) successes, all of "
            f"them used (of {wanted} wanted)"
        )
    for model, mine in zip(study_models, found, strict=True):
        if not len(mine):
            out.append(f"{model.name} gives no adversarial text: {_why(mine)}; its row is empty")
        elif len(mine) < wanted and len(short) <= _EACH:
            out.append(f"{model.name}: {len(mine)} successes, all of them used (of {wanted} wanted)")
        if mine.counts["error"] and len(mine):
            out.append(f"{model.name}: {mine.counts['error']} texts ended in an error ({mine.reason})")
    alone = [model.name for model in study_models if model.second is None]
    if alone:
        out.append(f"no second model, so no base rate: {', '.join(alone)}")
    return out


def _name_unanswered(study_models: Sequence[StudyModel], found: Sequence[SampledSuccesses], totals: Grid) -> list[str]:
    """Name the targets that could not answer some texts, so that their rates are over fewer texts."""
    out = []
    for target, model in enumerate(study_models):
        others = [(len(mine), totals[s][target] or 0) for s, mine in enumerate(found) if s != target]
        asked, answered = (sum(side) for side in zip(*others, strict=True))
        if answered < asked:
            out.append(
                f"{model.name} could not answer {asked - answered} of the {asked} texts of other sources; its rates "
                "leave them out"
            )
    return out
