"""malaprop harden auto: try defences within a time budget and choose the one with the highest robust accuracy.

A forecast comes first: how long training and attacks take here, and so which methods fit in the budget. Then two
stages, as in successive halving: every method is trained for one epoch and attacked on a quarter of the texts; the best
few are trained in full and attacked on all of them. Where two stages would try fewer methods, methods are tried in full
at once. The chosen one has the highest accuracy under the worst attack, plain or transferred from the plain model,
among those that lose no more clean accuracy than --loss. All of it happens on validation texts. For a victim that
cannot be trained, the defences that need no training are tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import flat, opt, type_command
from malaprop.frame.study.shared_tasks import CorrectTexts, attack_share, epoch_line, find_correct_texts, slug
from malaprop.frame.study.study import View
from malaprop.frame.study.training_methods import TEXTS
from malaprop.frame.study.training_tasks import (
    check_model_folder,
    check_named,
    is_victim,
    make_in_folder,
    place_files,
    refuse_checkpoint,
    train_named,
)
from malaprop.frame.study.vocabulary import SEVERAL

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Dataset
    from malaprop.features.hardening.study import Harden
    from malaprop.frame.records.autoharden import AutoHardenRecord, AutoTrial
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card
    from malaprop.training.splits import Splits

T = TypeVar("T")
AUTO, NONE = "auto", "none"
TRIALS = "trials.jsonl"
METHODS = ("flooding", "swaps", "freelb", "dne", "ascc", "a2t", "fact", "safer")
CHARACTERS = ("deepwordbug", "typos", "keyboard", "homoglyph", "key", "key*")
AROUND = ("purify:spell", "purify:mlm", "fuse", "safer:samples=16(none)", "ranmask:keep=0.7:samples=16(none)")
_WIDTH = 256
_REPORT, _FORECAST = 0.05, 0.15  # of the budget: for the report at the end, and to time trainings before them
_SPAN = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoOptions:
    """The options of `harden auto`, which no other method takes."""

    budget: str | None = opt(None, "auto: time for the search, such as 30m. 30m if not given.", free=True)
    loss: float | None = opt(
        None, "auto: points of accuracy that may be lost. Without attack; 2 if not given.", min=0, free=True
    )
    attacks: tuple[str, ...] = opt(
        (), f"auto: attacks that the model must resist. textfooler,pwws if not given. {SEVERAL}",
        name="attack", old=("attacks",), repeat=True,
    )  # fmt: skip
    methods: tuple[str, ...] = opt(
        (), "auto: methods to try, with commas. Those that suit the model if not given.", free=True
    )
    n: int | None = opt(
        None,
        "auto: how many validation texts are attacked. Drawn by the seed; if not given 100, or as many as fit.",
        min=4,
    )

    def refuse(self, method: str) -> None:
        """Raise where one of these options is given to another method."""
        given = {"budget": self.budget, "loss": self.loss, "attack": self.attacks, "methods": self.methods, "n": self.n}
        for name, value in given.items():
            if value not in (None, ()):
                raise SettingError(f"--{name} is not an option of harden {method}; it belongs to harden auto")

    @property
    def seconds(self) -> float:
        """Return the time budget in seconds."""
        return read_span(self.budget or "30m")


def read_span(said: str) -> float:
    """Return the seconds of a span that a user typed: 30m, 90s, 2h or 1h30m."""
    found = _SPAN.fullmatch(said.strip().lower())
    if found is None or not any(found.groups()):
        raise SettingError(f"--budget is a time such as 30m, 90s or 2h, got {said!r}")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if not total:
        raise SettingError(f"--budget must be above 0, got {said!r}")
    return total


def show_span(seconds: float) -> str:
    """Return a span as a user types it, rounded up."""
    whole = int(-(-seconds // 1))
    return f"{whole}s" if whole < 120 else f"{-(-whole // 60)}m" if whole < 7200 else f"{-(-whole // 360) / 10:g}h"


def name_plain(inputs: Inputs) -> Any:
    """Return the plain model for `WorkerContext.victim`: what the user named, or the folder that a task trained."""
    return str(inputs[NONE]) if isinstance(inputs[NONE], Path) else inputs[NONE]


@dataclass(frozen=True)
class AutoHarden:
    """The tasks of `harden auto` and the record that they make; the settings are those of `harden`."""

    study: Harden
    began: float = field(default_factory=time)  # when the budget of this call began

    # --- what is asked for

    @property
    def model(self) -> str:
        return self.study.model

    @property
    def options(self) -> AutoOptions:
        return self.study.choosing

    @property
    def loss(self) -> float:
        return 2.0 if self.options.loss is None else self.options.loss

    @cached_property
    def is_zoo(self) -> bool:
        from malaprop.zoo.names import is_name

        return is_name(self.model) and not Path(self.model).is_dir()

    @cached_property
    def trains(self) -> bool:
        """Return whether the model can be trained here."""
        from malaprop.models.classifierfolder import is_classifier_folder

        return self.is_zoo or is_classifier_folder(self.model)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods to try; attacks on characters have other defaults than those on words."""
        if self.options.methods or not self.trains:
            return self.options.methods or AROUND
        names = self.options.attacks
        if names and set(names) <= set(CHARACTERS):
            return ("blackbox", f"augment:recipe={names[0]}:budget=100", "flooding", "freelb")
        return METHODS

    @cached_property
    def suite(self) -> tuple[Attack, ...]:
        from malaprop.frame.runs.make_attack import make_attack

        return tuple(make_attack(name, {}) for name in dict.fromkeys(self.options.attacks or ("textfooler", "pwws")))

    @property
    def epochs(self) -> int:
        """Return the epochs of each training in the second stage."""
        from malaprop.frame.study.training_methods import own_spec
        from malaprop.zoo import names as zoo
        from malaprop.zoo.train import change_training

        spec = zoo.parse(self.model)[0] if self.is_zoo else own_spec(self.model)
        return change_training(zoo.training(spec, 0), self.study.beginning.settings).epochs

    def check(self) -> None:
        from malaprop.frame.runs.wrap import parse, read_layer, remembers_queries
        from malaprop.frame.study.training_methods import parse_defence

        given = flat(self.study)
        for name in ("r", "once", "noise"):
            if given[name] is not None:
                raise SettingError(
                    f"--{name} is not an option of harden auto; write it in --methods, as miyato:size=0.05"
                )
        self.study.adding.refuse(AUTO)
        assert self.options.seconds
        assert self.suite
        if self.trains or not is_victim(self.model):
            check_named(self.model, self.study.beginning.settings)
        refuse_checkpoint(self.model)
        for method in self.methods:
            if self.trains:
                parse_defence(method)
            elif not parse(method).layers:
                raise SettingError(
                    f"{method} trains a model, and {self.model} cannot be trained here; choose defences that "
                    f"wrap the victim in --methods: {', '.join(AROUND)}"
                )
            elif remembers_queries(method):
                raise SettingError(
                    f"auto cannot compare {method}, whose worth depends on the attacker's own model; "
                    "test it with malaprop study defences"
                )
            else:
                assert all(read_layer(*layer) for layer in parse(method).layers)
        check_model_folder(self.study.saving.out, TEXTS.mark)

    # --- tasks

    def plan(self) -> Iterator[Task]:
        from malaprop.features.hardening.auto_budget import AttackPace, TrainingPace
        from malaprop.frame.records.autoharden import AutoTrial
        from malaprop.frame.tasks.outputs import GrowingFile, JsonFile, OwnFolder, RunFolder
        from malaprop.frame.tasks.task import Task

        given = {} if self.is_zoo else {NONE: self.model}
        before: tuple[str, ...] = ()
        if self.trains:
            output = JsonFile(TrainingPace, again=True)
            yield Task(name="pace", work=self.time_training, output=output, reads=self.read, vital=True)
            before = ("pace",)
        if self.is_zoo:
            yield Task(
                name=NONE, work=self.train_plain, output=OwnFolder(TEXTS.mark), reads=self.read, after=before,
                at="trials/none", vital=True,
            )  # fmt: skip
            before = (*before, NONE)
        yield Task(
            name="forecast", work=self.foresee, output=JsonFile(AttackPace, again=True), reads=self.read, after=before,
            victims=given, vital=True,
        )  # fmt: skip
        before = (*before, "forecast")
        yield Task(
            name="plain", work=self.look, output=JsonFile(CorrectTexts), reads=self.read_texts, after=before,
            victims=given, vital=True,
        )  # fmt: skip
        before = (*before, "plain")
        for attack in self.suite:
            yield Task(
                name=f"plain/{attack.name}", work=partial(self.attack_plain, attack), output=RunFolder(),
                items=self.choose, after=before, victims=given, vital=True,
            )  # fmt: skip
        before = (*before, *(f"plain/{attack.name}" for attack in self.suite))
        yield Task(
            name="trials", work=self.try_methods, output=GrowingFile(AutoTrial, TRIALS), reads=self.read, after=before,
            victims=given, at=".", vital=True,
        )  # fmt: skip
        if self.trains:
            own = OwnFolder(TEXTS.mark, checks=True)
            yield Task(name="model", work=self.place, output=own, after=(*before, "trials"), vital=True)

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"texts": self.study.texts.splits()}

    def read_texts(self, inputs: Inputs) -> Inputs:
        whole = self.sample(self.study.texts.splits())
        return {"data": whole.sample(inputs["forecast"].texts, self.study.texts.seed)}

    @cached_property
    def is_file(self) -> bool:
        from malaprop.frame.study.selection import Selection

        return Selection(data=self.study.texts.name).is_file

    @property
    def wanted(self) -> int:
        """Return how many texts to attack, if there is time."""
        return self.options.n or 100

    def sample(self, parts: Splits) -> Dataset:
        """Return the texts that may be attacked; a smaller sample is the beginning of a larger one.

        They are the validation part; of a file all rows where nothing is trained on any of them.
        """
        from malaprop.data.base import Dataset

        whole = self.is_file and not self.trains
        rows = [*parts.train, *parts.held_out, *parts.test] if whole else parts.held_out
        name = f"{parts.name}:all" if whole else f"{parts.name}:validation"
        found = Dataset(name=name, examples=tuple(rows), labels=parts.labels, fields=tuple(rows[0].fields))
        return found.sample(self.wanted, self.study.texts.seed)

    def find_doubt(self, parts: Splits) -> str:
        """Return why the model may have been trained on the attacked texts; empty where it was not.

        A model that is trained here has not seen them, nor has one whose card names this data: both split it alike.
        """
        from malaprop.data.base import list_splits
        from malaprop.training.card import holds, read_card

        path = Path(self.model).expanduser()
        if self.is_zoo or (path.is_dir() and holds(path, "classifier") and _is_trained_on(read_card(path), parts)):
            return ""
        if not self.is_file and "validation" in list_splits(self.study.texts.name):
            return ""
        return (
            f"nothing says what {self.model} was trained on, so it may have been trained on these rows of {parts.name}"
        )

    def choose(self, inputs: Inputs) -> Dataset:
        from malaprop.data.matching import agree

        found: Dataset = agree(self.read_texts(inputs)["data"], inputs["plain"])
        return found

    # --- the budget

    @property
    def budget(self) -> str:
        """Return the budget as the user typed it."""
        return self.options.budget or "30m"

    def find_end(self, root: Path) -> float:
        """Return when the budget ends, less time for the report; earlier calls in this folder count too."""
        from malaprop.frame.records.autoharden import AutoTrial
        from malaprop.frame.tasks.events import read_log
        from malaprop.frame.tasks.outputs import GrowingFile

        lines = [line for line in read_log(root) if float(line.get("time", 0)) < self.began]
        counted = (line for line in lines if line.get("task") not in ("trials", "model"))  # trials count apart
        spent: float = sum(float(line.get("seconds") or 0) for line in counted)
        spent += sum(one.seconds for one in GrowingFile(AutoTrial, TRIALS).value(root) if one.began < self.began)
        whole: float = self.options.seconds
        return self.began + whole - spent - min(5.0, _REPORT * whole)

    def do_in_time(self, context: WorkerContext, work: Callable[[], T]) -> T:
        """Do the work and return its result; end the run if the budget ends first."""
        from malaprop.features.hardening.auto_budget import do_by

        return do_by(self.find_end(context.place.root), self.budget, work)

    def time_training(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Time an epoch of each training. Refuse a budget too small to train the plain model."""
        from malaprop.features.hardening.auto_budget import TrainingPace, time_epoch, time_methods
        from malaprop.frame.study.training_methods import Hardening
        from malaprop.frame.tasks.outputs import read_json, value_file

        parts, given, there = inputs["texts"], self.study.beginning.given, value_file(context.folder)

        def measure(method: str) -> float:
            return time_epoch(
                self.model, parts, None if method == NONE else Hardening.of(method), given=given,
                seed=self.study.texts.seed, device=context.device, steps=3,
            ).seconds  # fmt: skip

        before = read_json(there, TrainingPace) if there.is_file() else TrainingPace(epochs={})
        known = {name: pace for name, pace in before.epochs.items() if name not in before.guessed}
        end = min(time() + _FORECAST * self.options.seconds, self.find_end(context.place.root))
        if NONE not in known:
            known[NONE] = self.do_in_time(context, lambda: measure(NONE))
        pace = known[NONE]
        least = pace * (1 + (self.epochs if self.is_zoo else 0))  # the plain model comes first
        if least > self.options.seconds:
            raise SettingError(
                f"one epoch of {self.model} on {parts.name} ({len(parts.train):,} texts) takes about {show_span(pace)} "
                f"here, and --budget is {self.budget}; give {show_span(4 * least)} or more"
            )
        yield time_methods(measure, self.methods, known, end)

    def foresee(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Forecast how long attacks take, how many texts there is time for and which methods fit; print the plan."""
        from malaprop.features.hardening.auto_trials import AutoForecast

        yield from AutoForecast(self, context, inputs).make()

    def train_plain(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train the model without a defence, to compare with."""

        self.do_in_time(context, lambda: self.train(context, NONE, inputs["texts"], context.folder, self.epochs))
        yield from ()

    def look(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        yield self.do_in_time(context, lambda: find_correct_texts(context.victim(name_plain(inputs)), inputs["data"]))

    def attack_plain(self, attack: Attack, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the plain model."""
        from malaprop.features.hardening.auto_budget import cut_pieces

        victim, doubt = context.victim(name_plain(inputs)), self.find_doubt(self.study.texts.splits())
        pieces = attack_share(
            context, attack, victim, share, seed=self.study.texts.seed, width=_WIDTH, notes=(doubt,) if doubt else ()
        )
        yield from cut_pieces(pieces, self.find_end(context.place.root), self.budget)

    def try_methods(self, context: WorkerContext, inputs: Inputs) -> Iterator[AutoTrial]:
        """Run the trials of both stages that this folder does not have yet."""
        from malaprop.features.hardening.auto_trials import HardenTrials

        doubt = " (on rows that it may have been trained on)" if self.find_doubt(inputs["texts"]) else ""
        for one in HardenTrials(self, context, inputs).go_on():
            context.note(describe_trial(one, doubt))
            yield one

    def place(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Copy the chosen model to a folder of its own; a plain classifier that wins stays where it is."""
        from malaprop.frame.records.autoharden import choose_one, keep_last
        from malaprop.frame.tasks.outputs import Skipped

        chosen, _ = choose_one(keep_last(inputs["trials"]), self.loss)
        if chosen == NONE and not self.is_zoo:
            yield Skipped(f"{self.model} is best as it is")
            return
        place_files(self.folder(context.place.root, chosen, self.epochs), context.folder, TEXTS.mark)

    def folder(self, root: Path, method: str, epochs: int) -> Path:
        """Return the folder of a trial's model."""
        return root / "trials" / (NONE if method == NONE else f"{slug(method)}-{epochs}")

    def train(self, context: WorkerContext, method: str, parts: Splits, folder: Path, epochs: int) -> None:
        from malaprop.frame.study.training_methods import Hardening
        from malaprop.zoo.train import TrainingInput

        start = self.study.beginning
        given = TrainingInput(vectors=start.vectors, start=start.start, settings={**start.settings, "epochs": epochs})

        def make(place: Path) -> None:
            train_named(
                context, self.model, parts, place, given=given, seed=self.study.texts.seed,
                hardening=None if method == NONE else Hardening.of(method),
                listen=lambda epoch: context.note(f"{method}, {epoch_line(epoch)}"),
            )  # fmt: skip

        make_in_folder(folder, TEXTS.mark, make)

    # --- what they add up to

    def gather(self, root: Path) -> AutoHardenRecord:
        from malaprop.features.hardening.auto_budget import AttackPace
        from malaprop.frame.records.autoharden import AutoHardenRecord, AutoTrial, choose_one, keep_last
        from malaprop.frame.tasks.outputs import GrowingFile, read_json, value_file

        trials = keep_last(GrowingFile(AutoTrial, TRIALS).value(root))
        seen = read_json(value_file(root / "plain"), CorrectTexts)
        chosen, why = choose_one(trials, self.loss)
        doubt = self.find_doubt(self.study.texts.splits())
        why += "; these may be rows that the model was trained on" if doubt else ""
        own = self.trains and (chosen != NONE or self.is_zoo)
        return AutoHardenRecord(
            model=self.model, data=seen.data, attacks=tuple(attack.name for attack in self.suite),
            texts=len(seen.ids), loss=self.loss, budget=self.options.seconds, trials=trials, chosen=chosen, why=why,
            victim="model" if own else self.model if chosen == NONE else _wrap(chosen, self.model), is_folder=own,
            doubt=doubt, plan=read_json(value_file(root / "forecast"), AttackPace).plan,
        )  # fmt: skip

    def view(self, record: AutoHardenRecord) -> View:
        best = record.best
        assert best.clean is not None
        assert best.worst is not None
        out = self.study.saving.out
        victim = str(out / record.victim) if record.is_folder and out is not None else record.victim
        doubt = f"{record.doubt}: accuracies may be too high; {self.advise()}" if record.doubt else ""
        return View(
            rows=[_row(one) for one in record.trials],
            summary={
                "method": record.chosen, "victim": victim, "why": record.why, "clean": best.clean.to_dict(),
                "worst": best.worst.to_dict(), "trials": [_row(one) for one in record.trials], "plan": record.plan,
                "doubt": record.doubt,
            },
            notes=() if self.trains else (f"{self.model} cannot be trained here: defences around it were tried",),
            troubles=[said for said in (doubt, self._describe_late(record)) if said],
            last=self._conclude(record, victim),
            next=self._advance(record, victim),
        )  # fmt: skip

    def advise(self) -> str:
        """Advise how to judge on rows that the model has not seen."""
        use = "of which a part is held out" if self.trains else "all of which are for judging"
        return f"give a file of rows that it has not seen as --data, {use}"

    def _describe_late(self, record: AutoHardenRecord) -> str:
        late = ", ".join(record.late)
        return f"no time was left for {late}; the same command with a larger --budget goes on" if late else ""

    def _conclude(self, record: AutoHardenRecord, victim: str) -> str:
        """Return a line with the chosen method and its model."""
        if record.chosen != NONE:
            return f"chosen: {record.chosen}; as a victim: {victim}"
        where = f"the model in {victim} is the plain one" if record.is_folder else f"{self.model} stays as it is"
        left = "" if record.is_folder or self.study.saving.out is None else (
            f", and {self.study.saving.out} holds no new model"
        )  # fmt: skip
        return f"chosen: none, for nothing won: {where}{left}"

    def _advance(self, record: AutoHardenRecord, victim: str) -> str:
        """Return how to attack the chosen model, or what to try next where no method won."""
        if record.chosen != NONE:
            return type_command("audit", victim=victim, data=self.study.texts.data)
        steps = ["a larger --budget for the methods that had no time"] if record.late else []
        if record.dear:
            steps.append(f"a higher --loss than {record.loss:g}, at which {', '.join(record.dear)} may win")
        steps.append("other --methods, or settings of them" if self.trains else "training with malaprop harden METHOD")
        return f"try {'; or '.join(steps)}"


def _is_trained_on(card: Card, parts: Splits) -> bool:
    """Return whether a model was trained on the training part of this data, which has no validation text."""
    return card.data_fingerprint == parts.fingerprint


def _wrap(method: str, victim: str) -> str:
    """Return a defence around a victim, as --victim takes it."""
    from malaprop.frame.runs.wrap import parse

    inner = victim
    for name, settings in reversed(parse(method).layers):
        inner = f"{':'.join([name, *settings])}({inner})"
    return inner


def _row(one: AutoTrial) -> dict[str, Any]:
    figures: Mapping[str, Any] = {
        "clean": None if one.clean is None else one.clean.value,
        "worst": None if one.worst is None else one.worst.value,
        "gain": None if one.gain is None else one.gain.value,
    }
    about = {"method": one.method, "stage": one.stage, "epochs": one.epochs}
    return {**about, **figures, "seconds": one.seconds, "reason": one.reason}


def describe_trial(one: AutoTrial, doubt: str = "") -> str:
    """Describe a trial in a line; `doubt` follows its accuracy without attack."""
    if not one.judged:
        return f"stage {one.stage}, {one.method}: {one.reason}"
    return (
        f"stage {one.stage}, {one.method}: clean {one.clean}{doubt}, under the worst attack {one.worst}, "
        f"{one.seconds:.0f} s"
    )
