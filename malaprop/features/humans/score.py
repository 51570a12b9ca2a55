"""malaprop humans score: compute all figures of a study from its answers, and the progress of a running one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from malaprop.core.errors import RecordError, SettingError
from malaprop.features.humans.agreement import alpha, alpha_interval, difference, product, sign_test
from malaprop.features.humans.items import ORIGINAL, RatedItem
from malaprop.features.humans.questions import Question
from malaprop.features.humans.record import (
    Accuracy,
    ChosenSystem,
    HumanEstimate,
    HumansRecord,
    LeftOut,
    PairwiseChoices,
    RatedSystem,
    RaterAgreement,
    Ratings,
    SystemDuel,
    Validity,
)
from malaprop.features.humans.study import RaterAnswer, RatingStudy
from malaprop.frame.records import Rate

PASS_MARK = 0.7
HIGH = 4  # the lowest of five ratings that counts as natural, or as keeping the meaning


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """An item with the answers that count, by rater."""

    item: RatedItem
    answers: dict[int, str]

    @property
    def majority(self) -> str | None:
        """Return the most frequent answer; None in a tie."""
        ranked = Counter(self.answers.values()).most_common(2)
        return ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else None

    @property
    def system(self) -> int:
        (number,) = self.item.systems
        return number

    @property
    def right(self) -> int:
        """Return the number of raters who chose the true label."""
        return sum(value == str(self.item.label) for value in self.answers.values())


def attention(study: RatingStudy, answers: Iterable[RaterAnswer]) -> dict[int, tuple[int, int]]:
    """Return for each rater how many attention checks were answered correctly, and how many were answered."""
    seen: dict[int, tuple[int, int]] = {}
    for answer in answers:
        expected = study.items[answer.item].expected
        right, total = seen.get(answer.rater, (0, 0))
        if expected is None:
            seen[answer.rater] = (right, total)
        else:
            seen[answer.rater] = (right + (answer.value == expected), total + 1)
    return seen


def has_failed(right: int, total: int, pass_mark: float) -> bool:
    """Return whether a rater's share of correct checks is below the pass mark; False without checks."""
    return total > 0 and right / total < pass_mark


def judge_items(
    study: RatingStudy, answers: Iterable[RaterAnswer], out: frozenset[int] = frozenset()
) -> list[JudgedItem]:
    """Return the answered items that are not checks, without the answers of the excluded raters `out`."""
    found: dict[int, dict[int, str]] = {}
    for answer in answers:
        if answer.rater not in out and study.items[answer.item].expected is None:
            found.setdefault(answer.item, {})[answer.rater] = answer.value
    return [JudgedItem(study.items[i], found[i]) for i in sorted(found)]


def score(study: RatingStudy, *, pass_mark: float = PASS_MARK) -> HumansRecord:
    """Compute all figures of a study."""
    if not 0 <= pass_mark <= 1:
        raise SettingError(f"--pass-mark must be from 0 to 1, got {pass_mark}")
    facts, answers, raters = study.facts, study.answers(), study.raters()
    if not answers:
        raise RecordError(f"{study.path} holds no answers yet; serve it, or bring answers in with humans import")
    seen = attention(study, answers)
    out = frozenset(rater for rater, checks in seen.items() if has_failed(*checks, pass_mark))
    found = judge_items(study, answers, out)
    by = {q.name: [j for j in found if j.item.question == q.name] for q in facts.questions}
    names = [system.name for system in facts.systems]
    accuracy = _accuracies(by.get("label", []), names)
    return HumansRecord(
        study=facts.id,
        created=facts.created,
        seed=facts.seed,
        ask=facts.ask,
        systems=tuple(names),
        pass_mark=pass_mark,
        invited=len(raters),
        answered=len(seen),
        left_out=tuple(LeftOut(rater=raters[r].name, right=seen[r][0], checks=seen[r][1]) for r in sorted(out)),
        counted=sum(len(j.answers) for j in found),
        expected=facts.each * sum(item.expected is None for item in study.items.values()),
        accuracy=accuracy,
        readability=_contest(by.get("readability", []), names),
        similarity=_contest(by.get("similarity", []), names),
        more_natural=_contest(by.get("more-natural", []), names),
        images=study.images,
        naturalness=_ratings(by.get("naturalness", []), names),
        meaning=_ratings(by.get("meaning", []), names),
        agreement=tuple(a for q in facts.questions for a in agreement(q, by[q.name], facts.seed)),
        validity=_validities(by.get("label", []), study),
    )


def agreement(question: Question, found: Sequence[JudgedItem], seed: int) -> tuple[RaterAgreement, ...]:
    """Return alpha at the question's level, and for a scale at the interval level too; nothing without answers."""
    number: Callable[[str], float] = (lambda v: float(v == "b")) if question.shape == "pair" else float
    units = [[number(value) for value in j.answers.values()] for j in found]
    units = [answers for answers in units if len(answers) > 1]
    if not found:
        return ()
    out = []
    for level in (question.level, "interval") if question.shape == "scale" else (question.level,):
        ends = alpha_interval(units, level, seed)
        out.append(
            RaterAgreement(
                question=question.name,
                level=level,
                alpha=alpha(units, level),
                low=ends[0] if ends else None,
                high=ends[1] if ends else None,
                items=len(units),
                answers=sum(map(len, units)),
            )
        )
    return tuple(out)


def _name(system: int, names: Sequence[str]) -> str:
    """Return a system's name, or that of the originals."""
    return "original" if system == ORIGINAL else names[system]


