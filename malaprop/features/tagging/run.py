"""Runs an attack on a tagger over many sentences side by side, and computes the record from such runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import cast

import numpy as np

from malaprop.attacks.attack import Attack, Ending
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.core.victim import Victim
from malaprop.engine.drive import drive
from malaprop.engine.service import FunctionService, Scoring, Service
from malaprop.features.tagging.entities import classes_of, count_entities, f1_lost, f1_of, f1_with_interval
from malaprop.features.tagging.record import TaggedExample, TaggedToken, TaggingClass, TaggingRecord, TaggingRun
from malaprop.features.tagging.rules import Place, keep_aligned
from malaprop.features.tagging.taggers import Mapped
from malaprop.features.tagging.victim import PLACEHOLDER, ConfirmingService, TaggerVictim, TagGoal, Target
from malaprop.frame.records.outcome import Outcome, Side
from malaprop.frame.records.run import Run, is_tagging
from malaprop.frame.records.store import find_runs, read_outcomes
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.local import catch_example_errors, outcome
from malaprop.frame.runs.services import shared_on
from malaprop.frame.study.shared_tasks import describe_errors

SHARD = 1024  # sentences that share one table of words
_PLAIN = "plain tags"  # the service that tags a sentence alone


@dataclass(frozen=True, slots=True, kw_only=True)
class TagAttacker:
    """An attack on a tagger: the recipe, the goal, and what may become of the words of entities."""

    attack: Attack
    goal: TagGoal = field(default_factory=TagGoal)
    entities: str = "keep"
    lexicon: Mapping[Place, Sequence[str]]

    def steps(self, victim: TaggerVictim, example: Example, table: Words, owner: int, seed: int) -> Steps[Ending]:
        """Attack one sentence; the tags of the original and of what the attack ends with are asked alone."""
        tags = example.fields["tags"].split(" ")
        only = Example(example.id, {"tokens": example.fields["tokens"]}, 0)
        origin = Text.of(only.fields, table, owner)
        try:
            (first,) = yield Ask(_PLAIN, [(origin, len(tags))])
            target = Target(self.goal, victim.tagger.tags, tags, first)
            if target.reason:
                return Ending("skipped", origin, None, None, None, 1, target.reason)
            victim.targets[owner] = target
            made = keep_aligned(self.attack, origin, tags, self.entities, self.lexicon)
            ending = yield from made.steps(
                only, table, owner, seed=seed, unknown=PLACEHOLDER, rounding=victim.tagger.rounding
            )
            if ending.status == "failed" and ending.final is not None:
                yield Ask(_PLAIN, [(ending.final, len(tags))])
        except ServiceFailed as failure:
            return Ending("error", origin, None, None, None, 1, str(failure))
        return ending


def run(
    attacker: TagAttacker,
    tagger: Mapped,
    examples: Iterable[Example],
    *,
    seed: int = 0,
    width: int = 64,
    device: str = "cpu",
) -> Iterator[Outcome]:
    """Yield the outcomes in the order in which the attacks end; they are the same at any width.

    `device` is where the judge of meaning and the encoders compute.
    """
    if width < 1 or seed < 0:
        raise SettingError(f"width must be 1 or more and seed 0 or more, got {width} and {seed}")
    rest = iter(examples)
    while shard := list(islice(rest, SHARD)):
        victim = TaggerVictim(tagger)
        yield from _shard(attacker, victim, services(victim, device), shard, seed, width)


def services(victim: TaggerVictim, device: str = "cpu") -> dict[str, Service]:
    """Return the services of an attack on a tagger; it offers scores, and no gradients or attention."""
    made: dict[str, Service] = shared_on(device)
    made["victim"] = Scoring(cast(Victim, victim))  # which reads `classes`, `begin` and `finish` alone
    made["verify"] = ConfirmingService(victim)
    made[_PLAIN] = FunctionService(
        lambda asked: [victim.tag(text, count) for text, count in asked], key=lambda one: id(one[0]), remember=0
    )
    return made


def _shard(
    attacker: TagAttacker, victim: TaggerVictim, known: dict[str, Service], shard: list[Example], seed: int, width: int
) -> Iterator[Outcome]:
    table = Words()
    began: dict[int, float] = {}

    def jobs() -> Iterator[tuple[int, Steps[Ending]]]:
        for owner, example in enumerate(shard):
            began[owner] = perf_counter()
            yield owner, catch_example_errors(attacker.steps(victim, example, table, owner, seed))

    scoring = known["victim"]
    assert isinstance(scoring, Scoring)
    for owner, ending in drive(jobs(), known, width=width):
        made = outcome(shard[owner], ending, scoring.tally(owner), seed, perf_counter() - began.pop(owner))
        yield _with_tags(made, victim, ending, shard[owner])
        victim.forget(owner)


def _with_tags(made: Outcome, victim: TaggerVictim, ending: Ending, example: Example) -> Outcome:
    """Return the outcome with sides of tokens, true tags and predicted tags."""
    first, last = victim.tags_of(ending.origin), victim.tags_of(ending.final)
    tags = example.fields["tags"]
    original = Side({**example.fields, "predicted": " ".join(first)})
    if ending.status == "error" or ending.final is None:
        return replace(made, original=original, adversarial=None, edits=())
    after = Side({"tokens": ending.final.values()[0], "tags": tags, "predicted": " ".join(last)})
    before, now = (count_entities(tags.split(" "), found) for found in (first, last))
    measures = {**made.measures, "entities_found": float(before[0]), "entities_found_after": float(now[0])}
    return replace(made, original=original, adversarial=after, measures=measures)


def error_sentence(example: Example, seed: int, why: str) -> Outcome:
    """Return the outcome of a sentence that could not be attacked."""
    return Outcome(id=example.id, status="error", label=0, original=Side(dict(example.fields)), seed=seed, reason=why)


# --- the record


def gather(folders: Iterable[Path], examples: int) -> TaggingRecord:
    """Return the record of every run on a tagger at or below the folders, with a few successes of each run."""
    found = [(described, at) for at in find_runs(folders) if is_tagging(described := Run.read(at))]
    read = [(described, read_outcomes(at)) for described, at in found]
    return TaggingRecord(
        runs=tuple(summarize_run(described, outcomes) for described, outcomes in read),
        examples=tuple(one for described, outcomes in read for one in show(described, outcomes, examples)),
    )


def summarize_run(described: Run, outcomes: Sequence[Outcome]) -> TaggingRun:
    """Compute the figures of one run."""
    outcomes = sorted(outcomes, key=lambda one: one.id)  # their order on disk is that of the ends of the attacks
    tried = [one for one in outcomes if one.status in ("success", "failed")]
    won = [one for one in tried if one.status == "success"]
    asked = [one for one in outcomes if one.original.fields.get("predicted")]
    triples = [(_tags(one.original, "tags"), _tags(one.original, "predicted"), _after(one)) for one in asked]
    before = np.asarray([count_entities(gold, first) for gold, first, _ in triples], np.float64).reshape(-1, 3)
    after = np.asarray([count_entities(gold, last) for gold, _, last in triples], np.float64).reshape(-1, 3)
    seed, some = described.seed, len(asked) > 0
    return TaggingRun(
        attack=described.recipe,
        goal=str(described.parts.get("goal", "")),
        entities=str(described.parts.get("entities", "")),
        validity=str(described.parts.get("validity", "paper")),
        victim=described.victim,
        data=described.data,
        sentences=len(asked),
        success=Rate(len(won), len(tried)),
        kept=Rate(sum(one.broken for one in won), len(tried)) if any(one.meaning is not None for one in won) else None,
        skipped=sum(one.status == "skipped" for one in outcomes),
        errors=sum(one.status == "error" for one in outcomes),
        failure=describe_errors(outcomes, "sentences"),
        clean=f1_with_interval(before, seed) if some else None,
        attacked=f1_with_interval(after, seed) if some else None,
        lost=f1_lost(before, after, seed) if some else None,
        classes=tuple(_of_class(kind, triples) for kind in classes_of(gold for gold, _, _ in triples)),
        changed_words=_mean([len(one.edits) for one in won]),
        asked=_mean([one.queries.asked for one in tried]),
        seconds=round(sum(one.seconds for one in outcomes), 3),
    )


def _tags(side: Side, name: str) -> list[str]:
    return side.fields[name].split(" ")


def _after(one: Outcome) -> list[str]:
    """Return the predicted tags under attack: of the adversarial sentence, or of the strongest attempt.

    An attempt that the judge of meaning refuses is none.
    """
    refused = one.status == "failed" and one.meaning is not None
    side = one.adversarial if one.adversarial and one.adversarial.fields.get("predicted") else one.original
    side = one.original if refused else side
    return _tags(side, "predicted")


def _of_class(kind: str, triples: Sequence[tuple[list[str], list[str], list[str]]]) -> TaggingClass:
    before = np.asarray([count_entities(gold, first, kind) for gold, first, _ in triples], np.float64).sum(0)
    after = np.asarray([count_entities(gold, last, kind) for gold, _, last in triples], np.float64).sum(0)
    there, clean, attacked = int(before[2]), round(f1_of(before), 4), round(f1_of(after), 4)
    return TaggingClass(name=kind, there=there, clean=clean, attacked=attacked)


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 6) if values else None


def show(described: Run, outcomes: Sequence[Outcome], most: int) -> Iterator[TaggedExample]:
    """Yield the first successes by id, token by token."""
    won = sorted((one for one in outcomes if one.status == "success" and one.adversarial), key=lambda one: one.id)
    for one in won[:most]:
        assert one.adversarial is not None
        sides = (one.original.fields["tokens"], one.adversarial.fields["tokens"])
        columns = zip(
            *(tokens.split(" ") for tokens in sides),
            _tags(one.original, "tags"), _tags(one.original, "predicted"), _after(one),
            strict=True,
        )  # fmt: skip
        rows = tuple(TaggedToken(*cells) for cells in columns)
        yield TaggedExample(attack=described.recipe, victim=described.victim, id=one.id, tokens=rows)
