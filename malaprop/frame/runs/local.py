"""Attack examples in this process and yield their outcomes as the attacks end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from time import perf_counter

import numpy as np

from malaprop.attacks.attack import Attack, Ending
from malaprop.attacks.trial import ask_first
from malaprop.core.ask import ServiceFailed, Steps
from malaprop.core.capability import check
from malaprop.core.errors import DataError, MalapropError, SettingError, TextError, plain, tells_of_memory
from malaprop.core.example import Example
from malaprop.core.score import Floats, winner
from malaprop.core.text import Text, Words
from malaprop.core.victim import NO_LABEL, REJECTED, Victim, receive
from malaprop.engine.drive import drive
from malaprop.engine.service import Scoring, Service, Tally
from malaprop.frame.records.outcome import NAMES_NO_LABEL, REJECTS, Outcome, Queries, Side, edits_between
from malaprop.frame.runs.services import services as make_services

NOTHING: Mapping[str, Sequence[float]] = {}
CLEAN = 512  # unchanged texts in one batch of `ask_clean`, whatever the width of the attack
SHARD = 2048  # examples that share one table of words, dropped with them: character attacks make ever new words


def run(
    attack: Attack,
    victim: Victim,
    examples: Iterable[Example],
    *,
    seed: int = 0,
    width: int = 256,
    lanes: int | None = None,
    services: Mapping[str, Service] | None = None,
    known: Mapping[str, Sequence[float]] = NOTHING,
) -> Iterator[Outcome]:
    """Yield outcomes in the order in which the attacks end; they are the same at any width.

    An example that runs out of memory beside the others is attacked once more, alone, before it ends in an error.
    `lanes` is the number of groups of attacks that take turns, two to keep a GPU busy while the other half advances;
    None takes the victim's own number. `known` holds the victim's answers for unchanged examples by id, which are not
    asked again.
    """
    if width < 1:
        raise SettingError(f"width must be at least 1, got {width}")
    if seed < 0:
        raise SettingError(f"seed must be 0 or more, got {seed}")
    check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
    if attack.together is not None:
        from malaprop.frame.runs.shared_change import run_together

        yield from run_together(attack, victim, list(examples), seed=seed, width=width)
        return
    attack = attack.for_victim(victim.label_names)
    found = make_services(victim) if services is None else services
    width = min(width, attack.abreast or width)
    rest = iter(examples)
    with collect_rarely():
        while shard := list(islice(rest, SHARD)):
            yield from _shard(attack, victim, shard, seed, width, lanes or victim.lanes, found, known)


def _shard(
    attack: Attack,
    victim: Victim,
    shard: list[Example],
    seed: int,
    width: int,
    lanes: int,
    services: Mapping[str, Service],
    known: Mapping[str, Sequence[float]],
) -> Iterator[Outcome]:
    table = Words()
    began: dict[int, float] = {}
    scoring = services["victim"]
    if isinstance(scoring, Scoring):
        _recall(scoring, shard, table, known)

    def jobs(owners: Iterable[int]) -> Iterator[tuple[int, Steps[Ending]]]:
        for owner in owners:
            began[owner] = perf_counter()
            yield owner, catch_example_errors(start_attack(attack, victim, shard[owner], table, owner, seed))

    def end(owner: int, ending: Ending) -> Outcome:
        tally = scoring.tally(owner) if isinstance(scoring, Scoring) else Tally()
        ended = outcome(shard[owner], ending, tally, seed, perf_counter() - began.pop(owner))
        return note_last_label(ended, victim.label_names)

    starved: list[int] = []
    for owner, ending in drive(jobs(range(len(shard))), services, width=width, lanes=lanes):
        ended = end(owner, ending)
        if ending.status == "error" and tells_of_memory(ending.reason):
            starved.append(owner)
        else:
            yield ended
    if starved:
        free_memory()
    for owner, ending in drive(jobs(starved), services, width=1):  # once more, one at a time
        yield end(owner, ending)


def _recall(scoring: Scoring, shard: Sequence[Example], table: Words, known: Mapping[str, Sequence[float]]) -> None:
    """Give the victim's service the known answers for these examples."""
    texts, rows = [], []
    for owner, example in enumerate(shard if known else ()):
        if (row := known.get(example.id)) is not None:
            texts.append(Text.of(example.fields, table, owner))
            rows.append(row)
    if texts:
        scoring.know(texts, np.asarray(rows, np.float32))


