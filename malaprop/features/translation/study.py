"""malaprop translate attack, typos and probe: settings and tasks of attacks on translation models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.data.base import Dataset
    from malaprop.features.translation.attacks.goals import TranslationGoal
    from malaprop.features.translation.models.translator import Translator
    from malaprop.features.translation.record import TranslationExamples, TranslationRecord, TranslationRun
    from malaprop.features.translation.run import TranslationAttack
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

GOALS = ("keyword", "bleu", "non-overlap")
WORDS = 3  # default of the most words of a source to change
VICTIM = (
    "The translator: a folder, function or hub name. A folder written by train nmt-lstm or nmt-transformer, "
    "module:function (a list of sources to a list of translations), or a sequence-to-sequence model of transformers: "
    "its folder or hub:NAME."
)
_PUT = "vocabulary, typos, synonyms or inflections. What takes a word's place."


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The sentence pairs to attack, and the beam width of the victim."""

    data: str = opt(
        "eng-fra", "eng-fra, multi30k, or a file. multi30k needs MALAPROP_DATA; a file has source,target (or src,tgt)."
    )
    n: int = opt(100, min=0, words={"all": 0})
    split: str = opt(
        "auto",
        "train, validation, test, all or auto. Of a file, the parts are as train cuts them.",
    )
    seed: int = opt(0, min=0)
    beam: int = opt(5, "Width of the beam that translates.", min=1)

    def whole(self, victim: str) -> Dataset:
        """Read all sentences of the part, in the order of the data."""
        from malaprop.features.translation.run import check_pairs

        return check_pairs(Selection(data=self.data, split=self.split, n=0).pairs([victim]))

    def read(self, victim: str) -> Dataset:
        """Read the sentences, sampled by the seed; all of them come in the order of the data."""
        from malaprop.features.translation.run import check_pairs

        asked = Selection(data=self.data, split=self.split, n=self.n, seed=self.seed)
        return check_pairs(asked.pairs([victim]))

    def choose(self, victim: str, inputs: Inputs) -> Dataset:
        """Return the sentences to attack."""
        del inputs
        return self.whole(victim).sample(self.n or None, self.seed)

    def words(self, victim: str, inputs: Inputs) -> Inputs:
        """Return the words of all sources, for a model without a vocabulary of its own."""
        from malaprop.features.translation.models.checkpoint import is_translator
        from malaprop.features.translation.models.train import words_of

        del inputs
        if is_translator(Path(victim)):
            return {"words": ()}
        return {"words": tuple(words_of(example.fields["source"] for example in self.whole(victim)))}

    def load(self, worker: WorkerContext, spec: Any) -> Translator:
        """Load the model once in each process."""
        from malaprop.features.translation.models.victim import load

        return worker.keep(f"translator {spec}, {self.beam}", lambda: load(spec, device=worker.device, beam=self.beam))

    def task(self, name: str, victim: str, work: Any, *, at: str = ".", words: bool = False) -> Task:
        """Return the task of a run over the sentences."""
        from malaprop.frame.tasks.outputs import RunFolder
        from malaprop.frame.tasks.task import Task

        return Task(
            name=name, work=work, at=at,
            output=RunFolder(error="malaprop.features.translation.run:error_sentence", checks=True),
            items=partial(self.choose, victim), reads=partial(self.words, victim) if words else None, vital=True,
            victims={"victim": victim}, holds=("victim",),
        )  # fmt: skip

    def attack(
        self,
        translator: Translator,
        attack: TranslationAttack,
        share: Share,
        name: str,
        parts: Mapping[str, Any],
        width: int,
    ) -> Iterator[Any]:
        """Attack the sentences and yield the content of a run folder; raise if every sentence ended in an error."""
        from malaprop.features.translation.run import describe_sentences, run

        yield describe_sentences(
            translator, share.whole, name=name, parts={**parts, "beam": self.beam}, seed=self.seed, width=width
        )
        errors: list[str] = []
        for outcome in run(attack, translator, share.items, seed=self.seed, width=width):
            if outcome.status == "error":
                errors.append(outcome.reason or "")
            yield outcome
        if errors and len(errors) == len(share.whole):
            raise VictimError(f"all {len(errors)} sentences ended in an error: {errors[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How many words of a source an attack changes and tries."""

    words: int | None = opt(
        None,
        "Most words of a source that change. 3 if not given, and with --goal non-overlap as many as 30 characters of "
        "difference allow.",
        min=1,
    )
    sweep: int = opt(
        2000,
        "How many words are tried in a place. Of the vocabulary, drawn by the seed; all (or 0) for all.",
        min=0,
        words={"all": 0},
    )
    tries: int = opt(32, "How many of them are translated.", min=1)
    maps: int = opt(2, "Successes that are shown with attention. Where the victim is our own.", min=0, free=True)

    def make(
        self, goal: TranslationGoal, kind: str, put: str, translator: Translator, words: Sequence[str]
    ) -> tuple[Any, Any]:
        """Return the attack and its description for run.toml; raise on a keyword that the model cannot spell."""
        from malaprop.features.translation.attacks.goals import BleuDrop, KeywordAppears, NonOverlap
        from malaprop.features.translation.attacks.replacements import REPLACEMENTS
        from malaprop.features.translation.attacks.sweep import GreedySource, WordSweep

        if goal.lead is not None and not translator.spells(goal.lead.word):
            raise SettingError(
                f"{translator.name} cannot spell {goal.lead.word!r}: it holds letters that its target vocabulary "
                "lacks; choose another word"
            )
        known = translator.words or words
        others = REPLACEMENTS[put](**({"words": known} if put == "vocabulary" else {}))
        if isinstance(goal, NonOverlap):
            greedy = GreedySource(goal=goal, replacements=others, words=self.words)
            about = {"kind": kind, "replace": put, "edits": greedy.edits, "guided": False}
            return greedy, about if self.words is None else {**about, "words": self.words}
        made = WordSweep(
            goal=goal, replacements=others, guided=translator.guides, words=self.words or WORDS,
            sweep=self.sweep or max(1, len(known)), tries=self.tries,
        )  # fmt: skip
        parts: dict[str, Any] = {"kind": kind, "words": made.words, "sweep": made.sweep, "tries": self.tries}
        parts |= {"replace": put, "guided": made.guided}
        if isinstance(goal, BleuDrop):
            parts["drop"] = goal.share
        if isinstance(goal, KeywordAppears):
            parts["free"] = goal.free
        return made, parts

    def look_task(self, run: str, victim: str, target: Target) -> Task:
        """Return the task that stores the attention of a few successes of a run."""
        from malaprop.features.translation.record import TranslationExamples
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task

        return Task(
            name=f"sights/{run}", work=partial(self.look, run, target), after=(run,),
            output=JsonFile(TranslationExamples, again=True), victims={"victim": victim}, holds=("victim",),
        )  # fmt: skip

    def look(self, run: str, target: Target, worker: WorkerContext, inputs: Inputs) -> Iterator[TranslationExamples]:
        from malaprop.features.translation.record import TranslationExamples
        from malaprop.features.translation.run import sights

        yield TranslationExamples(tuple(sights(run, target.load(worker, inputs["victim"]), inputs[run], self.maps)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateAttack:
    """Bring a word into the translation, make BLEU fall, or change every word of it, by changing words of the source.

    Examples:

      malaprop translate attack --victim models/nmt --keyword chien --n 50

      malaprop translate attack --victim my_model:translate --data pairs.csv --goal bleu --replace typos

      malaprop translate attack --victim models/nmt --goal non-overlap --n 50
    """

    command: ClassVar[str] = "translate attack"

    victim: str = opt(help=VICTIM, repeat=True)
    keyword: tuple[str, ...] = opt(
        (), "A word that must appear in the translation. Repeat it, or separate several by commas.", free=True,
        repeat=True,
    )  # fmt: skip
    goal: str = opt(
        "keyword",
        "keyword, bleu or non-overlap. keyword: bring a word into the output; bleu: make BLEU fall; non-overlap: "
        "change every word of it (Seq2Sick).",
    )
    drop: float = opt(0.5, "With --goal bleu: how far it must fall. Sentence BLEU, as a share.")
    free: bool = opt(
        False, "Also count replacements that become it. Those that are themselves translated to the keyword."
    )
    replace: str | None = opt(
        None, f"{_PUT} If not given: typos with --goal bleu, synonyms with non-overlap, else vocabulary."
    )
    changes: Changes = Changes()
    target: Target = Target()
    width: int = width_option(64)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def goals(self) -> dict[str, TranslationGoal]:
        """Return one goal for each keyword, or the goal without keywords, by folder names."""
        from malaprop.core.catalogue import unknown
        from malaprop.features.translation.attacks.goals import BleuDrop, KeywordAppears, NonOverlap

        if self.goal not in GOALS:
            raise unknown("goal", self.goal, GOALS)
        if self.goal != "keyword":
            if self.keyword:
                raise SettingError(
                    f"--goal {self.goal} takes no --keyword, got {', '.join(self.keyword)}; leave one out"
                )
            return {self.goal: BleuDrop(share=self.drop) if self.goal == "bleu" else NonOverlap()}
        if not self.keyword:
            raise SettingError("--goal keyword needs a word: --keyword WORD, or --goal bleu")
        made = [KeywordAppears(word=word, free=self.free) for word in dict.fromkeys(self.keyword)]
        return {slug(goal.name): goal for goal in made}

    @property
    def put(self) -> str:
        return self.replace or {"bleu": "typos", "non-overlap": "synonyms"}.get(self.goal, "vocabulary")

    def place(self, name: str) -> str:
        """Return the folder of a run: the study's own, or one for each of several keywords."""
        return "." if len(self.goals) == 1 else name

    def check(self) -> None:
        check_settings(self.where, self.put)

    def plan(self) -> Iterator[Task]:
        for name in self.goals:
            yield self.target.task(name, self.victim, partial(self.search, name), at=self.place(name), words=True)
            if self.changes.maps:
                yield self.changes.look_task(name, self.victim, self.target)

    def search(self, name: str, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        goal, translator = self.goals[name], self.target.load(worker, inputs["victim"])
        made, parts = self.changes.make(goal, self.goal, self.put, translator, inputs["words"])
        yield from self.target.attack(translator, made, share, goal.name, parts, self.width)

    def gather(self, root: Path) -> TranslationRecord:
        return gather_runs(root, {name: self.place(name) for name in self.goals})

    def gather_part(self, root: Path) -> TranslationRecord:
        return gather_runs(root, {name: self.place(name) for name in self.goals}, whole=False)

    def view(self, record: TranslationRecord) -> View:
        return view_runs(record, self.goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateTypos:
    """Put misspellings that people made into each sentence, and score BLEU before and after.

    Examples:

      malaprop translate typos --victim models/nmt --data multi30k

      malaprop translate typos --victim my_model:translate --data pairs.csv --n 200 --typos 2
    """

    command: ClassVar[str] = "translate typos"

    victim: str = opt(help=VICTIM, repeat=True)
    typos: int = opt(1, "How many words of each sentence are misspelt.", min=1)
    target: Target = Target(n=0)
    width: int = width_option()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    def check(self) -> None:
        check_settings(self.where, "typos")

    def plan(self) -> Iterator[Task]:
        yield self.target.task("typos", self.victim, self.misspell)

    def misspell(self, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        from malaprop.features.translation.attacks.sweep import NaturalTypos

        translator = self.target.load(worker, inputs["victim"])
        about = {"kind": "typos", **({"typos": self.typos} if self.typos > 1 else {})}
        yield from self.target.attack(translator, NaturalTypos(typos=self.typos), share, "typos", about, self.width)

    def gather(self, root: Path) -> TranslationRecord:
        return gather_runs(root)

    def gather_part(self, root: Path) -> TranslationRecord:
        return gather_runs(root, whole=False)

    def view(self, record: TranslationRecord) -> View:
        return view_runs(record, "typos")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateProbe:
    """Change words of the source until a function of source and output is true.

    Examples:

      malaprop translate probe --victim models/nmt --probe word-appears:non

      malaprop translate probe --victim my_model:translate --data pairs.csv --probe my_probes:drops_the_verb
    """

    command: ClassVar[str] = "translate probe"

    victim: str = opt(help=VICTIM, repeat=True)
    probe: str = opt(
        help="The check of an output: a function or a name. module:function (source and output to true or false, "
        "or to a number that is 1 when reached), word-appears:WORD, or translation-disappears:WORD[,ITS "
        "TRANSLATION]."
    )
    replace: str = opt("vocabulary", _PUT)
    changes: Changes = Changes()
    target: Target = Target()
    width: int = width_option(64)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def goal(self) -> TranslationGoal:
        from malaprop.features.translation.attacks.goals import probe
        from malaprop.frame.runs.load_victim import resolve

        return probe(self.probe, resolve)

    def check(self) -> None:
        assert self.goal
        check_settings(self.where, self.replace)

    def plan(self) -> Iterator[Task]:
        yield self.target.task("probe", self.victim, self.search, words=True)
        if self.changes.maps:
            yield self.changes.look_task("probe", self.victim, self.target)

    def search(self, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        translator = self.target.load(worker, inputs["victim"])
        goal = self.goal.ready(lambda texts: translator.translate(texts))
        made, parts = self.changes.make(goal, "probe", self.replace, translator, inputs["words"])
        yield from self.target.attack(translator, made, share, goal.name, parts, self.width)

    def gather(self, root: Path) -> TranslationRecord:
        return gather_runs(root, {"probe": "."})

    def gather_part(self, root: Path) -> TranslationRecord:
        return gather_runs(root, {"probe": "."}, whole=False)

    def view(self, record: TranslationRecord) -> View:
        return view_runs(record, "probe")


def check_settings(where: RunOptions, put: str) -> None:
    """Raise on unknown replacements and on --precision, which translation models do not use."""
    from malaprop.features.translation.attacks.replacements import REPLACEMENTS

    assert REPLACEMENTS[put]
    if where.precision != "auto":
        raise SettingError("translation models compute in fp32; leave out --precision")


def gather_runs(root: Path, places: Mapping[str, str] | None = None, *, whole: bool = True) -> TranslationRecord:
    """Return the record of all runs below the folder, with the attention of a few successes of the runs at `places`."""
    from malaprop.features.translation.record import TranslationExamples
    from malaprop.features.translation.run import gather
    from malaprop.frame.records.run import Run
    from malaprop.frame.tasks.outputs import read_json, value_file

    record = gather([root])
    for run in record.runs if whole else ():
        if run.errors and not (run.success.total or run.skipped):
            raise VictimError(f"all {run.errors} sentences of {run.attack} ended in an error; see {root}")
    seen = []
    for name, place in (places or {}).items():
        if (file := value_file(root / "sights" / name)).is_file():
            attack = Run.read(root / place).recipe
            seen += [replace(sight, attack=attack) for sight in read_json(file, TranslationExamples).found]
    return replace(record, sights=tuple(seen))


def view_runs(record: TranslationRecord, kind: str) -> View:
    rows = [_summarize(run) for run in record.runs]
    return View(rows=rows, summary={"command": f"translate {kind}", "runs": rows})


def _summarize(run: TranslationRun) -> dict[str, Any]:
    scores = {
        name: None if found is None else {"value": found.value, "low": found.low, "high": found.high}
        for name, found in (("before", run.before), ("after", run.after), ("drop", run.drop))
    }
    plain = {name: getattr(run, name) for name in ("attack", "victim", "data", "skipped", "errors", "asked")}
    return {**plain, "success": run.success.to_dict(), "bleu": scores}
