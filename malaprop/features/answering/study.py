"""malaprop qa attack: settings and tasks of attacks on question answering, and the record of their runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study.attack_tasks import Conditions, validity_option
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import describe_errors, slug
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Dataset
    from malaprop.features.answering.readers import Reader
    from malaprop.features.answering.record import AnsweredExample, AnsweringRecord, AnsweringRun, Points
    from malaprop.frame.records.outcome import Outcome, Side
    from malaprop.frame.records.run import Run
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

_REDRAWS = 1000  # bootstrap samples of an interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAttack:
    """Make a model answer questions on a text wrongly: words outside the answer change, or sentences are added.

    Examples:

      malaprop qa attack --victim models/squad --data dev-v1.1.json --attack addsent

      malaprop qa attack --victim my_reader:answer --data questions.jsonl --attack pwws,addsent,addany --below 0.2
    """

    command: ClassVar[str] = "qa attack"

    victim: str = opt(
        help=
            "The reader: a folder or a function. A folder of a transformers question-answering model, or "
            "module:function (a list of (question, context) to an answer, its start and end, or a mapping from "
            "answers to scores, for each).",
        repeat=True,
    )  # fmt: skip
    data: str = opt(help="SQuAD's JSON, or JSONL. With question, context, answers.")
    attacks: tuple[str, ...] = opt(
        ("addsent",), "addsent, addany, or recipes. Recipes change words outside the true answers.",
        name="attack", free=True, repeat=True,
    )  # fmt: skip
    settings: Mapping[str, Any] = opt({}, name="set")
    below: float = opt(0.5, "An answer is lost if its F1 is below this. From 0 to 1.")
    validity: str = validity_option()
    language: str = opt(
        "auto", "The language of the contexts, such as de. Or several, separated by commas; auto detects it for each."
    )
    budget: int | None = opt(None, min=1)
    n: int = opt(100, min=0, words={"all": 0})
    seed: int = opt(0, min=0)
    examples: int = opt(5, "How many successes the report shows. Of each run.", min=0, free=True)
    width: int = width_option()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def conditions(self) -> Conditions:
        """What keeps the meaning of contexts, as it does for texts."""
        return Conditions(validity=self.validity, language=self.language, width=self.width)

    def make(self, name: str) -> Attack:
        from malaprop.features.answering.attacks import make

        return make(name, self.settings, self.budget)

    def check(self) -> None:
        from malaprop.features.answering.attacks import ADDING

        if self.where.precision != "auto":
            raise SettingError("question answering computes in fp32; leave out --precision")
        if not 0 < self.below <= 1:
            raise SettingError(f"--below must be above 0 and at most 1, got {self.below}")
        if not self.attacks:
            raise SettingError("--attack names no attack")
        for name in self.attacks:
            if name in ADDING and self.validity != "paper":
                raise SettingError(f"{name} adds a sentence, which the judge of meaning refuses; take --validity paper")
            self.conditions.check(self.where, self.make(name))
        self.read()  # an error in the data should not wait for a model to load
        self.conditions.fetch_judge()

    def read(self) -> Dataset:
        """Read the whole file."""
        from malaprop.features.answering.data import read_questions

        return read_questions(self.data)

    def choose(self, inputs: Inputs) -> Dataset:
        """Return the questions to attack."""
        del inputs
        return self.read().sample(self.n or None, self.seed)

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import RunFolder
        from malaprop.frame.tasks.task import Task

        for name in dict.fromkeys(self.attacks):
            yield Task(
                name=name, work=partial(self.search, name), at="." if len(self.attacks) == 1 else slug(name),
                output=RunFolder(checks=True), items=self.choose, reads=partial(self.find_reader, name), vital=True,
                victims={"victim": self.victim}, holds=("victim",),
            )  # fmt: skip

    def find_reader(self, name: str, inputs: Inputs) -> Inputs:
        """Return the languages of the contexts, what the attack lacks in them, and whether the judge can read them."""
        return self.conditions.look_at(self.make(name), self.choose(inputs), "context")

    def search(self, name: str, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the questions; yield the run's description and the outcomes, with the answers before and after."""
        from malaprop.core.victim import VictimDescription
        from malaprop.features.answering.readers import load
        from malaprop.features.answering.scoring import LABELS, as_victim
        from malaprop.frame.records.run import ANSWERING
        from malaprop.frame.runs.folder import describe
        from malaprop.frame.runs.local import run

        spec = inputs["victim"]
        reader = worker.keep(f"reader {spec}", lambda: load(spec, device=worker.device))
        victim = as_victim(reader, self.below)
        attack = self.conditions.keep_meaning(self.make(name).but(languages=inputs["languages"]), inputs)
        about = VictimDescription.of(victim)
        told = describe(attack, about, share.whole, seed=self.seed, width=self.width, notes=inputs["notes"])
        more = {"task": ANSWERING, "below": self.below, "validity": self.validity}
        yield replace(told, labels=LABELS, parts={**told.parts, **more})
        errors: list[str] = []
        for outcome in run(attack, victim, share.items, seed=self.seed, width=self.width):
            if outcome.status == "error":
                errors.append(outcome.reason or "")
            yield _with_answers(outcome, reader)
        if errors and len(errors) == len(share.whole):
            which = "the only question" if len(errors) == 1 else f"all {len(errors)} questions"
            raise VictimError(f"{which} ended in an error: {errors[0]}")

    def gather(self, root: Path) -> AnsweringRecord:
        record = gather([root], self.examples)
        for run in record.runs:
            if run.errors and not (run.success.total or run.skipped):
                raise VictimError(f"all {run.errors} questions of {run.attack} ended in an error; see {root}")
        return record

    def gather_part(self, root: Path) -> AnsweringRecord:
        return gather([root], self.examples)

    def view(self, record: AnsweringRecord) -> View:
        rows = [
            {**asdict(run), "success": run.success.to_dict(), "kept": None if run.kept is None else run.kept.to_dict()}
            for run in record.runs
        ]
        return View(rows=rows, summary={"command": self.command, "runs": rows})


