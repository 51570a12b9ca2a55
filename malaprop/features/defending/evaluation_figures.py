"""Figures of the defence test: outcomes and labels become rates, gains, F1, a verdict and the row of a defence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter, process_time

import numpy as np

from malaprop.core.example import Example
from malaprop.core.pool import Pool
from malaprop.core.score import winners
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord
from malaprop.features.defending.certify import Certifier
from malaprop.features.defending.evaluation_record import AttackedDefence, Checked, DefenceAttacked, DefenceRow
from malaprop.features.defending.smooth import Noise, answer_by_vote, cut_text
from malaprop.frame.records.intervals import Gain
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate, Summary
from malaprop.frame.runs.defended import Counters, Defended
from malaprop.frame.runs.pregenerated import PregeneratedExamples
from malaprop.frame.runs.wrap import draws_at_random

_TIMED = 64  # texts whose answers are timed
_REPEATS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFindings:
    """The outcomes of one attack on a defence (`active`, `adaptive`) and on the undefended victim (`plain`).

    `transferred` says by id, for the successes on the undefended victim alone, whether the defence labels the
    adversarial text rightly; None: there is no defence.
    """

    attack: str
    plain: Sequence[Outcome]
    active: Sequence[Outcome]
    adaptive: Sequence[Outcome] | None = (
        None  # None: it draws nothing, so the active attack sees all of it, or it was left out
    )
    transferred: Mapping[str, bool] | None = None

    @property
    def carried(self) -> dict[str, bool]:
        """Return by id whether a text is right as it is and after the attack on the undefended victim."""
        made = self.transferred or {}
        known = [outcome for outcome in self.active if outcome.status != "error"]
        return {one.id: one.status in ("failed", "success") and made.get(one.id, True) for one in known}

    def describe(self, draws: int, fresh: int) -> AttackedDefence:
        """Return the summary of this attack for the record."""
        carried = list(self.carried.values())
        return AttackedDefence(
            attack=self.attack,
            active=add_outcomes(self.active),
            adaptive=None if self.adaptive is None else add_outcomes(self.adaptive, draws, fresh),
            transferred=None if self.transferred is None else Rate(sum(carried), len(carried)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceFindings:
    """The results of all tests of one defence."""

    name: str
    about: str
    passes: float
    attacks: Sequence[AttackFindings]
    draws: int
    fresh: int
    premade: PregeneratedExamples
    answers: Sequence[int]  # labels of the pre-generated adversarial examples
    certified: CertifiedRecord | None = None
    checked: Checked | None = None

    def add_up(self) -> DefenceRow:
        """Return the row of the table."""
        first, *others = (one.describe(self.draws, self.fresh) for one in self.attacks)
        (before, under, worst), active = self._compare(), self.attacks[0].active
        gain, kept = Gain.of(before, under), Gain.of(before, worst)
        made = [example.label for example in self.premade.examples]
        steady = not draws_at_random(self.name)
        return DefenceRow(
            name=self.name,
            about=self.about,
            clean=Summary.of(active).clean,
            premade=self.premade.count_right(self.answers),
            active=first.active,
            adaptive=first.adaptive,
            worst=Rate(sum(worst), len(worst)),
            gain=gain,
            kept=kept,
            cost=None,
            passes=self.passes,
            verdict=verdict(
                self.name,
                gain,
                kept,
                first.adaptive is not None,
                known=self.draws > 0 or steady,
            ),
            certified=self.certified,
            checked=self.checked,
            f1={**f1_of_run(active), "premade": f1_score(made, list(self.answers))},
            transferred=first.transferred,
            others=tuple(others),
            steady=steady,
        )

    def _compare(self) -> tuple[list[bool], list[bool], list[bool]]:
        """Return [text] whether it is right under all attacks: undefended, defended, and with adaptive ones too."""
        plain, active, every = list[dict[str, bool]](), list[dict[str, bool]](), list[dict[str, bool]]()
        for one in self.attacks:
            plain.append(robust(one.plain))
            active.append(robust(one.active))
            every += [active[-1], one.carried]
            every += [] if one.adaptive is None else [robust(one.adaptive)]
        common = sorted(set.intersection(*(set(found) for found in (*plain, *every))))
        before, under, worst = ([all(found[id] for found in some) for id in common] for some in (plain, active, every))
        return before, under, worst


def check(
    certifier: Certifier, victim: Victim, noise: Noise, lines: Sequence[Certificate], outcomes: Sequence[Outcome]
) -> Checked:
    """Vote on every attacked text inside the certificate of its original, with as many copies as certified that."""
    known = {line.id: line for line in lines if line.radius is not None}
    inside: list[tuple[Outcome, Text, int]] = []
    table = Words()
    for outcome in outcomes:
        line = known.get(outcome.id)
        if line is None or line.radius is None or outcome.adversarial is None or not line.right:
            continue
        before = cut_text(tuple(outcome.original.fields.values()), table)
        after = cut_text(tuple(outcome.adversarial.fields.values()), table)
        changes = noise.distance(before, after)
        if changes is not None and 0 < changes <= line.radius:
            inside.append((outcome, after, line.prediction))
    flipped = contradicted = 0
    for outcome, text, label in inside:
        if outcome.status != "success":
            continue
        flipped += 1
        votes = answer_by_vote(
            victim, noise, [text], certifier.samples, [certifier.seed], Counters(), exact=victim.rounding > 0
        )
        contradicted += int(winners(votes)[0]) != label
    return Checked(inside=len(inside), flipped=flipped, contradicted=contradicted)


def add_outcomes(outcomes: Sequence[Outcome], draws: int = 0, fresh: int = 0) -> DefenceAttacked:
    """Return the summary of one attack run."""
    summary = Summary.of(outcomes)
    return DefenceAttacked(
        accuracy=summary.under_attack,
        success=summary.success,
        asked=summary.asked,
        changed=summary.changed_share,
        draws=draws,
        fresh=fresh,
        errors=summary.counts["error"],
    )


def f1_of_run(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the F1 score on clean texts and on those after the attack; texts that ended in an error are left out."""
    known = [outcome for outcome in outcomes if outcome.status != "error"]
    labels = [outcome.label for outcome in known]
    left = [o.adversarial if o.status == "success" and o.adversarial else o.original for o in known]
    answers = {"clean": [o.original.prediction for o in known], "active": [side.prediction for side in left]}
    return {name: f1_score(labels, [-1 if a is None else a for a in found]) for name, found in answers.items()}


