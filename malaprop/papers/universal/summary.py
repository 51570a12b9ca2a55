"""Build the record of a transfer study from the sampled successes and the targets' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.core.errors import VictimError
from malaprop.data.base import Dataset
from malaprop.papers.universal.factors import factors, order, order_share, tables
from malaprop.papers.universal.matrix import Matrix, ModelResamples
from malaprop.papers.universal.record import Speed, TransferModel, TransferRecord
from malaprop.papers.universal.sampled_successes import SampledSuccesses, SampledTexts, Verdicts
from malaprop.papers.universal.study_models import StudyModel

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
