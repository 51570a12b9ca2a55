"""Runs an attack on a translation model over many sentences side by side, and describes the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from time import perf_counter
from typing import Any, Protocol

from malaprop.core.ask import Steps
from malaprop.core.errors import DataError, MalapropError, SettingError, plain
from malaprop.core.example import Example
from malaprop.core.text import Words, check_text
from malaprop.data.base import Dataset
from malaprop.engine.drive import drive
from malaprop.engine.service import FunctionService, Service
from malaprop.features.translation.attacks.sweep import Case, SweepEnding
from malaprop.features.translation.models.translator import Translator
from malaprop.frame.records.outcome import Outcome, Side, edits_between
from malaprop.frame.records.run import TASK, Run
from malaprop.frame.runs.folder import SizedDataset
from malaprop.models import bleu

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