def ask_clean(
    victim: Victim, examples: Iterable[Example], *, services: Mapping[str, Service], width: int = CLEAN
) -> Iterator[tuple[Example, Floats]]:
    """Yield the victim's answers for unchanged examples, by the path that attacks use; skip examples that fail.

    Those end in an error with the reason when they are attacked.
    """
    rest = iter(examples)
    while shard := list(islice(rest, SHARD)):
        table = Words()
        asked = ((owner, _ask(victim, example, table, owner)) for owner, example in enumerate(shard))
        for owner, row in drive(asked, services, width=width):
            if row is not None:
                yield shard[owner], row


def _ask(victim: Victim, example: Example, table: Words, owner: int) -> Steps[Floats | None]:
    try:
        row, _ = yield from ask_first(Text.of(example.fields, table, owner), victim.rounding)
    except (TextError, ServiceFailed):
        return None
    return row


_RARELY = 100  # collections of young objects to one of all objects; by default 10


@contextmanager
def collect_rarely() -> Iterator[None]:
    """Go through all objects more rarely within the block, to find those that only each other hold.

    Attacks make many small objects, and each full collection would go through every object of the loaded libraries too.
    Thresholds that the caller sets meanwhile stay as they are.
    """
    young, middle, old = gc.get_threshold()
    if not young or old >= _RARELY:  # collection is off, or another run has done this already
        yield
        return
    gc.set_threshold(young, middle, _RARELY)
    try:
        yield
    finally:
        if gc.get_threshold() == (young, middle, _RARELY):
            gc.set_threshold(young, middle, old)


def free_memory() -> None:
    """Free memory that no object holds any more, on the GPU too."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def start_attack(
    attack: Attack, victim: Victim, example: Example, table: Words, owner: int, seed: int
) -> Steps[Ending]:
    """Return the steps of an attack on one example, passed through the victim if that remembers queries."""
    steps = attack.steps(example, table, owner, seed=seed, unknown=victim.unknown, rounding=victim.rounding)
    return receive(victim, steps)


_NO_ANSWER = {  # by the victim's last label: the reason to note, and the side that decides for each status
    NO_LABEL: (NAMES_NO_LABEL, {"skipped": "original", "success": "adversarial"}),
    REJECTED: (REJECTS, {"skipped": "original", "failed": "adversarial"}),
}


def note_last_label(ended: Outcome, names: Sequence[str]) -> Outcome:
    """Return the outcome with a reason if the victim named no label in its words, or rejected the text."""
    reason, sides = _NO_ANSWER.get(names[-1] if names else "", ("", {}))
    side: Side | None = getattr(ended, sides.get(ended.status, "adversarial"))
    none = ended.status in sides and side is not None and side.prediction == len(names) - 1
    return replace(ended, reason=reason) if none else ended


def catch_example_errors(steps: Steps[Ending]) -> Steps[Ending]:
    """Turn an error of one example into its ending; raise errors that concern all examples."""
    try:
        return (yield from steps)
    except DataError as error:
        return Ending("error", None, None, None, None, 0, plain(error))
    except MalapropError:
        raise
    except Exception as error:  # noqa: BLE001 - a plug-in's bug on one text must not cost the others
        return Ending("error", None, None, None, None, 0, plain(error))


def outcome(example: Example, ending: Ending, tally: Tally, seed: int, seconds: float) -> Outcome:
    """Return the outcome record of one ended attack."""
    origin, final = ending.origin, ending.final
    changed = 0.0
    if origin is not None and final is not None:
        changed = len(final.changed(origin)) / max(1, len(origin.slots_of(example.open)))
    return Outcome(
        id=example.id,
        status=ending.status,
        label=example.label,
        original=_side(dict(example.fields), ending.first),
        adversarial=None if final is None else _side(final.fields, ending.last),
        edits=edits_between(origin, final) if origin is not None and final is not None else (),
        queries=Queries(ending.asked, tally.unique, tally.forwarded + ending.checks),
        changed_share=changed,
        seconds=seconds,
        seed=seed,
        reason=ending.reason or None,
        measures=dict(ending.measures),
        by=ending.by or None,
        meaning=ending.meaning,
        flips=ending.flips,
    )


def _side(fields: dict[str, str], answer: Floats | None) -> Side:
    if answer is None:
        return Side(fields)
    label = winner(answer) if len(answer) > 1 else None  # a regression has no label
    return Side(fields, label, tuple(answer.tolist()))
