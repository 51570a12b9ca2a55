"""malaprop tune: search for the settings of a defence; one task appends a line for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, RecordError, SettingError, VictimError
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import CorrectTexts, attack_share, find_correct_texts
from malaprop.frame.study.study import FILE, View
from malaprop.frame.study.training_tasks import LearningData, check_named, train_named

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Victim
    from malaprop.data.base import Dataset
    from malaprop.features.hardening.tune import SettingsSearch
    from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningRecord, TuningTrial
    from malaprop.frame.runs.pregenerated import PregeneratedExamples
    from malaprop.frame.tasks.outputs import Output
    from malaprop.frame.tasks.task import Inputs, Share, Task, Work
    from malaprop.frame.tasks.worker_context import WorkerContext

TRIALS = "trials.jsonl"
MODEL = "LSTM-W-GloVe-1"
_PARTS = {"validation": "held_out", "test": "test"}  # what `Splits` calls them


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune:
    """Search for the settings of a defence on validation texts and adversarial ones made of them.

    The same --out resumes a search that was stopped. The test part is looked at once, with --test.

    Examples:

      malaprop tune five --victim BERT --minutes 20 --out runs/five

      malaprop tune fuse --victim BERT --fix similarity=off --out runs/fuse --test

      malaprop tune fact --victim models/plain --model BERT --data reviews.csv --minutes 120 --set epochs=2
    """

    command: ClassVar[str] = "tune"

    defence: str = opt(help="fuse, five or fact.", argument=True)
    victim: Any = opt(repeat=True)
    texts: LearningData = LearningData()
    minutes: float = opt(10.0, "Begin no trial after this many minutes.", min=0, free=True)
    trials: int = opt(100, "How many trials at most. Those of earlier calls count.", min=1, free=True)
    n: int = opt(200, "How many validation texts. Drawn by the seed.", min=1)
    attack: Any = opt("textfooler", "The recipe that attacks in each trial.", repeat=True)
    sampler: str = opt(
        "random",
        "How settings are drawn: random, tpe or plain. random and tpe by optuna; plain is random without optuna.",
    )
    fixed: Mapping[str, Any] = opt({}, "A setting to keep fixed, as name=value. May be repeated.", name="fix")
    test: bool = opt(
        False,
        "At the end, use the test part once. The best settings are tested; no search goes on after that.",
        free=True,
    )
    model: str = opt(MODEL, "fact: the zoo model that each trial trains.")
    training: Mapping[str, Any] = opt(
        {}, "fact: a setting of the training. Or of the network, as name=value; may be repeated.", name="set"
    )
    labels: tuple[str, ...] = opt(())
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def search(self) -> SettingsSearch:
        from malaprop.features.hardening.tune import SettingsSearch

        return SettingsSearch(defence=self.defence, seed=self.texts.seed, sampler=self.sampler, fixed=self.fixed)

    @property
    def recipe(self) -> Attack:
        from malaprop.frame.runs.make_attack import make_attack

        return make_attack(self.attack, {})

    @property
    def trained(self) -> str:
        """Return the model that every trial of fact trains, with its settings; empty for other defences."""
        given = (f"{name}={value}" for name, value in self.training.items())
        return " ".join([self.model, *given]) if self.defence == "fact" else ""

    def check(self) -> None:
        from malaprop.features.hardening.tune import SPACES

        if self.defence not in SPACES:
            raise unknown("defence that can be tuned", self.defence, SPACES)
        if self.defence == "fact":
            check_named(self.model, self.training)
        elif self.training or self.model != MODEL:
            option = "--set" if self.training else "--model"
            raise SettingError(f"{option} does nothing in tune {self.defence}; it belongs to tune fact")
        assert self.search
        assert self.recipe
        if self.saving.out is not None:
            self._check_folder(self.saving.out)

    def _check_folder(self, out: Path) -> None:
        """Raise where the folder's search has used its test part, or a record of before has other settings."""
        from malaprop.features.hardening.tuning_record import TuningRecord
        from malaprop.frame.tasks.outputs import value_file

        before = TuningRecord.read(out)
        if (before is not None and before.test is not None) or (value_file(out / "test").is_file() and not self.test):
            raise RecordError(
                f"{out} has looked at its test part, which ends a search; begin another one with another --out"
            )
        if before is None or (out / FILE).is_file():
            return
        now = self._describe()
        if not before.model:
            del now["model"]  # older records have none
        for name, value in now.items():
            if getattr(before, name) != value:
                raise RecordError(
                    f"{out} holds a search with {name} {getattr(before, name)!r}, not {value!r}; give another --out"
                )

    def _describe(self) -> dict[str, Any]:
        fixed = "".join(f":{name}={value}" for name, value in self.fixed.items())
        return {
            "defence": self.defence + fixed,
            "data": self.texts.name,
            "recipe": self.recipe.name,
            "sampler": self.sampler,
            "model": self.trained,
            "seed": self.texts.seed,
        }

    # --- tasks

    def plan(self) -> Iterator[Task]:
        from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningTest, TuningTrial
        from malaprop.frame.tasks.outputs import GrowingFile, JsonFile, RunFolder
        from malaprop.frame.tasks.task import Task

        def task(name: str, work: Work, output: Output, part: str, *after: str, at: str | None = None) -> Task:
            run = isinstance(output, RunFolder)
            return Task(
                name=name, work=work, output=output, after=after, at=at, victims={"victim": self.victim},
                holds=("victim",), vital=True, items=partial(self.choose, part) if run else None,
                reads=None if run else partial(self.read, part),
            )  # fmt: skip

        part, made = "validation", "adversarial-validation"
        yield task("examined", self.examine, JsonFile(CorrectTexts, again=True), part)
        yield task(made, self.attack_texts, RunFolder(checks=True), part, "examined")
        yield task("plain", self.judge, JsonFile(TunedAccuracy), part, "examined", made)
        trials = GrowingFile(TuningTrial, TRIALS, most=self.trials)
        yield task("trials", self.try_settings, trials, part, "examined", made, "plain", at=".")
        if self.test:
            part, made = "test", "adversarial-test"
            yield task(made, self.attack_texts, RunFolder(checks=True), part, "examined", "trials")
            yield task("test", self.look, JsonFile(TuningTest), part, "examined", made, "trials")

    def read(self, part: str, inputs: Inputs) -> Inputs:
        """Return the texts of a part, with labels mapped to the victim's where those are known."""
        from malaprop.data.base import Dataset
        from malaprop.data.matching import agree

        found = self.texts.splits()
        rows = getattr(found, _PARTS[part])
        whole = Dataset(
            name=f"{found.name}:{part}", examples=tuple(rows), labels=found.labels, fields=tuple(rows[0].fields)
        )
        whole = whole.ordered_as(self.labels) if self.labels else whole
        data = whole.sample(self.n, self.texts.seed)
        return {"part": part, "data": agree(data, inputs["examined"]) if "examined" in inputs else data}

    def examine(self, context: WorkerContext, inputs: Inputs) -> Iterator[CorrectTexts]:
        """Find the names of the victim's labels."""
        yield find_correct_texts(context.victim(inputs["victim"]), inputs["data"])

    def choose(self, part: str, inputs: Inputs) -> Dataset:
        found: Dataset = self.read(part, inputs)["data"]
        return found

    def attack_texts(self, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the plain victim on a share of the texts."""
        victim = context.victim(inputs["victim"])
        yield from attack_share(context, self.recipe, victim, share, seed=self.texts.seed, width=256)

    def judge(self, context: WorkerContext, inputs: Inputs) -> Iterator[TunedAccuracy]:
        """Yield both accuracies of the plain victim."""
        yield self._judge(inputs, context.victim(inputs["victim"]))

    def _judge(self, inputs: Inputs, victim: Victim) -> TunedAccuracy:
        from malaprop.features.hardening.tune import judge

        return judge(victim, inputs["data"].examples, self._premade(inputs))

    def _premade(self, inputs: Inputs) -> PregeneratedExamples:
        from malaprop.frame.runs.pregenerated import from_outcomes

        part, recipe = inputs["part"], self.recipe.name
        outcomes = inputs[f"adversarial-{part}"]
        if all(outcome.status == "error" for outcome in outcomes):
            raise VictimError(f"all {len(outcomes)} {part} texts ended in an error: {outcomes[0].reason}")
        premade = from_outcomes(outcomes, f"{recipe} against {inputs['examined'].name}")
        if not premade.examples:
            raise DataError(
                f"{recipe} succeeded on none of {len(outcomes)} {part} texts: there is nothing to defend against; take "
                "more with --n or a stronger --attack"
            )
        return premade

    def try_settings(self, context: WorkerContext, inputs: Inputs) -> Iterator[TuningTrial]:
        """Run and yield the trials that the folder does not have yet."""
        make, judge = partial(self.make, context, inputs["victim"]), partial(self._judge, inputs)
        for trial in self.search.run(make, judge, context.before, seconds=60 * self.minutes, trials=self.trials):
            context.note(_line(trial, self.trials))
            yield trial

    def look(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Measure the best trial and the plain victim on the test part."""
        from malaprop.features.hardening.tuning_record import TuningTest, choose_best

        best = choose_best(inputs["trials"])
        if best is None:
            raise RecordError("no trial has succeeded, so there is nothing to put to the test part")
        victim = self.make(context, inputs["victim"], best.settings, best.number)
        plain = self._judge(inputs, context.victim(inputs["victim"]))
        yield TuningTest(plain=plain, best=self._judge(inputs, victim), number=best.number)

    def make(self, context: WorkerContext, victim: Any, settings: Mapping[str, Any], number: int) -> Victim:
        """Return the victim behind the defence; for fact, train a model for which the plain victim ranks the words."""
        from malaprop.features.hardening.tune import around

        plain = context.victim(victim)
        if self.defence != "fact":
            return around(self.defence, plain)(settings, number)
        from malaprop.frame.runs.victims import victim as load
        from malaprop.frame.study.training_methods import Hardening
        from malaprop.zoo import checkpoint
        from malaprop.zoo.gradients.word_sizes import token_gradients
        from malaprop.zoo.train import TrainingInput

        folder = context.place.root / "models" / f"trial-{number}"
        if not checkpoint.is_checkpoint(folder):
            ranker = str(victim) if token_gradients(plain) is not None else ""
            parts = context.keep("parts of the data", self.texts.splits)
            hardening = Hardening.of("fact", ranker=ranker, **settings)
            given = TrainingInput(settings=self.training)
            train_named(context, self.model, parts, folder, given=given, seed=self.texts.seed, hardening=hardening)
        return load(str(folder), device=context.device)

    # --- what it adds up to

    def gather(self, root: Path) -> TuningRecord:
        from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningRecord, TuningTest, TuningTrial
        from malaprop.frame.tasks.outputs import GrowingFile, read_json, value_file

        record = TuningRecord(
            victim=read_json(value_file(root / "examined"), CorrectTexts).name,
            plain=read_json(value_file(root / "plain"), TunedAccuracy),
            trials=tuple(GrowingFile(TuningTrial, TRIALS).value(root)),
            **self._describe(),
        )
        looked = value_file(root / "test")
        return replace(record, test=read_json(looked, TuningTest)) if looked.is_file() else record

    def gather_part(self, root: Path) -> TuningRecord | None:
        from malaprop.frame.tasks.outputs import value_file

        return self.gather(root) if value_file(root / "plain").is_file() else None

    def view(self, record: TuningRecord) -> View:
        return View(
            rows=_rows(record.trials),
            summary=_summarise(record),
            last=f"all of it in {self.saving.out}",
        )


def _line(one: TuningTrial, trials: int) -> str:
    settings = " ".join(f"{name}={value}" for name, value in one.settings.items())
    if one.judged is None:
        return f"trial {one.number + 1} of {trials}: {settings}: {one.reason}"
    both = one.judged
    return f"trial {one.number + 1} of {trials}: {settings}: clean {both.clean}, adversarial {both.adversarial}"


def _rows(trials: Sequence[TuningTrial]) -> list[dict[str, Any]]:
    return [
        {
            "trial": one.number,
            **one.settings,
            "clean": None if one.judged is None else one.judged.clean.value,
            "adversarial": None if one.judged is None else one.judged.adversarial.value,
            "reason": one.reason,
        }
        for one in trials
    ]


def _summarise(record: TuningRecord) -> dict[str, Any]:
    best, test = record.best, record.test
    out: dict[str, Any] = {"defence": record.defence, "victim": record.victim, "trials": len(record.trials)}
    if best is not None and best.judged is not None:
        out["best"] = {"number": best.number, "settings": best.settings, **_rates(best.judged)}
    if test is not None:
        out["test"] = {"plain": _rates(test.plain), "best": _rates(test.best)}
    return out


def _rates(both: TunedAccuracy) -> dict[str, Any]:
    return {"clean": both.clean.to_dict(), "adversarial": both.adversarial.to_dict()}
