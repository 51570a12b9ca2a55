"""The trials of `harden auto`: a method is trained, or put around the victim, and attacked beside the plain model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.core.errors import LimitReached, MalapropError, SettingError
from malaprop.features.hardening.auto import NONE, AutoHarden, name_plain, show_span

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.core.victim import Victim
    from malaprop.features.defending.evaluation_figures import AttackFindings
    from malaprop.features.defending.evaluation_record import DefenceRow
    from malaprop.features.hardening.auto_budget import AttackPace, AutoPlan, TrainingPace, TrialCosts
    from malaprop.frame.records.autoharden import AutoTrial
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.tasks.task import Inputs
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.splits import Splits

T = TypeVar("T")
_WIDTH, _DRAWS, _FRESH = 256, 3, 7
_WHOLE, _SHARE = 0.5, 0.2  # of the time that is left, for the forecast; of the budget, to time defences in it
_SPARE = 1.1  # what a forecast is multiplied by where it is an advice


class AutoForecast:
    """The forecast of `harden auto`: how long attacks take here, and which methods fit into the budget."""

    def __init__(self, auto: AutoHarden, context: WorkerContext, inputs: Inputs) -> None:
        self.auto, self.context, self.inputs = auto, context, inputs
        self.parts: Splits = inputs["texts"]
        self.root = context.place.root
        self.end = auto.find_end(self.root)
        self.began = time()
        self.own_end = self.began + _WHOLE * (self.end - self.began)

    def make(self) -> Iterator[AttackPace]:
        """Yield the pace of attacks, measured again for new methods alone, and note what the budget is enough for."""
        from malaprop.features.hardening.auto_budget import AttackPace
        from malaprop.frame.tasks.outputs import read_json, value_file

        if doubt := self.auto.find_doubt(self.parts):
            self.context.note(f"{doubt}: accuracies may be too high; {self.auto.advise()}")
        there = value_file(self.context.folder)
        before = read_json(there, AttackPace) if there.is_file() else None
        pace = self._time(before) if self.end > time() else before
        if pace is None:
            raise LimitReached(f"--budget {self.auto.budget} is used up")
        plan = self._plan(pace)
        said = self._describe(pace, plan)
        if not plan.trials.methods and not read_trials(self.root):
            raise SettingError(said)
        self.context.note(said)
        yield replace(pace, plan=said)

    def _time(self, before: AttackPace | None) -> AttackPace:
        """Time the attacks, then the defences that were not timed; it takes half of the time that is left at most."""
        from malaprop.data.matching import agree
        from malaprop.features.hardening.auto_budget import (
            LEAST,
            AttackPace,
            choose_texts,
            time_answers,
            time_attacks,
        )

        auto = self.auto

        def load() -> tuple[Victim, tuple[Example, ...], float]:
            victim = self.context.victim(name_plain(self.inputs))
            examples = tuple(agree(auto.sample(self.parts), victim))
            return victim, examples, time_answers(victim, examples) if before is None else 0.0

        def ask(attack: Attack, some: Sequence[Example]) -> int:
            return sum(one.queries.forwarded for one in attack_all(auto, self.parts, attack, victim, some))

        named, longer = f"loading {auto.model} and asking it about a few texts", show_span(4 * auto.options.seconds)
        victim, examples, answer = self._do(load, named, f"give {longer} or more")
        if before is not None:
            return self._time_defences(before, victim, examples)
        names = " and ".join(attack.name for attack in auto.suite)
        seconds, queries = self._do(
            lambda: time_attacks(ask, auto.suite, examples, self.end - time(), self.own_end),
            f"{names} on one text of {auto.model}",
            f"give {show_span(LEAST * auto.options.seconds)} or more, or a quicker attack in --attack",
        )
        pace = self._time_defences(
            AttackPace(attack=seconds, queries=queries, answers={NONE: answer}), victim, examples
        )
        wanted = len(examples)
        least = wanted if auto.options.n else min(LEAST, wanted)
        return replace(pace, texts=choose_texts(wanted, least, lambda size: self._plan(replace(pace, texts=size))))

    def _do(self, work: Callable[[], T], what: str, advice: str) -> T:
        """Do work that the forecast needs; raise SettingError where the time of the forecast ends first."""
        from malaprop.features.hardening.auto_budget import OutOfTime, cut_at

        try:
            with cut_at(self.own_end):
                return work()
        except OutOfTime:
            raise SettingError(
                f"{what} took more than half of the time left of --budget {self.auto.budget} (the forecast was cut "
                f"after {show_span(time() - self.began)}); {advice}"
            ) from None

    def _time_defences(self, pace: AttackPace, victim: Victim, examples: Sequence[Example]) -> AttackPace:
        """Add seconds of an answer behind each defence; what was not timed is taken to be as slow as the slowest."""
        from malaprop.features.defending.defended_models import put_behind
        from malaprop.features.hardening.auto_budget import time_answers, time_methods

        if self.auto.trains:
            return pace
        known = {name: seconds for name, seconds in pace.answers.items() if name not in pace.guessed}
        found = time_methods(
            lambda method: time_answers(put_behind(method, victim), examples), self.auto.methods, known,
            min(self.own_end, time() + _SHARE * self.auto.options.seconds),
        )  # fmt: skip
        return replace(pace, answers=found.epochs, guessed=found.guessed)

    def _plan(self, pace: AttackPace) -> AutoPlan:
        from malaprop.features.hardening.auto_budget import AutoPlan

        known = read_trials(self.root)
        plain = 0.0 if (2, NONE) in known else pace.texts * pace.attack
        costs = count_costs(self.auto, self.parts, self.inputs.get("pace"), pace, known)
        return AutoPlan(costs=costs, plain=plain, left=self.end - time())

    def _describe(self, pace: AttackPace, plan: AutoPlan) -> str:
        """Describe what the budget is enough for, and what would be enough for all methods."""
        auto, fits = self.auto, plan.trials.methods
        names = [name for name in auto.methods if name != NONE]
        used = auto.options.seconds - (self.end - time())  # by now, and by the report
        untimed = (*getattr(self.inputs.get("pace"), "guessed", ()), *pace.guessed)
        guessed = [name for name in names if name in untimed]
        guess = f"; not timed and taken to be as slow as the slowest: {', '.join(guessed)}" if guessed else ""
        if not fits and plan.costs.full:
            return (
                f"--budget {auto.budget} is not enough to try any of {len(names)} methods; about "
                f"{show_span(used + _SPARE * plan.one)} tries one and {show_span(used + _SPARE * plan.all)} all of them"
                f"{guess}"
            )
        shown = f"{pace.texts} texts are attacked" + (f" of {auto.wanted} wanted" if pace.texts < auto.wanted else "")
        much = f"all {len(names)} methods"
        more = ""
        if len(fits) < len(plan.costs.full):
            much = f"{len(fits)} of {len(plan.costs.full)} methods ({', '.join(fits)})"
            more = f"; {show_span(used + _SPARE * plan.all)} tries all"
        return f"{auto.budget} is enough for {much}{more}; {shown}{guess}"


def read_trials(root: Path) -> dict[tuple[int, str], AutoTrial]:
    """Read the finished trials of a folder, by stage and method."""
    from malaprop.features.hardening.auto import TRIALS
    from malaprop.frame.records.autoharden import AutoTrial, keep_last
    from malaprop.frame.tasks.outputs import GrowingFile

    return {(one.stage, one.method): one for one in keep_last(GrowingFile(AutoTrial, TRIALS).value(root))}


def attack_all(
    auto: AutoHarden, parts: Splits, attack: Attack, victim: Victim, examples: Sequence[Example]
) -> list[Outcome]:
    """Attack the examples and return the outcomes in the order of their ids."""
    from malaprop.frame.runs.local import run

    found = run(attack.for_labels(parts.labels), victim, examples, seed=auto.study.texts.seed, width=_WIDTH)
    return sorted(found, key=lambda one: one.id)


def count_short(texts: int) -> int:
    """Return how many texts the first stage attacks."""
    return max(4, texts // 4)


def count_costs(
    auto: AutoHarden, parts: Splits, training: TrainingPace | None, pace: AttackPace,
    known: Mapping[tuple[int, str], AutoTrial],
) -> TrialCosts:  # fmt: skip
    """Return the seconds that each trial still to be run would take."""
    from malaprop.features.hardening.auto_budget import TrialCosts
    from malaprop.frame.runs.wrap import draws_at_random

    def train(method: str, epochs: int) -> float:
        assert training is not None
        look = pace.answers[NONE]  # at the validation part after each epoch, and at the test part in the end
        return epochs * (training.epochs[method] + look * len(parts.held_out)) + look * len(parts.test)

    def attack(method: str, texts: int) -> float:
        draws = _DRAWS if not auto.trains and draws_at_random(method) else 0
        return texts * pace.of(method, draws)

    done = {key for key, one in known.items() if not one.late}
    names = [name for name in auto.methods if name != NONE and (2, name) not in done]
    if training is None:
        return TrialCosts(full={name: attack(name, pace.texts) for name in names})
    few, full, short = count_short(pace.texts), dict[str, float](), dict[str, float]()
    for name in names:
        first = known.get((1, name))
        tried = first is not None and not first.late
        short[name] = 0.0 if tried else train(name, 1) + attack(name, few)
        full[name] = train(name, auto.epochs) + attack(name, pace.texts)
        if first is not None and first.judged:  # attacks on the trained model may take longer than on the plain one
            longer = (first.seconds - train(name, 1)) * pace.texts / few
            full[name] = max(full[name], train(name, auto.epochs) + longer)
    return TrialCosts(full=full, short=short)


class HardenTrials:
    """Run the trials of both stages: skip finished ones, and those that there is no time for."""

    def __init__(self, auto: AutoHarden, context: WorkerContext, inputs: Inputs) -> None:
        from malaprop.data.matching import agree

        self.auto, self.context, self.inputs = auto, context, inputs
        self.parts: Splits = inputs["texts"]
        self.pace: AttackPace = inputs["forecast"]
        self.examples: Sequence[Example] = tuple(agree(auto.read_texts(inputs)["data"], inputs["plain"]))
        self.known = read_trials(context.place.root)
        self.end = auto.find_end(context.place.root)

    @property
    def left(self) -> float:
        """Return the seconds left of the budget."""
        return self.end - time()

    @property
    def costs(self) -> TrialCosts:
        return count_costs(self.auto, self.parts, self.inputs.get("pace"), self.pace, self.known)

    def go_on(self) -> Iterator[AutoTrial]:
        """Run and yield the missing trials, first of the plain model, then of both stages."""
        from malaprop.frame.records.autoharden import choose_few

        yield from self._add(2, [NONE])
        plain, methods = self.known[2, NONE], [name for name in self.auto.methods if name != NONE]
        fit = self.costs.fit(self.left)
        order = [*fit.methods, *(name for name in methods if name not in fit.methods)]
        if self.auto.trains and not fit.staged:
            yield from self._add(2, fit.methods)
            order = [name for name in order if name not in fit.methods]
        if self.auto.trains:
            yield from self._add(1, [name for name in order if (2, name) not in self.known])
            order = choose_few(self.known.values(), plain, self.auto.loss)
        yield from self._add(2, order)

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
        """Run a trial, or return one with the reason against it; stage 1 leaves time to try one method in full."""
        from malaprop.features.hardening.auto_budget import OutOfTime, cut_at
        from malaprop.frame.records.autoharden import AutoTrial

        began, epochs = time(), (1 if stage == 1 else self.auto.epochs) if self.auto.trains else 0
        some = self.examples[: count_short(len(self.examples))] if stage == 1 else self.examples
        found: dict[str, Any] = {"method": method, "stage": stage, "epochs": epochs, "began": round(began, 2)}

        def add_up(**more: Any) -> AutoTrial:
            return AutoTrial(**found, **more, seconds=round(time() - began, 2))

        kept = 0.0 if stage == 2 else self._keep_for_second(method)
        if method != NONE and (why := self._lack_time(stage, method, kept)):
            return add_up(reason=why, late=True)
        try:
            with cut_at(self.end - kept):
                row = self._judge(method, self._open(method, epochs), some)
        except OutOfTime:
            return add_up(reason=f"no time: it was cut after {show_span(time() - began)}", late=True)
        except MalapropError as error:
            return add_up(reason=str(error))
        return add_up(clean=row.clean, worst=row.worst, gain=row.kept)

    def _keep_for_second(self, method: str) -> float:
        """Return the seconds to try in full the slowest of this method and those judged in the first stage."""
        judged = {name for (stage, name), one in self.known.items() if stage == 1 and one.judged}
        full = self.costs.full
        return max((full[name] for name in {method, *judged} if name in full), default=0.0)

    def _lack_time(self, stage: int, method: str, kept: float) -> str:
        """Return why there is no time for a method; empty where there is."""
        costs = self.costs
        need, left = (costs.short if stage == 1 else costs.full)[method], self.left - kept
        if need <= left:
            return ""
        full = f", and {show_span(costs.full[method])} more in full" if stage == 1 else ""
        return f"no time: it would take about {show_span(need)}{full}; {show_span(max(0.0, self.left))} were left"

    def _open(self, method: str, epochs: int) -> Victim:
        """Open the model of a method, trained if missing, or the defence around a victim that cannot be trained."""
        from malaprop.features.defending.defended_models import put_behind

        plain = name_plain(self.inputs)
        if method == NONE:
            return self.context.victim(plain)
        if not self.auto.trains:
            return put_behind(method, self.context.victim(plain))
        folder = self.auto.folder(self.context.place.root, method, epochs)
        self.auto.train(self.context, method, self.parts, folder, epochs)
        return self.context.victim(str(folder))

    def _judge(self, method: str, victim: Victim, examples: Sequence[Example]) -> DefenceRow:
        from malaprop.features.defending.evaluation_figures import DefenceFindings
        from malaprop.frame.runs.pregenerated import PregeneratedExamples

        if method == NONE:
            found = [self._findings(attack, None, method, examples) for attack in self.auto.suite]
        else:
            found = [self._findings(attack, victim, method, examples) for attack in self.auto.suite]
        row = DefenceFindings(
            name=method, about=victim.name, passes=1.0, attacks=found, draws=_DRAWS, fresh=_FRESH,
            premade=PregeneratedExamples(examples=(), source=""), answers=(),
        ).add_up()  # fmt: skip
        if not row.worst.total:
            raise SettingError(f"every one of {len(examples)} texts ended in an error under attack")
        return row

    def _findings(
        self, attack: Attack, victim: Victim | None, method: str, examples: Sequence[Example]
    ) -> AttackFindings:
        """Attack a method; return its outcomes with the plain model's. `victim` is None for the plain model itself."""
        from malaprop.core.victim import find_rejected
        from malaprop.features.defending.evaluation_figures import AttackFindings
        from malaprop.features.defending.evasion import Adaptive
        from malaprop.frame.runs.defended import Defended
        from malaprop.frame.runs.pregenerated import from_outcomes
        from malaprop.frame.runs.wrap import draws_at_random

        ids = {example.id: example.label for example in examples}
        plain = [one for one in self.inputs[f"plain/{attack.name}"] if one.id in ids]
        if victim is None:
            return AttackFindings(attack=attack.name, plain=plain, active=plain)
        made = from_outcomes(sorted(plain, key=lambda one: one.id), attack.name)
        pairs = zip(made.examples, made.answers(victim), strict=True)
        rejected = find_rejected(victim.label_names)  # a rejection is not a success of the attack
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
        return attack_all(self.auto, self.parts, attack, victim, examples)
