"""malaprop humans export: make a study file from the records of attack runs."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.features.humans.items import ORIGINAL, RatedItem, Turn, assign, count_raters, draw, make_checks
from malaprop.features.humans.questions import ASKED, NATURAL, Question, choose_questions
from malaprop.features.humans.sources import Sources, gather
from malaprop.features.humans.study import Facts, Rater, create, now
from malaprop.frame.web import new_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The design of a study: how many items a question has, raters an item, and checks a question for each rater."""

    ask: tuple[str, ...] | None = None
    items: int = 40
    raters: int = 3
    per_rater: int | None = None
    checks: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("items", 1), ("raters", 1), ("checks", 0), ("seed", 0)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} must be at least {least}, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSummary:
    """The size of an exported study: its raters, items by question and system, and texts left out as too long."""

    raters: tuple[Rater, ...]
    turns: tuple[int, ...]
    counts: dict[str, dict[str, int]]
    checks: int
    long: int
    ask: tuple[str, ...]


def export(folders: Sequence[Path], path: Path, design: Design) -> ExportSummary:
    """Write a study of all runs at or below the folders to `path`."""
    found = gather(folders)
    questions = choose_questions(design.ask) if design.ask is not None else _choose_usual(found)
    items = _items(found, questions, design)
    judged = sum(item.expected is None for item in items)
    many = count_raters(judged, design.raters, design.per_rater)
    lists = assign(items, design.raters, many, design.seed)
    # Items are numbered in a shuffled order, so that the number does not give the recipe away.
    numbers = [int(n) + 1 for n in generator(design.seed, "numbers").permutation(len(items))]
    raters = tuple(Rater(n, f"r{n}", new_token()) for n in range(1, many + 1))
    facts = Facts(
        id=secrets.token_hex(6),
        created=now(),
        seed=design.seed,
        each=design.raters,
        labels=found.labels,
        systems=found.systems,
        ask=tuple(q.name for q in questions),
        admin=new_token(),
    )
    turns = [[Turn(numbers[t.item], t.flip) for t in own] for own in lists]
    create(path, facts, dict(zip(numbers, items, strict=True)), raters, turns)
    return ExportSummary(
        raters=raters,
        turns=tuple(map(len, turns)),
        counts=_counts(found, items),
        checks=len(items) - judged,
        long=found.long,
        ask=facts.ask,
    )


def _choose_usual(found: Sources) -> tuple[Question, ...]:
    """Return the default questions; without pairs where no text has two different changed forms."""
    usual = choose_questions(NATURAL if found.natural else ASKED)
    compared = any(len({*map(str, source.broken.values())}) > 1 for source in found.sources)
    return usual if compared else tuple(q for q in usual if q.shape != "pair")


def _items(found: Sources, questions: Sequence[Question], design: Design) -> list[RatedItem]:
    out: list[RatedItem] = []
    for question in questions:
        out += draw(question, found, design.items, design.seed)
        out += make_checks(question, found.sources, found.labels, design.checks, design.seed)
    return [replace(item, image=True) for item in out] if found.images else out


def _counts(found: Sources, items: Sequence[RatedItem]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for item in items:
        if item.expected is None:
            names = ["original" if s == ORIGINAL else found.systems[s].name for s in item.systems]
            counts.setdefault(item.question, Counter())[" vs ".join(names)] += 1
    return {question: dict(counter) for question, counter in counts.items()}
