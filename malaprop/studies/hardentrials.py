"""The trials of `harden auto`: a method is trained, or put around the victim, and attacked beside the plain model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import MalapropError, SettingError
from malaprop.studies.hardenauto import NONE, AutoHarden, name_plain, show_span

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.core.victim import Victim
    from malaprop.defences.trial import AttackFindings
    from malaprop.models.splits import Splits
    from malaprop.records.autoharden import AutoTrial
    from malaprop.records.defences import DefenceRow
    from malaprop.records.outcome import Outcome
    from malaprop.tasks.desk import Desk
    from malaprop.tasks.task import Inputs

_WIDTH, _DRAWS, _FRESH = 256, 3, 7


@dataclass(slots=True)
class BudgetClock:
    """What is left of the time budget; `spent` is what earlier tasks and calls have taken."""

    budget: float
    spent: float
    began: float

    @property
    def left(self) -> float:
        return self.budget - self.spent - (monotonic() - self.began)


class HardenTrials:
    """What was tried and what is left to try."""

    def __init__(self, auto: AutoHarden, desk: Desk, inputs: Inputs) -> None:
        from malaprop.data.matching import agree
        from malaprop.records.autoharden import keep_last

        self.auto, self.desk, self.inputs = auto, desk, inputs
        self.parts: Splits = inputs["texts"]
        self.examples: Sequence[Example] = tuple(agree(auto.sample(self.parts), inputs["plain"]))
        self.known = {(one.stage, one.method): one for one in keep_last(desk.before)}
        self.took = _read_times(desk.place.root)
        spent = sum(self.took.values()) + sum(one.seconds for one in self.known.values())
        self.clock = BudgetClock(auto.told.seconds, spent, monotonic())

    def go_on(self) -> Iterator[AutoTrial]:
        """The trials that are not there yet, first of the plain model, then of both stages."""
        from malaprop.records.autoharden import choose_few

        yield from self._add(2, [NONE])
        plain, methods = self.known[2, NONE], [name for name in self.auto.methods if name != NONE]
        if self.auto.trains:
            yield from self._add(1, methods)
            methods = choose_few(self.known.values(), plain, self.auto.loss)
        yield from self._add(2, methods)

    def _add(self, stage: int, methods: Sequence[str]) -> Iterator[AutoTrial]:
        for method in methods:
            before = self.known.get((stage, method))
            if before is not None and not before.late:
                continue
            found = self._try(stage, method)
            if before is None or not found.late:
                self.known[stage, method] = found
                yield found

    def _try(self, stage: int, method: str) -> AutoTrial:
        from malaprop.records.autoharden import AutoTrial

        began, epochs = monotonic(), (1 if stage == 1 else self.auto.epochs) if self.auto.trains else 0
        some = self.examples[: max(4, len(self.examples) // 4)] if stage == 1 else self.examples
        found: dict[str, Any] = {"method": method, "stage": stage, "epochs": epochs}
        try:
            if method != NONE and (why := self._lack_time(stage, method, epochs, len(some))):
                return AutoTrial(**found, reason=why, late=True, seconds=round(monotonic() - began, 2))
            row = self._judge(method, self._open(method, epochs), some)
        except MalapropError as error:
            return AutoTrial(**found, reason=str(error), seconds=round(monotonic() - began, 2))
        return AutoTrial(
            **found, clean=row.clean, worst=row.worst, gain=row.kept, seconds=round(monotonic() - began, 2)
        )

    def _lack_time(self, stage: int, method: str, epochs: int, texts: int) -> str:
        """Why a method is not begun; empty where it is. The first stage leaves half of the budget to the second."""
        from malaprop.defences.harden import Hardening
        from malaprop.models.zoo.checkpoint import is_checkpoint
        from malaprop.studies.epochtime import time_epoch

        left = self.clock.left - (self.auto.told.seconds / 2 if stage == 1 else 0)
        need = sum(s for name, s in self.took.items() if name.startswith("plain/")) * texts / len(self.examples)
        folder = self.auto.folder(self.desk.place.root, method, epochs)
        if left > 0 and self.auto.trains and not is_checkpoint(folder):
            pace = time_epoch(
                self.auto.model, self.parts, Hardening.of(method), given=self.auto.study.beginning.given,
                seed=self.auto.study.texts.seed, device=self.desk.device, steps=5,
            )  # fmt: skip
            need += epochs * pace.seconds
            left = self.clock.left - (self.auto.told.seconds / 2 if stage == 1 else 0)
        if need <= left:
            return ""
        return f"no time: it would take about {show_span(need)}, and {show_span(max(0.0, left))} are left"

    def _open(self, method: str, epochs: int) -> Victim:
        """The model of a method, trained where it is not there; of a victim that cannot be, the defence around it."""
        from malaprop.defences.stock import put_behind

        plain = name_plain(self.inputs)
        if method == NONE:
            return self.desk.victim(plain)
        if not self.auto.trains:
            return put_behind(method, self.desk.victim(plain))
        folder = self.auto.folder(self.desk.place.root, method, epochs)
        self.auto.train(self.desk, method, self.parts, folder, epochs)
        return self.desk.victim(str(folder))

    def _judge(self, method: str, victim: Victim, examples: Sequence[Example]) -> DefenceRow:
        from malaprop.defences.premade import Premade
        from malaprop.defences.trial import DefenceFindings

        if method == NONE:
            found = [self._findings(attack, None, method, examples) for attack in self.auto.suite]
        else:
            found = [self._findings(attack, victim, method, examples) for attack in self.auto.suite]
        row = DefenceFindings(
            name=method, about=victim.name, passes=1.0, attacks=found, draws=_DRAWS, fresh=_FRESH,
            premade=Premade(examples=(), source=""), answers=(),
        ).add_up()  # fmt: skip
        if not row.worst.total:
            raise SettingError(f"every one of {len(examples)} texts ended in an error under attack")
        return row

    def _findings(
        self, attack: Attack, victim: Victim | None, method: str, examples: Sequence[Example]
    ) -> AttackFindings:
        """One attack on a method beside the plain model, for which there is no victim to attack anew."""
        from malaprop.core.victim import find_rejected
        from malaprop.defences.adaptive import Adaptive
        from malaprop.defences.defended import Defended
        from malaprop.defences.premade import from_outcomes
        from malaprop.defences.trial import AttackFindings
        from malaprop.defences.wrap import draws_at_random

        ids = {example.id: example.label for example in examples}
        plain = [one for one in self.inputs[f"plain/{attack.name}"] if one.id in ids]
        if victim is None:
            return AttackFindings(attack=attack.name, plain=plain, active=plain)
        made = from_outcomes(sorted(plain, key=lambda one: one.id), attack.name)
        pairs = zip(made.examples, made.answers(victim), strict=True)
        rejected = find_rejected(victim.label_names)  # which is no success of the attack
        knowing = isinstance(victim, Defended) and draws_at_random(method)
        return AttackFindings(
            attack=attack.name,
            plain=plain,
            active=self._attack(attack, victim, examples),
            adaptive=self._attack(attack, Adaptive(defended=victim, draws=_DRAWS, fresh=_FRESH), examples)
            if knowing and isinstance(victim, Defended)
            else None,
            transferred={one.id: answer in (ids[one.id], rejected) for one, answer in pairs},
        )

    def _attack(self, attack: Attack, victim: Victim, examples: Sequence[Example]) -> list[Outcome]:
        from malaprop.runs.local import run

        found = run(
            attack.for_labels(self.parts.labels), victim, examples, seed=self.auto.study.texts.seed, width=_WIDTH
        )
        return sorted(found, key=lambda one: one.id)


def _read_times(root: Path) -> dict[str, float]:
    """Seconds of the tasks that came before the trials, in this call or an earlier one."""
    from malaprop.tasks.happenings import read_log

    took: dict[str, float] = {}
    for line in read_log(root):
        name = str(line.get("task", ""))
        if name == NONE or name.startswith("plain"):
            took[name] = took.get(name, 0.0) + float(line.get("seconds", 0.0) or 0.0)
    return took
