"""The transfer study: every model is attacked, and its adversarial texts are tried on all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.text import Ints
from malaprop.records.transfer import Speed, TransferModel, TransferRecord
from malaprop.transfer.campaign import Answers, Campaign, Drawn, Texts, drawn, turn_of
from malaprop.transfer.classes import tables
from malaprop.transfer.entrants import Entrant
from malaprop.transfer.factors import factors, order, order_share
from malaprop.transfer.matrix import Matrix
from malaprop.transfer.resample import Draws
from malaprop.transfer.shelf import Ref
from malaprop.transfer.tasks import Scored

SOURCES = "sources"
_EACH = 6  # sources that fell short, up to which each is named


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the record keeps of how the study was asked for."""

    data: str = ""
    trained_on: str = ""
    split: str = "test"
    columns: dict[str, str | None] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"


def transfer(
    entrants: Sequence[Entrant], campaign: Campaign, folder: Path, *, wanted: int = 500, said: Said | None = None
) -> TransferRecord:
    """The whole study; writes a run folder a source, and gives the record."""
    if wanted < 1:
        raise SettingError(f"at least 1 success of each source must be tried, got {wanted}")
    said = said or Said()
    mains = [entrant.ref for entrant in entrants]
    seconds = [entrant.second.ref for entrant in entrants if entrant.second is not None]
    names = [ref.name for ref in (*mains, *seconds)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SettingError(f"two victims are called {twice[0]}; give each a name of its own")
    facts = campaign.look([*_heaviest_first(entrants), *seconds])
    places = folders(folder, [ref.name for ref in mains])
    campaign.strike(_heaviest_first(entrants), facts, places)
    texts = Texts()
    found = [drawn(places[ref.name], campaign.data, texts, wanted=wanted, seed=campaign.seed) for ref in mains]
    if not any(map(len, found)):
        raise VictimError(_nothing(mains, found))
    began = perf_counter()
    answers, scored = _ask(entrants, campaign, found, texts, facts)
    counts = _count(entrants, found, answers)
    matrix, draws = Matrix.of(counts[0], counts[1]), Draws(len(mains), seed=campaign.seed)
    traits = [entrant.traits for entrant in entrants]
    table = factors(matrix, traits, draws)
    return TransferRecord(
        recipe=campaign.attack.name,
        data=campaign.data.name,
        data_spec=said.data,
        trained_on=said.trained_on,
        texts=len(campaign.data),
        wanted=wanted,
        seed=campaign.seed,
        split=said.split,
        columns=said.columns,
        settings=said.settings,
        labels=campaign.data.labels,
        models=tuple(map(_model, entrants, found)),
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
        speed=_speed(campaign, scored, perf_counter() - began, said.device),
        notes=(*_notes(entrants, found, wanted), *_unanswered(entrants, found, counts[1])),
    )


def folders(root: Path, names: Sequence[str], under: str = SOURCES) -> dict[str, Path]:
    """A folder for each name; two names that would share one are refused."""
    out: dict[str, Path] = {}
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_.#+" else "-" for c in name).strip("-.")[-80:] or "unnamed"
        place = root / under / plain
        if place in out.values():
            raise SettingError(f"{name} would be written to {place}, as another victim is; give them other names")
        out[name] = place
    return out


def _heaviest_first(entrants: Sequence[Entrant]) -> list[Ref]:
    """So that none is alone at the end."""
    return [entrant.ref for entrant in sorted(entrants, key=_weight, reverse=True)]


def _weight(entrant: Entrant) -> int:
    if (traits := entrant.traits) is None or traits.input == "piece":
        return 60
    layers = {"BiLSTM": 5, "LSTM": 3, "CNN": 1}.get(traits.architecture, 4) * traits.layers
    return layers + {"both": 20, "character": 3}.get(traits.input, 0)


def _ask(
    entrants: Sequence[Entrant], campaign: Campaign, found: Sequence[Drawn], texts: Texts, facts: Any
) -> tuple[dict[str, Answers], dict[str, Scored]]:
    """Every main model about all texts, every second about those of its own model."""
    everything = np.arange(len(texts.fields))
    asked: dict[str, tuple[Ref, Ints]] = {}
    for entrant, mine in zip(entrants, found, strict=True):
        asked[entrant.name] = (entrant.ref, everything)
        if entrant.second is not None and len(mine):
            asked[entrant.second.name] = (entrant.second.ref, np.union1d(mine.texts, mine.originals))
    scored = campaign.score(asked, texts.fields)
    many = len(texts.fields)
    answers = {
        name: Answers.of(scored[name], wanted, many, turn_of(facts[name], campaign.data))
        for name, (_, wanted) in asked.items()
    }
    return answers, scored


Grid = tuple[tuple[int | None, ...], ...]


def _count(entrants: Sequence[Entrant], found: Sequence[Drawn], answers: dict[str, Answers]) -> tuple[Grid, ...]:
    """Hits, totals, right before, and carried over, each [source, target]."""
    rows: list[list[tuple[int | None, ...]]] = []
    for s, mine in enumerate(found):
        rows.append([])
        for t, entrant in enumerate(entrants):
            target = entrant if t != s else entrant.second
            known = len(mine) and target is not None
            rows[s].append(_cell(mine, answers[target.name]) if known and target else (None,) * 4)
    return tuple(tuple(tuple(cell[kind] for cell in row) for row in rows) for kind in range(4))


def _cell(mine: Drawn, target: Answers) -> tuple[int, ...]:
    answered, wrong = target.wrong(mine.texts, mine.labels)
    knew, mistaken = target.wrong(mine.originals, mine.labels)
    right = answered * knew * (1 - mistaken)
    return int(wrong.sum()), int(answered.sum()), int(right.sum()), int((right * wrong).sum())


def _model(entrant: Entrant, mine: Drawn) -> TransferModel:
    second = entrant.second
    return TransferModel(
        name=entrant.name,
        spec=entrant.spec,
        number=entrant.number,
        traits=entrant.traits,
        second=second.name if second else None,
        second_spec=second.spec if second else None,
        counts=mine.counts,
        drawn=len(mine),
        asked=mine.asked,
        forwarded=mine.forwarded,
    )


def _speed(campaign: Campaign, scored: dict[str, Scored], scoring: float, device: str) -> Speed:
    spent = campaign.spent
    floor = sum(many / scored[name].rate for name, many in spent.forwarded.items() if name in scored)
    return Speed(
        asked=spent.asked,
        forwarded=sum(spent.forwarded.values()),
        wall=round(spent.wall, 3),
        busy=round(spent.busy, 3),
        floor=round(floor, 3),
        scored=sum(len(one.labels) for one in scored.values()),
        scoring=round(scoring, 3),
        jobs=campaign.hands.many,
        device=device,
    )


def _why(mine: Drawn) -> str:
    counts = mine.counts
    if counts["error"] and not mine.right.total:
        return f"all {counts['error']} texts ended in an error ({mine.reason})"
    if not mine.right.hits:
        return f"it gets all {mine.right.total} texts wrong without an attack"
    return f"the attack broke none of the {mine.right.hits} texts it gets right"


def _nothing(refs: Sequence[Ref], found: Sequence[Drawn]) -> str:
    each = "; ".join(f"{ref.name}: {_why(mine)}" for ref, mine in zip(refs, found, strict=True))
    return f"no source gave an adversarial text, so there is nothing to carry over: {each}"


def _notes(entrants: Sequence[Entrant], found: Sequence[Drawn], wanted: int) -> list[str]:
    """What a reader must know of sources that fell short, and of models without a second."""
    out = []
    short = sorted(
        (len(mine), entrant.name) for entrant, mine in zip(entrants, found, strict=True) if 0 < len(mine) < wanted
    )
    if len(short) > _EACH:
        (least, worst), (most, best) = short[0], short[-1]
        out.append(
            f"{len(short)} of {len(entrants)} sources gave {least} ({worst}) to {most} ({best}) successes, all of them "
            f"used (of {wanted} wanted)"
        )
    for entrant, mine in zip(entrants, found, strict=True):
        if not len(mine):
            out.append(f"{entrant.name} gives no adversarial text: {_why(mine)}; its row is empty")
        elif len(mine) < wanted and len(short) <= _EACH:
            out.append(f"{entrant.name}: {len(mine)} successes, all of them used (of {wanted} wanted)")
        if mine.counts["error"] and len(mine):
            out.append(f"{entrant.name}: {mine.counts['error']} texts ended in an error ({mine.reason})")
    alone = [entrant.name for entrant in entrants if entrant.second is None]
    if alone:
        out.append(f"no second model, so no base rate: {', '.join(alone)}")
    return out


def _unanswered(entrants: Sequence[Entrant], found: Sequence[Drawn], totals: Grid) -> list[str]:
    """Targets that failed on texts of others, so that their rates are of fewer texts than were tried."""
    out = []
    for target, entrant in enumerate(entrants):
        others = [(len(mine), totals[s][target] or 0) for s, mine in enumerate(found) if s != target]
        asked, answered = (sum(side) for side in zip(*others, strict=True))
        if answered < asked:
            out.append(
                f"{entrant.name} could not answer {asked - answered} of the {asked} texts of other sources; its rates "
                "leave them out"
            )
    return out