def _group(found: Iterable[JudgedItem]) -> dict[int, list[JudgedItem]]:
    """Group items by system, the originals first."""
    groups: dict[int, list[JudgedItem]] = {}
    for j in found:
        groups.setdefault(j.system, []).append(j)
    return dict(sorted(groups.items()))


def _rate(found: Sequence[JudgedItem], hits: Callable[[JudgedItem], int]) -> Rate:
    """Return a share of answers with an interval over texts, as answers about one text are not independent."""
    return Rate(sum(map(hits, found)), sum(len(j.answers) for j in found), units=len(found) or None)


def _majority(found: Sequence[JudgedItem]) -> Rate:
    return Rate(sum(j.majority == str(j.item.label) for j in found), len(found))


def _median(found: Sequence[JudgedItem]) -> float | None:
    """Return the median of the raters' own accuracies."""
    own: dict[int, list[bool]] = {}
    for j in found:
        for rater, value in j.answers.items():
            own.setdefault(rater, []).append(value == str(j.item.label))
    return median(fmean(right) for right in own.values()) if own else None


def _estimate(found: tuple[float, float, float] | None) -> HumanEstimate | None:
    return None if found is None else HumanEstimate(value=found[0], low=found[1], high=found[2])


def _accuracies(found: Sequence[JudgedItem], names: Sequence[str]) -> tuple[Accuracy, ...]:
    groups = _group(found)
    clean = _rate(groups.get(ORIGINAL, []), lambda j: j.right)
    middle = _median(groups.get(ORIGINAL, []))
    out = []
    for system, own in groups.items():
        rate, own_middle = _rate(own, lambda j: j.right), _median(own)
        changed = system != ORIGINAL
        out.append(
            Accuracy(
                name=_name(system, names),
                answers=rate,
                majority=_majority(own),
                median=own_middle,
                drop=_estimate(difference(clean, rate)) if changed else None,
                median_drop=middle - own_middle if changed and middle is not None and own_middle is not None else None,
            )
        )
    return tuple(out)


def _contest(found: Sequence[JudgedItem], names: Sequence[str]) -> PairwiseChoices | None:
    if not found:
        return None
    groups: dict[tuple[int, int], list[JudgedItem]] = {}
    for j in found:
        first, second = j.item.systems
        groups.setdefault((first, second), []).append(j)
    votes = {}
    for system in sorted({system for pair in groups for system in pair}):
        own = [j for j in found if system in j.item.systems]
        votes[system] = _rate(own, lambda j, s=system: _votes(j, s))  # type: ignore[misc]
    most = max(rate.value for rate in votes.values())
    systems = tuple(
        ChosenSystem(name=names[s], votes=r, relative=r.value / most if most else 0.0) for s, r in votes.items()
    )
    duels = (_duel(names[a], names[b], [j.majority for j in own]) for (a, b), own in sorted(groups.items()))
    return PairwiseChoices(systems=systems, duels=tuple(duels))


def _votes(found: JudgedItem, system: int) -> int:
    side = "ab"[found.item.systems.index(system)]
    return sum(value == side for value in found.answers.values())


def _duel(a: str, b: str, ahead: Sequence[str | None]) -> SystemDuel:
    counts = Counter(ahead)
    p = sign_test(counts["a"], counts["b"])
    return SystemDuel(a=a, b=b, ahead_a=counts["a"], ahead_b=counts["b"], ties=counts[None], p=p)


def _ratings(found: Sequence[JudgedItem], names: Sequence[str]) -> Ratings | None:
    if not found:
        return None
    groups = _group(found)
    systems, means = [], dict[int, dict[str, float]]()
    for system, own in groups.items():
        means[system] = {j.item.source: fmean(map(int, j.answers.values())) for j in own}
        every = fmean(int(value) for j in own for value in j.answers.values())
        high = _rate(own, lambda j: sum(int(value) >= HIGH for value in j.answers.values()))
        systems.append(RatedSystem(name=_name(system, names), high=high, mean=every))
    duels = []
    for a, b in combinations(groups, 2):
        both = sorted(means[a].keys() & means[b].keys())
        ahead = [_ahead(means[a][source], means[b][source]) for source in both]
        duels.append(_duel(_name(a, names), _name(b, names), ahead))
    return Ratings(systems=tuple(systems), duels=tuple(duels))


def _ahead(a: float, b: float) -> str | None:
    return None if abs(a - b) < 1e-9 else "a" if a > b else "b"


def _validities(found: Sequence[JudgedItem], study: RatingStudy) -> tuple[Validity, ...]:
    """Multiply each system's success rate by the share of judged successes that keep their label by majority vote."""
    out = []
    for system, own in _group(found).items():
        if system != ORIGINAL:
            facts, kept = study.facts.systems[system], _majority(own)
            success = Rate(facts.successes, facts.attacked)
            adjusted = _estimate(product(success, kept))
            out.append(Validity(name=facts.name, success=success, kept=kept, adjusted=adjusted))
    return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterProgress:
    """One rater's answers so far, and how many attention checks of them are correct."""

    name: str
    answered: int
    total: int
    right: int
    checks: int
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The answers so far by rater, and agreement by question; without a hint of which system leads."""

    raters: tuple[RaterProgress, ...]
    agreement: tuple[RaterAgreement, ...]
    answered: int
    total: int


def progress(study: RatingStudy) -> Progress:
    """Return the progress of a study; raters who fail the checks so far are left out of the agreement."""
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
