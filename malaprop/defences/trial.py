"""The defence test: each defence on clean texts, on made samples, under attack, and under an attack that knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.core.example import Example
from malaprop.core.pool import Pool
from malaprop.core.score import winners
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.data.base import Examples
from malaprop.data.matching import agree
from malaprop.defences.adaptive import Adaptive
from malaprop.defences.certificates import write_certificates
from malaprop.defences.certify import Certifier, noise_of
from malaprop.defences.defended import Counters, Defended
from malaprop.defences.premade import Premade, from_outcomes
from malaprop.defences.smooth import Noise, answer_by_vote, cut_text
from malaprop.defences.within import within
from malaprop.records.certified import Certificate, CertifiedRecord
from malaprop.records.defences import Checked, DefenceAttacked, DefenceRow, Gain
from malaprop.records.outcome import Outcome
from malaprop.records.summary import Rate, Summary
from malaprop.runs.folder import run_to_folder

_TIMED = 64  # texts whose answers are timed
_REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRules:
    """How defences are tested; `certifier` None: no certificates."""

    attack: Attack
    seed: int = 0
    width: int = 256
    draws: int = 4  # over which the adaptive attack takes means
    fresh: int = 9  # of which most must be fooled
    certifier: Certifier | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Bench:
    """Texts, the undefended victim's outcomes on them, and what was made of those."""

    data: Examples
    root: Path
    rules: TrialRules
    plain: list[Outcome] = field(default_factory=list)
    premade: Premade | None = None

    def start(self, plain: list[Outcome]) -> None:
        """Takes over what the victim without a defence came to."""
        self.plain = sorted(plain, key=lambda outcome: outcome.id)
        self.premade = self.premade or from_outcomes(plain, self.rules.attack.name)

    def test(self, name: str, victim: Victim, place: str) -> DefenceRow:
        """One row; the first must be the victim without a defence."""
        folder = self.root / place
        active = self._attacked(victim, folder / self.rules.attack.name)
        if not self.plain:
            self.start(active)
        adaptive = None
        if isinstance(victim, Defended):
            knowing = Adaptive(defended=victim, draws=self.rules.draws, fresh=self.rules.fresh)
            adaptive = self._attacked(knowing, folder / f"{self.rules.attack.name}-adaptive")
        certified, checked = self._certified(victim, [*active, *(adaptive or ())], folder)
        return self._row(name, victim, active, adaptive, certified, checked)

    def _attacked(self, victim: Victim, folder: Path, attack: Attack | None = None) -> list[Outcome]:
        rules = self.rules if attack is None else replace(self.rules, attack=attack)
        data = agree(self.data, victim)
        outcomes = run_to_folder(
            rules.attack, victim, data, folder, seed=rules.seed, width=rules.width, resume=folder.is_dir()
        )
        return sorted(outcomes, key=lambda outcome: outcome.id)

    def _row(
        self,
        name: str,
        victim: Victim,
        active: list[Outcome],
        adaptive: list[Outcome] | None,
        certified: CertifiedRecord | None,
        checked: Checked | None,
    ) -> DefenceRow:
        assert self.premade is not None
        left = [robust(outcomes) for outcomes in (self.plain, active, adaptive or active)]
        common = sorted(set.intersection(*(set(one) for one in left)))
        before, under, worst = ([one[i] for i in common] for one in left)
        worst = [a and b for a, b in zip(under, worst, strict=True)]
        gain, kept = Gain.of(before, under), Gain.of(before, worst)
        made = self.premade.answers(victim)
        return DefenceRow(
            name=name,
            about=victim.name,
            clean=Summary.of(active).clean,
            premade=self.premade.count_right(made),
            active=add_outcomes(active),
            adaptive=add_outcomes(adaptive, self.rules.draws, self.rules.fresh) if adaptive is not None else None,
            worst=Rate(sum(worst), len(worst)),
            gain=gain,
            kept=kept,
            cost=None,
            passes=_passes(victim),
            verdict=verdict(name, gain, kept, adaptive is not None),
            certified=certified,
            checked=checked,
            f1={**f1_of_run(active), "premade": f1_score([e.label for e in self.premade.examples], made)},
        )

    def _certified(
        self, victim: Victim, outcomes: Sequence[Outcome], folder: Path
    ) -> tuple[CertifiedRecord | None, Checked | None]:
        certifier = self.rules.certifier
        noise = noise_of(victim)
        if certifier is None or noise is None or not isinstance(victim, Defended):
            return None, None
        data = agree(self.data, victim)
        record, lines = write_certificates(certifier, victim, noise, data, folder, resume=True)
        knowing = Adaptive(defended=victim, draws=1, fresh=self.rules.fresh)
        attack = within(noise, self.rules.attack)
        tried = self._attacked(knowing, folder / attack.name, attack)
        found = check(certifier, victim.victim, noise, lines, [*outcomes, *tried])
        return record, replace(found, within=add_outcomes(tried, 1, self.rules.fresh))


