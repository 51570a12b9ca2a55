"""How far a study is, for the one who runs it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from malaprop.features.humans.record import RaterAgreement
from malaprop.features.humans.score import PASS_MARK, agreement, attention, has_failed, judge_items
from malaprop.features.humans.study import RatingStudy


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterProgress:
    name: str
    answered: int
    total: int
    right: int
    checks: int
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Answers so far, by rater and by question, and how far raters agree; never which system leads."""

    raters: tuple[RaterProgress, ...]
    agreement: tuple[RaterAgreement, ...]
    answered: int
    total: int


def progress(study: RatingStudy) -> Progress:
    """Raters who fail the checks so far are left out of the agreement, as they will be of the scores."""
    answers = study.answers()
    given, seen = Counter(answer.rater for answer in answers), attention(study, answers)
    raters = []
    for id, rater in study.raters().items():
        right, checks = seen.get(id, (0, 0))
        total = len(study.turns.get(id, ())) or given[id]
        failing = has_failed(right, checks, PASS_MARK)
        raters.append(
            RaterProgress(name=rater.name, answered=given[id], total=total, right=right, checks=checks, failing=failing)
        )
    out = frozenset(rater for rater, checks in seen.items() if has_failed(*checks, PASS_MARK))
    found = judge_items(study, answers, out)
    return Progress(
        raters=tuple(raters),
        agreement=tuple(
            a
            for q in study.facts.questions
            for a in agreement(q, [j for j in found if j.item.question == q.name], study.facts.seed)
        ),
        answered=len(answers),
        total=sum(rater.total for rater in raters),
    )
