"""Computes the record of attacks on translation from its runs: success and BLEU, and attention of a few successes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from malaprop.features.translation.models.translator import Translator
from malaprop.features.translation.models.victim import OwnTranslator
from malaprop.features.translation.record import (
    Bleu,
    TranslationExample,
    TranslationMap,
    TranslationRecord,
    TranslationRun,
)
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run, is_translation
from malaprop.frame.records.store import find_runs, read_outcomes
from malaprop.frame.records.summary import Rate
from malaprop.models import bleu

if TYPE_CHECKING:
    from malaprop.features.translation.models.decoding import Look


def gather(folders: Iterable[Path]) -> TranslationRecord:
    """Return the record of every translation run at or below the folders."""
    found = [(Run.read(folder), folder) for folder in find_runs(folders)]
    return TranslationRecord(
        runs=tuple(summarize_run(run, read_outcomes(at)) for run, at in found if is_translation(run))
    )


def summarize_run(run: Run, outcomes: Sequence[Outcome]) -> TranslationRun:
    """Compute the figures of one run."""
    tried = [o for o in outcomes if o.status in ("success", "failed")]
    won = [o for o in tried if o.status == "success"]
    before, after, drop = _bleus([o for o in tried if o.original.fields.get("reference")], run.seed)
    return TranslationRun(
        attack=run.recipe,
        kind=str(run.parts.get("kind", "")),
        victim=run.victim,
        data=run.data,
        success=Rate(len(won), len(tried)),
        skipped=sum(o.status == "skipped" for o in outcomes),
        errors=sum(o.status == "error" for o in outcomes),
        before=before,
        after=after,
        drop=drop,
        changed_words=_mean([len(o.edits) for o in won]),
        asked=_mean([o.queries.asked for o in tried]),
        distance=_mean([o.measures["state_distance"] for o in won if "state_distance" in o.measures]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 6) if values else None


def _bleus(tried: Sequence[Outcome], seed: int) -> tuple[Bleu, Bleu, Bleu] | tuple[None, None, None]:
    """Return BLEU before and after, and the drop, with intervals over the same resampled sets of sentences."""
    if not tried:
        return None, None, None
    references = [o.original.fields["reference"] for o in tried]
    first = bleu.counts([o.original.fields["translation"] for o in tried], references)
    last = bleu.counts([o.adversarial.fields["translation"] if o.adversarial else "" for o in tried], references)
    drawn, redrawn = bleu.resample_bleu(first, seed), bleu.resample_bleu(last, seed)
    values = bleu.from_counts(first.sum(0)), bleu.from_counts(last.sum(0))
    return (
        _interval(values[0], drawn),
        _interval(values[1], redrawn),
        _interval(values[0] - values[1], drawn - redrawn),
    )


def _interval(value: float, drawn: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Bleu:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Bleu(round(value, 4), round(float(low), 4), round(float(high), 4))


def sights(attack: str, translator: Translator, outcomes: Iterable[Outcome], most: int) -> list[TranslationExample]:
    """Return the attention of the first successes by id; none for a victim without attention."""
    if not isinstance(translator, OwnTranslator):
        return []
    won = sorted((o for o in outcomes if o.status == "success"), key=lambda o: o.id)
    return [_sight(attack, translator, outcome) for outcome in islice(won, most)]


def _sight(attack: str, translator: OwnTranslator, outcome: Outcome) -> TranslationExample:
    assert outcome.adversarial is not None
    sides = outcome.original.fields, outcome.adversarial.fields
    before, after = (_map(translator.look(side["source"], side["translation"])) for side in sides)
    pairs = enumerate(zip(before.source, after.source, strict=False))
    changed = tuple(i for i, (a, b) in pairs if a != b)
    return TranslationExample(attack=attack, victim=translator.name, before=before, after=after, changed=changed)


def _map(found: Look) -> TranslationMap:
    weights = tuple(tuple(round(float(value), 4) for value in row) for row in found.weights)
    return TranslationMap(source=found.source, output=found.output, weights=weights)