def check(
    certifier: Certifier, victim: Victim, noise: Noise, lines: Sequence[Certificate], outcomes: Sequence[Outcome]
) -> Checked:
    """Looks at every attacked text inside the certificate of its original; as many copies vote as made that."""
    known = {line.id: line for line in lines if line.radius is not None}
    inside: list[tuple[Outcome, Text, int]] = []
    table = Words()
    for outcome in outcomes:
        line = known.get(outcome.id)
        if line is None or line.radius is None or outcome.adversarial is None or not line.right:
            continue
        before = cut_text(tuple(outcome.original.fields.values()), table)
        after = cut_text(tuple(outcome.adversarial.fields.values()), table)
        if noise.covers(before, after) and 0 < len(after.changed(before)) <= line.radius:
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
    """What one run adds up to."""
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
    """Of the texts as they are, and as the attack left them; what could not be attacked is left out."""
    known = [outcome for outcome in outcomes if outcome.status != "error"]
    labels = [outcome.label for outcome in known]
    left = [o.adversarial if o.status == "success" and o.adversarial else o.original for o in known]
    answers = {"clean": [o.original.prediction for o in known], "active": [side.prediction for side in left]}
    return {name: f1_score(labels, [-1 if a is None else a for a in found]) for name, found in answers.items()}


def f1_score(labels: list[int], answers: list[int]) -> float:
    """The mean over labels of the harmonic mean of precision and recall; 0 of a label that is never answered."""
    found = []
    for label in sorted({*labels, *answers}):
        hits = sum(label == a == t for t, a in zip(labels, answers, strict=True))
        found.append(2 * hits / (labels.count(label) + answers.count(label)))
    return round(sum(found) / len(found), 6) if found else float("nan")


def robust(outcomes: Sequence[Outcome]) -> dict[str, bool]:
    """By text whether it is right after the attack; what could not be attacked is left out."""
    return {outcome.id: outcome.status == "failed" for outcome in outcomes if outcome.status != "error"}


def verdict(name: str, gain: Gain, kept: Gain, random: bool) -> str:
    """What the figures say of a defence, in words."""
    if name == "none":
        return "no defence"
    if gain.low <= 0:
        worse = "; it is worse than none" if gain.high < 0 else ""
        return f"no gain under attack that these texts can show: {gain}{worse}"
    if not random:
        return f"gains {gain} under attack; it draws nothing, so the attack sees all of it"
    if kept.low <= 0:
        return f"its gain of {gain} under attack vanishes when the attack knows it: {kept}"
    part = kept.value / gain.value
    much = "keeps its gain" if part > 0.9 else f"keeps {part:.0%} of its gain"
    return f"{much} when the attack knows it: {kept}, after {gain}"


def _passes(victim: Victim) -> float:
    """Of the model inside, for a text, over all that was asked so far."""
    if not isinstance(victim, Defended) or not victim.counters.texts:
        return 1.0
    return round(victim.counters.inner / victim.counters.texts, 2)


def best_time(victim: Victim, examples: Iterable[Example]) -> float:
    """Seconds for some of these texts in one batch, by the victim's fast road; the best of a few tries."""
    texts = [tuple(example.fields.values()) for example in islice(examples, _TIMED)]
    table = Words()
    names = [str(number) for number in range(len(texts[0]))]
    groups = [
        Variants.itself(Text.of(dict(zip(names, fields, strict=True)), table, owner))
        for owner, fields in enumerate(texts)
    ]
    few, pool, best = Pool(groups[:2]), Pool(groups), float("inf")
    victim.finish(victim.begin(few, np.arange(few.size)))  # what is read or made once is no part of the time
    for _ in range(_REPEATS):
        began = perf_counter()
        victim.finish(victim.begin(pool, np.arange(pool.size)))
        best = min(best, perf_counter() - began)
        if best > 2:
            break
    return best