def f1_score(labels: list[int], answers: list[int]) -> float:
    """Return macro F1: the mean over labels, where a label that never occurs among the answers has 0."""
    found = []
    for label in sorted({*labels, *answers}):
        hits = sum(label == a == t for t, a in zip(labels, answers, strict=True))
        found.append(2 * hits / (labels.count(label) + answers.count(label)))
    return round(sum(found) / len(found), 6) if found else float("nan")


def take_worst(runs: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """Return for each text the outcome that is worst for the victim, among several attacks."""
    found: dict[str, Outcome] = {}
    for outcome in (one for run in runs for one in run):
        before = found.get(outcome.id)
        if before is None or (outcome.status == "success" and before.status != "success") or before.status == "error":
            found[outcome.id] = outcome
    return list(found.values())


def robust(outcomes: Sequence[Outcome]) -> dict[str, bool]:
    """Return by id whether a text is right after the attack; texts that ended in an error are left out."""
    return {outcome.id: outcome.status == "failed" for outcome in outcomes if outcome.status != "error"}


def verdict(name: str, gain: Gain, kept: Gain, random: bool, *, known: bool = True) -> str:
    """Return the verdict on a defence in words; not `known`: no attack that knows the defence was run."""
    if name == "none":
        return "no defence"
    if gain.low <= 0:
        worse = "; it is worse than none" if gain.high < 0 else ""
        return f"no gain under attack that these texts can show: {gain}{worse}"
    if not random and kept.value == gain.value:
        seen = "it draws nothing, so the attack sees all of it" if known else "no attack that knows it was made"
        return f"gains {gain} under attack; {seen}"
    when = "when the attack knows it or comes from the undefended victim" if random else (
        "under texts that broke the undefended victim"
    )  # fmt: skip
    if kept.low <= 0:
        return f"its gain of {gain} under attack vanishes {when}: {kept}"
    part = kept.value / gain.value
    much = "keeps its gain" if part > 0.9 else f"keeps {part:.0%} of its gain"
    return f"{much} {when}: {kept}, after {gain}"


def count_passes(victim: Victim) -> float:
    """Return the forward passes of the innermost model for one answer of a defence, the mean over its texts so far."""
    passes = 1.0
    while isinstance(victim, Defended) and victim.counters.texts:
        passes *= victim.counters.inner / victim.counters.texts
        victim = victim.victim
    return round(passes, 2)


def _computes_here(victim: Victim) -> bool:
    """Return whether a model of ours answers on this CPU; its processor time is then independent of other processes."""
    from malaprop.models.victims.tokens import TokenVictim

    while isinstance(victim, Defended):
        victim = victim.victim
    return isinstance(victim, TokenVictim) and victim.device == "cpu"


def best_time(victim: Victim, examples: Iterable[Example]) -> float:
    """Return the seconds for some of these texts in one batch on the fast path, the least of a few tries."""
    texts = [tuple(example.fields.values()) for example in islice(examples, _TIMED)]
    table = Words()
    names = [str(number) for number in range(len(texts[0]))]
    groups = [
        Variants.itself(Text.of(dict(zip(names, fields, strict=True)), table, owner))
        for owner, fields in enumerate(texts)
    ]
    few, pool, best = Pool(groups[:2]), Pool(groups), float("inf")
    victim.finish(victim.begin(few, np.arange(few.size)))  # so that loading and caching are not timed
    clock = process_time if _computes_here(victim) else perf_counter
    for _ in range(_REPEATS):
        began = clock()
        victim.finish(victim.begin(pool, np.arange(pool.size)))
        best = min(best, clock() - began)
        if best > 2:
            break
    return best
