"""malaprop tag attack: settings and tasks of attacks on taggers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study.attack_tasks import Conditions, judge_option, validity_option
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.data.base import Dataset
    from malaprop.features.tagging.record import TaggingRecord, TaggingRun
    from malaprop.features.tagging.taggers import Mapped
    from malaprop.features.tagging.victim import TagGoal
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

VICTIM = (
    "The tagger, such as spacy:NAME or a folder. spacy:NAME (spacy:en_core_web_md comes as an asset), a folder of "
    "spaCy or of a transformers token-classification model, or module:function (a list of token lists to a list of "
    "tags, or of tag scores, for each)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagAttack:
    """Make a tagger miss, mislabel, cut or invent entities, by changing words around them.

    Examples:

      malaprop tag attack --victim spacy:en_core_web_md --data wikigold.jsonl --map conll --attack pwws

      malaprop tag attack --victim my_tagger:tag --data test.conll --attack seqattack:bae --goal missed

      malaprop tag attack --victim models/ner --data test.jsonl --attack deepwordbug,typos --entities same-class
    """

    command: ClassVar[str] = "tag attack"

    victim: str = opt(help=VICTIM, repeat=True)
    data: str = opt(
        help="A CoNLL or JSONL file. CoNLL: token first, tag last, blank lines between sentences; JSONL: tokens, tags."
    )
    attacks: tuple[str, ...] = opt(
        ("pwws",),
        "Recipes such as pwws or seqattack:bae. SeqAttack's are seqattack:bae, :bert-attack, :clare, :deepwordbug, "
        ":morpheus, :textfooler.",
        name="attack", free=True, repeat=True,
    )  # fmt: skip
    settings: Mapping[str, Any] = opt({}, name="set")
    goal: str = opt("any", "What must happen to an entity. Any of missed, mislabelled, cut; or invented; or any.")
    share: float = opt(1.0, "The share of entities to which it must happen. Of those that the tagger finds.")
    entities: str = opt(
        "keep",
        "keep or same-class. keep: words of entities stay; same-class: they may become words of other entities of "
        "the class.",
    )
    map: str | None = opt(
        None, "The tagger's classes in the data's terms. PERSON=PER,GPE=LOC,..., others become O; or conll."
    )
    validity: str = validity_option()
    judge: str = judge_option()
    language: str = opt(
        "auto",
        "The language of the texts, such as de. Or several, separated by commas; auto detects it for each sentence.",
    )
    budget: int | None = opt(None, min=1)
    n: int = opt(100, min=0, words={"all": 0})
    seed: int = opt(0, min=0)
    examples: int = opt(5, "How many successes the report shows. Of each run.", min=0, free=True)
    width: int = width_option()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def aim(self) -> TagGoal:
        from malaprop.features.tagging.victim import TagGoal

        return TagGoal(kind=self.goal, share=self.share)

    @property
    def conditions(self) -> Conditions:
        """What keeps the meaning of sentences, as it does for texts."""
        return Conditions(validity=self.validity, judge=self.judge, language=self.language)

    def check(self) -> None:
        from malaprop.core.catalogue import unknown
        from malaprop.features.tagging.presets import make
        from malaprop.features.tagging.rules import ENTITIES, check_attack
        from malaprop.features.tagging.taggers import parse_map

        if self.where.precision != "auto":
            raise SettingError("taggers compute in fp32; leave out --precision")
        if self.entities not in ENTITIES:
            raise unknown("treatment of entities", self.entities, ENTITIES)
        if self.entities != "keep" and self.validity != "paper":
            raise SettingError(
                f"--entities {self.entities} names others than the sentence does, which the judge of meaning refuses; "
                "take --validity paper"
            )
        if not self.attacks:
            raise SettingError("--attack names no recipe")
        assert self.aim
        parse_map(self.map)
        for name in self.attacks:
            made = make(name, self.settings, self.budget)
            check_attack(made)
            self.conditions.check(self.where, made)
        self.read()  # an error in the data should not wait for a model to load
        self.conditions.fetch_judge()

    def read(self) -> Dataset:
        """Read the whole file."""
        from malaprop.features.tagging.data import read_sentences

        return read_sentences(self.data)

    def choose(self, inputs: Inputs) -> Dataset:
        """Return the sentences to attack."""
        del inputs
        return self.read().sample(self.n or None, self.seed)

    def place(self, name: str) -> str:
        """Return the folder of a run: the study's own, or one for each of several attacks."""
        return "." if len(self.attacks) == 1 else slug(name)

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import RunFolder
        from malaprop.frame.tasks.task import Task

        for name in dict.fromkeys(self.attacks):
            yield Task(
                name=name, work=partial(self.search, name), at=self.place(name),
                output=RunFolder(error="malaprop.features.tagging.run:error_sentence", checks=True),
                items=self.choose, reads=partial(self.find_reader, name), vital=True,
                victims={"victim": self.victim}, holds=("victim",),
            )  # fmt: skip

    def find_reader(self, name: str, inputs: Inputs) -> Inputs:
        """Return the languages of the sentences, what the attack lacks in them, and whether the judge can read them."""
        from malaprop.features.tagging.presets import make

        return self.conditions.look_at(make(name, self.settings, self.budget), self.choose(inputs), "tokens")

    def search(self, name: str, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the sentences and yield the content of a run folder; raise if every sentence ended in an error."""
        from malaprop.features.tagging.entities import classes_of
        from malaprop.features.tagging.presets import make
        from malaprop.features.tagging.rules import read_lexicon
        from malaprop.features.tagging.run import TagAttacker, run
        from malaprop.features.tagging.taggers import in_terms_of, load, parse_map

        whole = [tuple(one.fields[part].split(" ") for part in ("tokens", "tags")) for one in self.read()]
        spec = inputs["victim"]
        opened = worker.keep(f"tagger {spec}", lambda: load(spec, device=worker.device))
        tagger = in_terms_of(opened, parse_map(self.map), classes_of(tags for _, tags in whole))
        attack = make(name, self.settings, self.budget).but(languages=inputs["languages"])
        attacker = TagAttacker(
            attack=self.conditions.keep_meaning(attack, inputs), goal=self.aim, entities=self.entities,
            lexicon=read_lexicon((tokens, tags) for tokens, tags in whole) if self.entities == "same-class" else {},
        )  # fmt: skip
        yield self.describe(name, tagger, share, inputs["notes"])
        errors: list[str] = []
        for outcome in run(attacker, tagger, share.items, seed=self.seed, width=self.width, device=worker.device):
            if outcome.status == "error":
                errors.append(outcome.reason or "")
            yield outcome
        if errors and len(errors) == len(share.whole):
            which = "the only sentence" if len(errors) == 1 else f"all {len(errors)} sentences"
            raise VictimError(f"{which} ended in an error: {errors[0]}")

    def describe(self, name: str, tagger: Mapped, share: Share, notes: tuple[str, ...]) -> Any:
        """Return the description of a run, as it is written beside the outcomes."""
        from malaprop.frame.records.run import TAGGING, Run

        data = share.whole
        parts = {"task": TAGGING, "goal": self.goal, "share": self.share, "entities": self.entities}
        parts |= {"validity": self.validity}
        parts |= {"judge": self.judge} if self.judge else {}
        parts |= {"set": dict(self.settings)} if self.settings else {}
        parts |= {"map": self.map} if self.map else {}
        return Run(
            recipe=name, victim=tagger.name, data=data.name, split=data.part, n=len(data), drawn_from=data.drawn_from,
            seed=self.seed, budget=self.budget, width=self.width, parts=parts, notes=notes,
            fingerprints={"victim": tagger.fingerprint, "data": data.fingerprint},
        )  # fmt: skip

    def gather(self, root: Path) -> TaggingRecord:
        from malaprop.features.tagging.run import gather

        record = gather([root], self.examples)
        for run in record.runs:
            if run.errors and not (run.success.total or run.skipped):
                raise VictimError(f"all {run.errors} sentences of {run.attack} ended in an error; see {root}")
        return record

    def gather_part(self, root: Path) -> TaggingRecord:
        from malaprop.features.tagging.run import gather

        return gather([root], self.examples)

    def view(self, record: TaggingRecord) -> View:
        rows = [_summarize(run) for run in record.runs]
        return View(rows=rows, summary={"command": self.command, "runs": rows})


def _summarize(run: TaggingRun) -> dict[str, Any]:
    plain = {name: getattr(run, name) for name in ("attack", "goal", "entities", "victim", "data", "sentences")}
    plain |= {"failure": run.failure}
    plain |= {name: getattr(run, name) for name in ("validity", "skipped", "errors", "changed_words", "asked")}
    plain |= {"kept": None if run.kept is None else run.kept.to_dict()}
    scores = {
        name: None if found is None else {"value": found.value, "low": found.low, "high": found.high}
        for name, found in (("clean", run.clean), ("attacked", run.attacked), ("lost", run.lost))
    }
    classes = {one.name: asdict(one) for one in run.classes}
    return {**plain, "success": run.success.to_dict(), "f1": scores, "classes": classes}
