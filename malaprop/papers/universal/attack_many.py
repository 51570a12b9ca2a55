"""Attack several victims in one loop: while the device works for one, the host advances the attacks on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from time import perf_counter
from typing import Any, NamedTuple

from malaprop.attacks.attack import Attack, Ending
from malaprop.core.ask import Steps
from malaprop.core.capability import check
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import Victim
from malaprop.engine.drive import drive
from malaprop.engine.service import Scoring, Service, Tally
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.local import catch_example_errors, note_last_label, outcome, run, start_attack
from malaprop.frame.runs.services import services as make_services

STRIDE = 2048  # owners of one victim: as many examples share a table of words
_ROUTED = ("victim", "verify")


class Source(NamedTuple):
    """A victim and the examples to attack it on, with labels as the victim numbers them."""

    victim: Victim
    examples: Sequence[Example]


def attack_together(
    attack: Attack, sources: Sequence[Source], *, seed: int = 0, width: int = 256, lanes: int = 1
) -> Iterator[tuple[int, Outcome]]:
    """Yield (number of the source, outcome) as the attacks end; outcomes are the same as for each source alone.

    `width` examples of each source are in flight.
    """
    for source in sources:
        check(attack.name, attack.needs, source.victim.name, source.victim.offers)
    if len(sources) == 1 or attack.wants:  # an attack that needs more than answers runs on one victim at a time
        for number, source in enumerate(sources):
            for found in run(attack, source.victim, source.examples, seed=seed, width=width, lanes=lanes):
                yield number, found
        return
    services = [make_services(source.victim) for source in sources]
    longest = max((len(source.examples) for source in sources), default=0)
    for start in range(0, longest, STRIDE):
        part = [Source(s.victim, s.examples[start : start + STRIDE]) for s in sources]
        yield from _part(attack, part, services, seed, width, lanes)


def _part(
    attack: Attack,
    sources: Sequence[Source],
    services: Sequence[Mapping[str, Service]],
    seed: int,
    width: int,
    lanes: int,
) -> Iterator[tuple[int, Outcome]]:
    """Attack one stretch of examples of all sources; they share one table, so each word is looked up once."""
    table = Words()
    began: dict[int, float] = {}
    known = {**services[0], **{name: Router([each[name] for each in services]) for name in _ROUTED}}

    def jobs() -> Iterator[tuple[int, Steps[Ending]]]:
        rows = ([(number, i, e) for i, e in enumerate(source.examples)] for number, source in enumerate(sources))
        for number, i, example in (job for turn in zip_longest(*rows) for job in turn if job is not None):
            victim, owner = sources[number].victim, number * STRIDE + i
            began[owner] = perf_counter()
            against = attack.for_victim(victim.label_names)
            yield owner, catch_example_errors(start_attack(against, victim, example, table, owner, seed))

    for owner, ending in drive(jobs(), known, width=width * len(sources), lanes=lanes):
        number, i = divmod(owner, STRIDE)
        scoring = services[number]["victim"]
        tally = scoring.tally(owner) if isinstance(scoring, Scoring) else Tally()
        ended = outcome(sources[number].examples[i], ending, tally, seed, perf_counter() - began.pop(owner))
        yield number, note_last_label(ended, sources[number].victim.label_names)


class Router:
    """A service that passes each ask to the service of its source; all begin before any is waited for."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.services = services

    def begin(self, asks: Sequence[Sequence[Any]]) -> tuple[int, list[tuple[int, list[int], Any]]]:
        mine: dict[int, list[int]] = {}
        for place, ask in enumerate(asks):
            mine.setdefault(_owner(ask[0]) // STRIDE, []).append(place)
        begun = [(n, places, self.services[n].begin([asks[p] for p in places])) for n, places in mine.items()]
        return len(asks), begun

    def finish(self, pending: tuple[int, list[tuple[int, list[int], Any]]]) -> list[list[Any]]:
        many, begun = pending
        answers: list[list[Any]] = [[] for _ in range(many)]
        for number, places, one in begun:
            for place, answer in zip(places, self.services[number].finish(one), strict=True):
                answers[place] = answer
        return answers


def _owner(item: Variants | Guess | Text) -> int:
    if isinstance(item, Text):
        return item.owner
    return (item.variants if isinstance(item, Guess) else item).base.owner
