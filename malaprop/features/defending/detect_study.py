"""malaprop detect: a detector of adversarial texts, fitted for a victim and scored on finished attacks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.study.attack_tasks import Conditions, DataReading, check_victim_task, run_task
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection, trained_on
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Fields, Victim
    from malaprop.data.base import Dataset
    from malaprop.features.defending.detection.detector import Detector, DetectorCard, FitTexts
    from malaprop.features.defending.detection_record import DetectedRun, DetectionRecord
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.records.trained import TrainedModel, TrainedRecord
    from malaprop.frame.study.study import Result
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

_LOOK, _ANSWER, _ATTACKED, _DETECTOR, _NONE = "look at the victim", "answers", "attacked", "detector", "none"
_USUAL = 0.05  # share of clean texts that may be rejected
_BLOCK = 128  # texts between two progress notes


@dataclass(frozen=True, kw_only=True)
class DetectFit:
    """Fit a detector of adversarial texts for a victim; --victim "detect:FOLDER(VICTIM)" then rejects such texts.

    Examples:

      malaprop detect fit fgws --victim BERT --data mr --out models/fgws

      malaprop detect fit wdr --victim ./my-distilbert --data reviews.csv --attack textfooler --out models/wdr

      malaprop detect fit all --victim my_model:predict --data reviews.csv --n 1000

      malaprop detect fit near --victim ./my-distilbert --data reviews.csv --least-accuracy 0.91

      malaprop audit --victim "detect:models/wdr(./my-distilbert)" --data reviews.csv
    """

    command: ClassVar[str] = "detect fit"

    method: str = opt(
        help="The detector, such as fgws or all. fgws (rare words give way to frequent ones), wdr (what leaving out "
        "each word does), rde (density of the vector that the classifier reads), rtd (words that a masked "
        "language model does not expect), perplexity, near (what swaps of words for rarer and for more frequent "
        "ones do), cloze (near, and which words fit their places worse than their neighbours), or all (boosted "
        "trees over several of them); settings after a colon, as rtd:hidden=true.",
        argument=True,
    )
    victim: Any = opt(repeat=True)
    attack: tuple[str, ...] = opt(
        (),
        "The adversarial texts that it learns from. Recipes, folders of finished runs on this victim, or none. If not "
        f"given: pwws for wdr, near, cloze and all, which need such texts, and none for the others. {SEVERAL}",
        repeat=True,
    )
    goals: tuple[str, ...] = opt(
        ("untargeted", "confident:0.9"),
        "Goals of these recipes. A detector that learns only from texts of which the victim is unsure takes doubt for "
        f"a sign of attack, and misses texts of which the victim is sure. {SEVERAL}",
        name="goal",
        old=("goals",),
        repeat=True,
    )
    false_positives: float | None = opt(
        None, f"Share of clean texts that may be rejected. It fixes the threshold. {_USUAL:g} if not given."
    )
    least_accuracy: float | None = opt(
        None,
        "Least accuracy, to fix the threshold. The share of original texts that must still be answered correctly and "
        "not rejected, such as 0.91. The strictest threshold that keeps this share on held-out texts is taken.",
    )
    keep: bool = opt(True, "Keep a copy in the cache: detect:METHOD(VICTIM) finds it, settings and all.", free=True)
    texts: Selection = Selection(n=800)
    width: int = width_option()
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Return the recipes and runs that give adversarial texts; empty where the method needs none."""
        from malaprop.features.defending.detection.detector import parse_method

        given = tuple(name for name in self.attack if name != _NONE)
        return given or (("pwws",) if not self.attack and parse_method(self.method).needs_attacked else ())

    @cached_property
    def attacks(self) -> dict[str, Attack]:
        """Return the attacks of the recipes, by the names of their runs."""
        from malaprop.frame.runs.make_attack import recipe

        names = [name for name in self.sources if not _is_run(name)]
        made = {(name, goal): recipe(name, goal=goal) for name in names for goal in self.goals}
        return {f"{_ATTACKED}/{slug(f'{name}-{goal}')}": one for (name, goal), one in made.items()}

    @cached_property
    def reading(self) -> DataReading:
        """Return how texts are read: the validation part of a dataset or of the victim's own file, else all rows."""
        texts = self.texts
        if texts.split == "auto" and isinstance(texts.data, str):
            marks = {one.data for one in trained_on([self.victim])}
            learnt = not texts.is_file or (marks and replace(texts, split="all").whole().fingerprint in marks)
            texts = replace(texts, split="validation" if learnt else "all")
        return DataReading(selection=texts, victims=(self.victim,))

    def check(self) -> None:
        from malaprop.data.base import need_two_labels
        from malaprop.features.defending.detection.detector import parse_method

        if parse_method(self.method).needs_attacked and not self.sources:
            raise SettingError(f"{self.method} learns from adversarial texts: name a recipe, as --attack pwws")
        self._check_rule()
        assert self.attacks is not None  # raises on a wrong name before a model is loaded
        need_two_labels(self.reading.examples)

    def _check_rule(self) -> None:
        allowed, least = self.false_positives, self.least_accuracy
        if allowed is not None and least is not None:
            raise SettingError("--false-positives and --least-accuracy each fix the threshold; give one of the two")
        if allowed is not None and not 0 < allowed < 1:
            raise SettingError(f"--false-positives is a share between 0 and 1, got {allowed:g}")
        if least is not None and not 0 < least <= 1:
            raise SettingError(f"--least-accuracy is a share between 0 and 1, as 0.91, got {least:g}")

    def plan(self) -> Iterator[Task]:
        from malaprop.features.defending.detection.detector import CARD
        from malaprop.frame.tasks.outputs import Handover, OwnFolder
        from malaprop.frame.tasks.task import Task

        conditions, first = Conditions(width=self.width), tuple[str, ...]((_LOOK,))
        yield check_victim_task(_LOOK, self.victim, conditions, tuple(self.attacks.values()), self.reading)
        if self.least_accuracy is not None and self.attacks:
            first = (_LOOK, _ANSWER)
            yield Task(
                name=_ANSWER, work=self.try_rule, output=Handover(), after=(_LOOK,), reads=self.read_texts, vital=True,
                victims={"victim": self.victim}, holds=(_LOOK,),
            )  # fmt: skip
        for name, attack in self.attacks.items():
            yield run_task(name, _LOOK, attack, self.victim, conditions, self.reading, after=first)
        behind = (_LOOK, *self.attacks)
        yield Task(
            name=_DETECTOR, work=self.fit, output=OwnFolder(CARD), at=".", after=behind, reads=self.read, vital=True,
            victims={"victim": self.victim}, holds=(_LOOK,),
        )  # fmt: skip

    def read(self, inputs: Inputs) -> Inputs:
        """Return the texts, their adversarial examples, and all texts whose words are counted."""
        from malaprop.frame.records.store import outcomes_of

        runs = [inputs[name] for name in self.attacks]
        runs += [outcomes_of(Path(name).expanduser()) for name in self.sources if _is_run(name)]
        found = [sorted(filter(_is_broken, run), key=lambda one: one.id) for run in runs]  # workers end in any order
        return {
            **self.read_texts(inputs),
            "attacked": [(o.id, tuple(o.adversarial.fields.values())) for run in found for o in run],
            "originals": {o.id: tuple(o.original.fields.values()) for run in found for o in run},
            "tried": [frozenset(o.id for o in run) for run in runs],
        }

    def read_texts(self, inputs: Inputs) -> Inputs:
        """Return the texts, and all texts whose words are counted."""
        return {"data": self.reading.match(_LOOK, inputs), "corpus": self._read_corpus()}

    def _read_corpus(self) -> list[Fields]:
        texts = self.reading.selection
        if isinstance(texts.data, str) and not texts.is_file:
            texts = replace(texts, split="train")
        return [tuple(example.fields.values()) for example in texts.whole([self.victim])]

    def try_rule(self, context: WorkerContext, inputs: Inputs) -> Iterator[bool]:
        """Raise before any attack where --least-accuracy exceeds the accuracy of the victim."""
        from malaprop.features.defending.detection.detector import cut_held_out

        victim, data = context.victim(inputs["victim"]), inputs["data"]
        texts = _collect(victim, {"attacked": (), "originals": {}, "tried": (), **inputs})
        yield len(cut_held_out(self._describe(victim, data), texts).right) > 0

    def fit(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.features.defending.detection.detector import CARD, fit_detector, place_kept
        from malaprop.frame.study.training_tasks import make_in_folder

        def make(folder: Path) -> DetectorCard:
            victim, data = context.victim(inputs["victim"]), inputs["data"]
            context.note(
                f"{self.method}: {len(inputs['attacked'])} adversarial texts; {len(data)} clean ones are answered"
            )
            found = fit_detector(victim, self._describe(victim, data), _collect(victim, inputs))
            found.write(folder)
            if self.keep:
                found.write(place_kept(self.method, victim))
            return found.card

        make_in_folder(context.folder, CARD, make)
        yield from ()

    def _describe(self, victim: Victim, data: Dataset) -> DetectorCard:
        from malaprop.features.defending.detection.detector import DetectorCard

        return DetectorCard(
            method=self.method, victim=victim.name, spec=self.victim if isinstance(self.victim, str) else "",
            fingerprint=victim.fingerprint, labels=tuple(victim.label_names or data.labels), data=data.name,
            data_fingerprint=data.fingerprint, attack=", ".join(self.sources),
            false_positives=self.false_positives or _USUAL, least_accuracy=self.least_accuracy, threshold=0.0,
            seed=self.texts.seed,
        )  # fmt: skip

    def gather(self, root: Path) -> TrainedRecord:
        from malaprop.features.defending.detection.detector import read_detector
        from malaprop.frame.records.trained import TrainedModel, TrainedRecord

        card = read_detector(root).card
        least, learnt = card.least_accuracy, f", learnt from {card.attack}" if card.attack else ""
        figures: dict[str, int | float] = {
            "clean_texts": card.clean, "adversarial_texts": card.attacked, "held_out_texts": card.held_out,
            "threshold": card.threshold,
        }  # fmt: skip
        figures |= {"false_positives": card.false_positives} if least is None else {"least_accuracy": least}
        figures |= {} if card.auc is None else {"held_out_auc": round(card.auc, 4)}
        model = TrainedModel(
            name=f"detect:{card.method}({card.victim})", data=card.data, seed=card.seed, figures=figures,
            rates={"held_out_right": card.right, "held_out_left": card.left} if card.left.total else {},
            about=f"a detector of adversarial texts{learnt}; {_name_rule(figures)}",
        )  # fmt: skip
        return TrainedRecord(command=self.command, models=(model,))

    def view(self, record: TrainedRecord) -> View:
        (model,) = record.models
        victim = self.victim if isinstance(self.victim, str) else "VICTIM"
        by = self.saving.out or self.method
        shares = {name: rate.value for name, rate in model.rates.items()}
        whole = {name: rate.to_dict() for name, rate in model.rates.items()}
        return View(
            rows=[{"detector": model.name, **model.figures, **shares}],
            summary={"method": self.method, "name": model.name, **model.figures, **whole},
            notes=[_describe_left(model)] if model.rates else [],
            last=f"detector in {by}",
            next=type_command("audit", victim=f"detect:{by}({victim})", data=self.texts.data),
            report=False,
        )


def _name_rule(figures: Mapping[str, float]) -> str:
    """Name the setting that fixed the threshold."""
    name = next(name for name in ("least_accuracy", "false_positives") if name in figures)
    return f"threshold by --{name.replace('_', '-')} {figures[name]:g}"


def _describe_left(model: TrainedModel) -> str:
    """Describe the accuracy on held-out texts with and without the detector."""
    right, left = (model.rates[name] for name in ("held_out_right", "held_out_left"))
    return (
        f"{_name_rule(model.figures)}: of the held-out texts {left} are answered rightly and not rejected; without the "
        f"detector {right} are right"
    )


def _collect(victim: Victim, inputs: Inputs) -> FitTexts:
    """Return the texts to fit a detector on: those that the victim answers rightly, and their adversarial examples."""
    from malaprop.features.defending.detection.detector import FitTexts

    data = inputs["data"]
    return FitTexts(
        clean={**_answer_rightly(victim, data), **inputs["originals"]}, attacked=inputs["attacked"],
        corpus=inputs["corpus"], tried=inputs["tried"], asked=[example.id for example in data],
    )  # fmt: skip


def _is_run(source: str) -> bool:
    from malaprop.frame.records.run import FILE

    return (Path(source).expanduser() / FILE).is_file()


def _is_broken(outcome: Outcome) -> bool:
    return outcome.status == "success" and outcome.adversarial is not None


def _answer_rightly(victim: Victim, data: Dataset) -> dict[str, Fields]:
    """Return the texts that the victim answers rightly, by their ids."""
    from malaprop.frame.study.shared_tasks import find_correct_texts

    right = dict(zip((example.id for example in data), find_correct_texts(victim, data).right, strict=True))
    return {example.id: tuple(example.fields.values()) for example in data if right[example.id]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicions:
    """A detector's scores for the clean and the adversarial texts of a run; a file has clean ones alone."""

    name: str
    recipe: str
    goal: str
    data: str
    clean: tuple[float, ...]
    attacked: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class DetectScore:
    """Score a fitted detector: how well it tells the adversarial texts of finished attacks from their originals.

    Examples:

      malaprop detect score models/wdr --data runs/pwws,runs/textfooler --out runs/detected

      malaprop detect score models/wdr --data reviews.csv     (clean texts alone: how many it rejects)
    """

    command: ClassVar[str] = "detect score"

    folder: Path = opt(help="A folder that malaprop detect fit wrote.", argument=True)
    data: tuple[str, ...] = opt(
        help="Folders of attack runs, files of clean texts. Also folders that hold runs; separated by commas."
    )
    victim: Any = opt(None, f"{VICTIM} If not given, the one that the detector was fitted for.", repeat=True)
    n: int = opt(1000, "The most texts of a file or a run.", min=1)
    seed: int = opt(0, "Which texts are taken of a file that has more.", min=0)
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def detector(self) -> Detector:
        from malaprop.features.defending.detection.detector import read_detector

        return read_detector(self.folder)

    @cached_property
    def target(self) -> Any:
        found = self.detector.card.spec if self.victim is None else self.victim
        if not found:
            raise SettingError("this detector was fitted for an object of Python; name the victim: --victim")
        return found

    @cached_property
    def sources(self) -> Mapping[str, Path]:
        """Return the runs and files to score, by names fit for a folder."""
        from malaprop.frame.records.store import find_runs

        out: dict[str, Path] = {}
        for given in self.data:
            path = Path(given).expanduser()
            if path.is_dir() and not (runs := find_runs([path])):
                raise RecordError(f"{path} holds no attack run; write one with malaprop attack RECIPE --out {path}")
            for one in runs if path.is_dir() else [path]:
                name = slug(one.name if one.name not in out else "-".join(one.parts[-2:]))
                if name in out:
                    raise SettingError(f"--data names {name} twice")
                out[name] = one
        return out

    def check(self) -> None:
        from malaprop.frame.records.run import Run

        card = self.detector.card
        assert self.target is not None
        for path in self.sources.values():
            if not path.is_dir():
                continue
            run = Run.read(path)
            theirs = run.fingerprints.get("victim", "")
            if card.fingerprint and theirs and theirs != card.fingerprint:
                raise SettingError(
                    f"{path} holds attacks on {run.victim}, and this detector was fitted for {card.victim}, another "
                    "model; fit one for that victim, or attack this one"
                )

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task

        for name in self.sources:
            yield Task(
                name=f"scores/{name}", work=partial(self.judge, name), output=JsonFile(Suspicions),
                reads=partial(self.read, name), victims={"victim": self.target}, holds=("victim",), vital=True,
            )  # fmt: skip

    def read(self, name: str, inputs: Inputs) -> Inputs:
        """Return the texts of a run or a file, with the detector, which a worker may not have on its disk."""
        del inputs
        path = self.sources[name]
        texts = _read_run(path, self.n) if path.is_dir() else _read_file(path, self.n, self.seed)
        return {"texts": texts, "detector": self.detector}

    def judge(self, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[Suspicions]:
        texts: RunTexts = inputs["texts"]
        detector: Detector = inputs["detector"]
        victim = context.victim(inputs["victim"])
        detector.check(victim)

        def judge(fields: Sequence[Fields], what: str) -> tuple[float, ...]:
            from malaprop.frame.runs.defended import cut_up

            found: list[float] = []
            for begin in range(0, len(fields), _BLOCK):
                found += detector.judge(victim, cut_up(fields[begin : begin + _BLOCK]), exact=False).tolist()
                context.note(f"{name}: {len(found):,} of {len(fields):,} {what} texts")
            return tuple(found)

        yield Suspicions(
            name=name, recipe=texts.recipe, goal=texts.goal, data=texts.data, clean=judge(texts.clean, "clean"),
            attacked=judge(texts.attacked, "adversarial"),
        )  # fmt: skip

    def gather(self, root: Path) -> DetectionRecord:
        from malaprop.features.defending.detection_record import DetectionRecord
        from malaprop.frame.tasks.outputs import read_json, value_file

        card = self.detector.card
        found = [read_json(value_file(root / "scores" / name), Suspicions) for name in self.sources]
        return DetectionRecord(
            method=card.method, victim=card.victim, fitted_on=card.data, attack=card.attack,
            false_positives=card.false_positives, least_accuracy=card.least_accuracy,
            runs=tuple(add_up(one, card) for one in found),
        )  # fmt: skip

    def view(self, record: DetectionRecord) -> View:
        rows = [
            {"run": one.name, "recipe": one.recipe, "goal": one.goal, "auc": one.auc, "caught": one.caught.value,
             "rejected": one.rejected.value, "rejected_clean": one.rejected_clean.value}
            for one in record.runs
        ]  # fmt: skip
        return View(rows=rows, summary={"command": self.command, **record.to_dict()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTexts:
    """The texts that a detector is scored on."""

    data: str
    recipe: str = ""
    goal: str = ""
    clean: Sequence[Fields]
    attacked: Sequence[Fields] = ()


def _read_run(folder: Path, most: int) -> RunTexts:
    from malaprop.frame.records.run import Run
    from malaprop.frame.records.store import outcomes_of

    run = Run.read(folder)
    broken = sorted(filter(_is_broken, outcomes_of(folder)), key=lambda one: one.id)[:most]
    if not broken:
        raise RecordError(f"{folder} holds no adversarial text to score: no attack of {run.recipe} succeeded")
    return RunTexts(
        data=run.data,
        recipe=run.recipe,
        goal=_name_goal(run.parts.get("goal", {})),
        clean=[tuple(o.original.fields.values()) for o in broken],
        attacked=[tuple(o.adversarial.fields.values()) for o in broken if o.adversarial is not None],
    )


def _name_goal(parts: Any) -> str:
    """Return a goal as a user types it, from its entry in run.toml."""
    given = dict(parts) if isinstance(parts, Mapping) else {}
    name = str(given.pop("kind", "")).lower()
    return ":".join([name, *map(str, given.values())])


def _read_file(path: Path, most: int, seed: int) -> RunTexts:
    found = Selection(data=str(path), n=most, split="all", seed=seed).examples()
    return RunTexts(data=found.name, clean=[tuple(example.fields.values()) for example in found])


def add_up(found: Suspicions, card: DetectorCard) -> DetectedRun:
    """Return the detection rates of one run."""
    from malaprop.features.defending.detection.rates import find_auc, find_threshold
    from malaprop.features.defending.detection_record import DetectedRun
    from malaprop.frame.records.summary import Rate

    def count(scores: Sequence[float], threshold: float) -> Rate:
        return Rate(sum(score > threshold for score in scores), len(scores))

    made = DetectedRun(
        name=found.name, recipe=found.recipe, goal=found.goal, data=found.data,
        rejected=count(found.attacked, card.threshold), rejected_clean=count(found.clean, card.threshold),
    )  # fmt: skip
    if not found.attacked:
        return made
    auc = find_auc(found.clean, found.attacked)
    caught = count(found.attacked, find_threshold(found.clean, card.false_positives))
    value, low, high = (round(one, 4) for one in auc)
    return replace(made, auc=value, auc_low=low, auc_high=high, caught=caught)


def detect(
    method: str, victim: Any, data: Any = "mr", *, out: str | os.PathLike[str] | None = None, **settings: Any
) -> Result:
    """Fit a detector of adversarial texts for a victim, as `malaprop detect fit` does.

    `method` is fgws, wdr, rde, rtd, perplexity, near, cloze or all; `victim` is what `mp.victim` takes; `data` is a
    name, a file, pairs or a frame. Further keywords are options of the command: n, attack, false_positives,
    least_accuracy, seed, device. Without `out` a temporary folder is used, which goes with the result.
    `mp.study("detect score", folder=..., data=...)` tells how well the detector works on finished attacks.

        found = mp.detect("fgws", "models/mine", "reviews.csv", out="models/fgws")
        guarded = mp.victim("detect:models/fgws(models/mine)")
    """
    from malaprop.frame.study.settings import build
    from malaprop.frame.study.study import conduct

    given = {"method": method, "victim": victim, "data": data, **({} if out is None else {"out": out})}
    return conduct(build(DetectFit, {"quiet": True, **given, **settings}))