def _with_answers(made: Outcome, reader: Reader) -> Outcome:
    """Return the outcome with the reader's answers, each from a fresh query."""
    if made.status == "error":
        return made

    def answered(side: Side) -> Side:
        ((best, _), *_) = reader.ask([(side.fields["question"], side.fields["context"])])[0]
        return replace(side, fields={**side.fields, "answered": best})

    after = made.adversarial and answered(made.adversarial)
    return replace(made, original=answered(made.original), adversarial=after)


# --- the record


def gather(folders: Iterable[Path], examples: int) -> AnsweringRecord:
    """Return the record of every run on question answering at or below the folders, with a few successes of each."""
    from malaprop.features.answering.record import AnsweringRecord
    from malaprop.frame.records.run import Run, is_answering
    from malaprop.frame.records.store import find_runs, read_outcomes

    found = [(described, at) for at in find_runs(folders) if is_answering(described := Run.read(at))]
    read = [(described, sorted(read_outcomes(at), key=lambda one: one.id)) for described, at in found]
    return AnsweringRecord(
        runs=tuple(summarize_run(described, outcomes) for described, outcomes in read),
        examples=tuple(one for described, outcomes in read for one in show(described, outcomes, examples)),
    )


def summarize_run(described: Run, outcomes: Sequence[Outcome]) -> AnsweringRun:
    """Compute the figures of one run."""
    from malaprop.features.answering.record import AnsweringRun
    from malaprop.features.answering.scoring import f1, is_exact
    from malaprop.frame.records.summary import Rate

    tried = [one for one in outcomes if one.status in ("success", "failed")]
    won = [one for one in tried if one.status == "success"]
    both = [one for one in outcomes if one.status != "error"]
    answers = [[one.original.fields["answered"] for one in both], [_after(one) for one in both]]
    pairs = [list(zip(given, map(_true, both), strict=True)) for given in answers]
    before, after = ([100 * f1(answer, true) for answer, true in side] for side in pairs)
    exact = [[100.0 * is_exact(answer, true) for answer, true in side] for side in pairs]
    return AnsweringRun(
        attack=described.recipe, below=float(described.parts.get("below", 0)), victim=described.victim,
        validity=str(described.parts.get("validity", "paper")), data=described.data, questions=len(both),
        success=Rate(len(won), len(tried)),
        kept=Rate(sum(one.broken for one in won), len(tried)) if any(one.meaning is not None for one in won) else None,
        skipped=sum(one.status == "skipped" for one in outcomes), errors=len(outcomes) - len(both),
        failure=describe_errors(outcomes, "questions"),
        clean=_mean(before, described.seed), attacked=_mean(after, described.seed),
        lost=_mean([a - b for a, b in zip(before, after, strict=True)], described.seed),
        exact_clean=round(fmean(exact[0]), 4) if both else None,
        exact_attacked=round(fmean(exact[1]), 4) if both else None,
        asked=round(fmean([one.queries.asked for one in tried]), 6) if tried else None,
    )  # fmt: skip


def _true(one: Outcome) -> list[str]:
    found: list[str] = json.loads(one.original.fields["answers"])
    return found


def _after(one: Outcome) -> str:
    """Return the answer under attack; an attempt that the judge of meaning refuses is none."""
    refused = one.status == "failed" and one.meaning is not None
    side = one.original if one.adversarial is None or refused else one.adversarial
    return side.fields["answered"]


def _mean(values: Sequence[float], seed: int) -> Points | None:
    """Return the mean with the percentiles of redrawn sets of questions."""
    import numpy as np

    from malaprop.features.answering.record import Points

    if not values:
        return None
    drawn = np.random.default_rng(seed).choice(np.asarray(values), (_REDRAWS, len(values))).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return Points(round(fmean(values), 4), round(low, 4), round(high, 4))


def show(described: Run, outcomes: Sequence[Outcome], most: int) -> Iterator[AnsweredExample]:
    """Yield the first successes by id."""
    from malaprop.features.answering.record import AnsweredExample
    from malaprop.frame.report.diff import mark_changes

    for one in [one for one in outcomes if one.status == "success" and one.adversarial][:most]:
        assert one.adversarial is not None
        pieces = mark_changes(one)["context"]
        before, after = (
            tuple((piece.text, piece.kind != "same") for piece in pieces if piece.kind in ("same", kind))
            for kind in ("old", "new")
        )
        yield AnsweredExample(
            attack=described.recipe, victim=described.victim, id=one.id, question=one.original.fields["question"],
            true=tuple(_true(one)), before=before, after=after, first=one.original.fields["answered"],
            last=one.adversarial.fields["answered"],
        )  # fmt: skip
