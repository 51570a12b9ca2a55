"""Runs an attack on a translation model over many sentences side by side, and computes the record from such runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.errors import DataError, MalapropError, SettingError, plain
from malaprop.core.example import Example
from malaprop.core.text import Words, check_text
from malaprop.data.base import Dataset
from malaprop.engine.drive import drive
from malaprop.engine.service import FunctionService, Service
from malaprop.features.translation.attacks.sweep import Case, SweepEnding
from malaprop.features.translation.models.translator import Translator
from malaprop.features.translation.models.victim import OwnTranslator
from malaprop.features.translation.record import (
    Bleu,
    TranslationExample,
    TranslationMap,
    TranslationRecord,
    TranslationRun,
)
from malaprop.frame.records.outcome import Outcome, Side, edits_between
from malaprop.frame.records.run import TASK, Run, is_translation
from malaprop.frame.records.store import find_runs, read_outcomes
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.folder import SizedDataset
from malaprop.models import bleu

if TYPE_CHECKING:
    from malaprop.features.translation.models.decoding import Look


SHARD = 2048  # sentences that share one table of words
FIELDS = ("source", "target")


class TranslationAttack(Protocol):
    """An attack on one sentence, as a generator of queries."""

    def steps(self, case: Case, table: Words, owner: int, *, seed: int) -> Steps[SweepEnding]: ...


def check_pairs(data: Dataset) -> Dataset:
    """Return the dataset; raise unless it has sources with their translations."""
    if set(data.fields) != set(FIELDS):
        raise DataError(
            f"{data.name} has the columns {', '.join(data.fields)}; translation needs source,target (or src,tgt)"
        )
    return data


def services(translator: Translator) -> dict[str, Service]:
    """Return the services of a translator; answers to sweeps are not cached, as no other sentence asks the same."""
    return {
        "translate": FunctionService(lambda texts: translator.translate(texts), size=len),
        "hint": FunctionService(lambda asked: translator.hints(asked), remember=0),
        "states": FunctionService(lambda texts: translator.states(texts), size=len, remember=1000),
        "verify": FunctionService(lambda texts: translator.translate(texts), size=len, remember=0),
    }


def run(
    attack: TranslationAttack, translator: Translator, examples: Iterable[Example], *, seed: int = 0, width: int = 64
) -> Iterator[Outcome]:
    """Yield the outcomes in the order in which the attacks end; they are the same at any width."""
    if width < 1 or seed < 0:
        raise SettingError(f"width must be 1 or more and seed 0 or more, got {width} and {seed}")
    rest, known = iter(examples), services(translator)
    while shard := list(islice(rest, SHARD)):
        yield from _shard(attack, translator, shard, seed, width, known)


def _shard(
    attack: TranslationAttack,
    translator: Translator,
    shard: list[Example],
    seed: int,
    width: int,
    known: Mapping[str, Service],
) -> Iterator[Outcome]:
    table = Words()
    began: dict[int, float] = {}

    def jobs() -> Iterator[tuple[int, Steps[SweepEnding]]]:
        for owner, example in enumerate(shard):
            began[owner] = perf_counter()
            yield owner, _guarded(attack, translator, example, table, owner, seed)

    for owner, ending in drive(jobs(), known, width=width):
        yield _outcome(shard[owner], ending, seed, perf_counter() - began.pop(owner))


def _guarded(
    attack: TranslationAttack, translator: Translator, example: Example, table: Words, owner: int, seed: int
) -> Steps[SweepEnding]:
    """Attack one sentence; its own error becomes its outcome, an error that concerns all sentences ends the run."""
    try:
        case = Case(example.id, check_text(example.fields["source"]), example.fields.get("target", ""))
        if why := translator.too_long(case.source):
            return SweepEnding("error", reason=why)
        return (yield from attack.steps(case, table, owner, seed=seed))
    except DataError as error:
        return SweepEnding("error", reason=plain(error))
    except MalapropError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug that one sentence brings out must not cost the others
        return SweepEnding("error", reason=plain(error))


def _outcome(example: Example, ending: SweepEnding, seed: int, seconds: float) -> Outcome:
    origin, final, reference = ending.origin, ending.final, example.fields.get("target", "")
    original = {"source": example.fields["source"], "translation": ending.first, "reference": reference}
    measures: dict[str, float] = {}
    adversarial = None
    if origin is not None and final is not None:
        adversarial = Side({"source": final.values()[0], "translation": ending.last, "reference": reference})
        if reference:
            measures["bleu_before"] = bleu.sentence(ending.first, reference)
            measures["bleu_after"] = bleu.sentence(ending.last, reference)
        if ending.distance is not None:
            measures["state_distance"] = ending.distance
    return Outcome(
        id=example.id,
        status=ending.status,
        label=example.label,
        original=Side(original),
        adversarial=adversarial,
        edits=edits_between(origin, final) if origin is not None and final is not None else (),
        queries=ending.spent,
        changed_share=len(final.changed(origin)) / max(1, origin.slots) if origin and final else 0.0,
        seconds=seconds,
        seed=seed,
        reason=ending.reason or None,
        measures=measures,
    )


def describe_sentences(
    translator: Translator, data: SizedDataset, *, name: str, parts: Mapping[str, Any], seed: int, width: int
) -> Run:
    """Return the description of a run, as it is written beside the outcomes."""
    return Run(
        recipe=name,
        victim=translator.name,
        data=data.name,
        split=data.part,
        n=len(data),
        seed=seed,
        width=width,
        parts={"task": TASK, **parts},
        fingerprints={"victim": translator.fingerprint, "data": data.fingerprint},
    )


def error_sentence(example: Example, seed: int, why: str) -> Outcome:
    """Return the outcome of a sentence that could not be attacked."""
    return _outcome(example, SweepEnding("error", reason=why), seed, 0.0)


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
        reasons=tuple(Counter((o.reason or "")[:200] for o in outcomes if o.status == "error").most_common(3)),
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
