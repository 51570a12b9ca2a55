"""The tasks of transfer studies: train models, attack them side by side, and ask the others about the texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.attacks.validity import set_validity
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.frame.study.selection import Selection
from malaprop.papers.universal.cached_models import train_task

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Victim, VictimDescription
    from malaprop.data.base import Dataset
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.universal.record import Speed
    from malaprop.papers.universal.sampled_successes import Answers, SampledTexts, Verdicts
    from malaprop.papers.universal.study_models import StudyModel

GENETIC = "genetic:wordnet"
_VECTOR_SETTINGS = ("language_model", "neighbours", "distance")
TOGETHER = 4  # sources that one process attacks side by side at most


class SourceGroup(NamedTuple):
    """A source of adversarial texts: one model, or several that are attacked as one; `folder` is its run's name."""

    name: str
    folder: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferTasks:
    """The tasks for one attack on one dataset: methods called `..._task(s)` make tasks, the others do their work."""

    texts: Selection
    specs: tuple[str, ...]  # the victims as the user named them; rows of a file that they were trained on are left out
    trains: bool  # names of the zoo are among them, which are trained
    train_data: str
    training: Mapping[str, Any]  # settings of that training
    recipe: Any
    settings: Mapping[str, Any]
    wanted: int
    width: int
    many: int  # workers at a time, about
    validity: str = "paper"

    @property
    def attack(self) -> Attack:
        return set_validity(make_attack(self.recipe, self.settings), self.validity, rated=False)

    @property
    def data(self) -> Dataset:
        """The texts to attack; of a file that a model is trained on, only the rows that it does not see."""
        own = self.trains and self.texts.data == self.train_data
        read = _read_texts if isinstance(self.texts.data, str) else _read_texts.__wrapped__
        found: Dataset = read(self.texts, self.specs, own)
        return found

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"data": self.data}

    # --- models

    def train_tasks(self, models: Sequence[StudyModel]) -> Iterator[Task]:
        """Yield the tasks that train zoo names to the cache, unless they are there."""
        for model in models:
            if model.trains:
                yield train_task(
                    f"models/{model.name}", model.spec, Path(model.thing), self.train_data, training=self.training,
                    **self.texts.columns,
                )  # fmt: skip

    def inspect_tasks(self, models: Sequence[StudyModel]) -> list[Task]:
        """Return the tasks that load every model once and record its labels and capabilities, before any attack."""
        from malaprop.core.victim import VictimDescription
        from malaprop.frame.tasks.outputs import JsonFile, Several
        from malaprop.frame.tasks.task import Task

        places, made = name_folders([model.name for model in models]), list[Task]()
        for group in self._groups(models):
            mine = {places[model.name]: model.name for model in group}
            made.append(
                Task(
                    name=f"looked/{_title(list(mine))}",
                    work=partial(self.inspect, mine, not made),
                    reads=self.read,
                    output=Several({place: JsonFile(VictimDescription) for place in mine}),
                    holds=tuple(mine.values()),
                    **_give(group),
                )
            )
        return made

    def _groups(self, some: Sequence[Any]) -> list[tuple[Any, ...]]:
        size = max(1, min(TOGETHER, len(some) // (2 * self.many)))
        many = -(-len(some) // size)
        return [tuple(some[at::many]) for at in range(many)]

    def inspect(self, models: Mapping[str, str], first: bool, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.frame.tasks.outputs import Note

        data: Dataset = inputs["data"]
        yield from map(Note, data.notes if first else ())
        for place, name in models.items():
            yield place, _inspect(_load((name,), context, inputs, data), data)

    # --- sources

    def attack_tasks(
        self,
        source_groups: Sequence[SourceGroup],
        under: str,
        models: Sequence[StudyModel],
        inspections: Sequence[Task],
    ) -> list[Task]:
        """Return the tasks that attack the sources, several in one process, each with a run folder of its own."""
        from malaprop.frame.tasks.outputs import RunFolder, Several
        from malaprop.frame.tasks.task import Task

        by_name, made = {model.name: model for model in models}, list[Task]()
        places = {place: name for name, place in name_folders([model.name for model in models]).items()}
        for group in self._groups(source_groups):
            names = tuple(dict.fromkeys(name for source_group in group for name in source_group.members))
            given = _give([by_name[name] for name in names])
            after = (*given["after"], *(inspection.name for inspection in inspections))
            made.append(
                Task(
                    name=f"{under}/{_title([source_group.folder for source_group in group])}",
                    work=partial(self.attack_sources, group),
                    output=Several({source_group.folder: RunFolder(is_path=True) for source_group in group}),
                    holds=names,
                    reads=partial(self.check_models, places),
                    after=after,
                    victims=given["victims"],
                )
            )
        return made

    def check_models(self, places: Mapping[str, str], inputs: Inputs) -> Inputs:
        """Read the texts; raise before any attack if the models cannot be compared or attacked."""
        from malaprop.core.capability import check
        from malaprop.core.victim import VictimDescription
        from malaprop.papers.universal.sampled_successes import check_labels

        looked = {
            places[place]: about
            for value in inputs.values()
            if isinstance(value, Mapping)
            for place, about in value.items()
            if isinstance(about, VictimDescription)
        }
        attack = self.attack
        for name, about in looked.items():
            check(attack.name, attack.needs, name, about.offers, about.withheld)
        check_labels(looked, self.data)
        return {"data": self.data}

    def attack_sources(
        self, source_groups: Sequence[SourceGroup], context: WorkerContext, inputs: Inputs
    ) -> Iterator[Any]:
        """Attack the examples of each source that have no outcome yet, all sources side by side."""
        from malaprop.data.matching import agree
        from malaprop.frame.runs.folder import describe
        from malaprop.frame.tasks.outputs import TimeTaken
        from malaprop.papers.universal.attack_many import Source, attack_together

        data = inputs["data"]
        attack = self.attack.for_labels(data.labels)
        open_, sources = list[SourceGroup](), list[Source]()
        for source_group in source_groups:
            before = context.before[source_group.folder]
            if all(e.id in before for e in data.examples):
                continue
            victim = _load(source_group.members, context, inputs, data)
            about = _inspect(victim, data)
            own = agree(data, about)
            yield source_group.folder, describe(attack, about, own, seed=self.texts.seed, width=self.width)
            open_.append(source_group)
            sources.append(Source(victim, [e for e in own.examples if e.id not in before]))
        lanes = 2 if context.device.startswith("cuda") else 1
        asked, forwarded = 0, dict.fromkeys((source_group.name for source_group in open_), 0)
        began = perf_counter()
        for number, outcome in attack_together(attack, sources, seed=self.texts.seed, width=self.width, lanes=lanes):
            yield open_[number].folder, outcome
            asked += outcome.queries.asked
            forwarded[open_[number].name] += outcome.queries.forwarded
        if sources:
            yield TimeTaken({"asked": asked, "forwarded": forwarded, "busy": round(perf_counter() - began, 3)})

    # --- targets

    def draw_task(self, name: str, source_groups: Mapping[str, str], attacks: Sequence[Task], *, needed: bool) -> Task:
        """Return the task that draws the successes of each source; `source_groups` maps run folders to source names.

        `needed`: raise if there is no success at all.
        """
        from malaprop.frame.tasks.outputs import OwnFolder
        from malaprop.frame.tasks.task import Task
        from malaprop.papers.universal.sampled_successes import FILE

        return Task(
            name=name, work=partial(self.draw, source_groups, needed), output=OwnFolder(FILE), reads=self.read,
            after=tuple(task.name for task in attacks),
        )  # fmt: skip

    def draw(
        self, source_groups: Mapping[str, str], needed: bool, context: WorkerContext, inputs: Inputs
    ) -> Iterator[Any]:
        from malaprop.frame.tasks.outputs import write_json
        from malaprop.papers.universal.sampled_successes import FILE, draw_successes
        from malaprop.papers.universal.summary import check_any

        folders: dict[str, Path] = {}
        for value in inputs.values():
            folders |= value if isinstance(value, dict) else {}
        runs = {source: folders[folder] for folder, source in source_groups.items()}
        found = draw_successes(runs, inputs["data"], wanted=self.wanted, seed=self.texts.seed)
        if needed:
            check_any(found.sources)
        context.folder.mkdir(parents=True, exist_ok=True)
        write_json(context.folder / FILE, found)
        yield from ()

    def answer_tasks(
        self, under: str, drawn: str, models: Sequence[StudyModel], owners: Mapping[str, str]
    ) -> list[Task]:
        """Return the tasks that ask every model about all texts; one with an owner, about that source's texts alone."""
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task
        from malaprop.papers.universal.sampled_successes import Answers

        places = name_folders([model.name for model in models])
        made = []
        for model in models:
            given = _give([model])
            made.append(
                Task(
                    name=f"{under}/{places[model.name]}",
                    output=JsonFile(Answers),
                    holds=(model.name,),
                    work=partial(self.answer, model.name, owners.get(model.name), drawn),
                    after=(*given["after"], drawn),
                    victims=given["victims"],
                )
            )
        return made

    def answer(
        self, model: str, owner: str | None, drawn: str, context: WorkerContext, inputs: Inputs
    ) -> Iterator[Answers]:
        from malaprop.papers.universal.sampled_successes import ask

        found = context.keep(f"texts of {inputs[drawn]}", lambda: read_drawn(inputs[drawn]))
        texts = found.texts if owner is None else [found.texts[i] for i in found.sources[owner].own]
        yield ask(_load((model,), context, inputs, None), texts)


def make_attack(recipe: Any, settings: Mapping[str, Any]) -> Attack:
    """Return the attack of a recipe's name, or `recipe` itself where it is an attack already."""
    if isinstance(recipe, str):
        return study_recipe(recipe, **settings)
    made: Attack = recipe
    return made


def study_recipe(name: str, **settings: Any) -> Attack:
    """Return the attack of a recipe's name; `genetic:wordnet` is the genetic attack of the paper's studies.

    Section 3.1: WordNet synonyms of the same part of speech, no language model. `genetic` alone is the recipe of that
    name, with counter-fitted neighbours. `pwws` has no fallback unless the settings ask for it.
    """
    from malaprop.attacks.candidates.lookup import WordNetSynonyms
    from malaprop.frame.runs.make_attack import recipe

    if name != GENETIC:
        return recipe(name, **({"fallback": False, **settings} if name == "pwws" else settings))
    if given := [setting for setting in _VECTOR_SETTINGS if setting in settings]:
        raise SettingError(
            f"{GENETIC} takes its words from WordNet, so {given[0]} would do nothing; leave it out, or take --attack "
            "genetic"
        )
    return replace(recipe("genetic", **{"until": False, **settings}), name=GENETIC, candidates=WordNetSynonyms())


@lru_cache(maxsize=4)
def _read_texts(texts: Selection, specs: tuple[str, ...], trains: bool) -> Dataset:
    return texts.held(specs, trains=trains)


def name_folders(names: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each model name; raise if two would share a folder."""
    out: dict[str, str] = {}
    for name in names:
        place = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name).strip("-.")[-80:] or "unnamed"
        if place in out.values():
            raise SettingError(f"{name} would be written to {place}, as another victim is; give them other names")
        out[name] = place
    return out


def _title(places: Sequence[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"


def _give(models: Iterable[StudyModel]) -> dict[str, Any]:
    """Return the settings of a task that loads these models: the training tasks it waits for, or the named victims."""
    some = list(models)
    return {
        "after": tuple(f"models/{model.name}" for model in some if model.trains),
        "victims": {f"models/{model.name}": model.thing for model in some if not model.trains},
    }


def _load(names: Sequence[str], context: WorkerContext, inputs: Inputs, data: Dataset | None) -> Victim:
    """Load a model, or several as one ensemble victim whose labels are in the order of the data."""
    if len(names) > 1:
        from malaprop.models.victims.ensemble import Ensemble

        labels = () if data is None else data.labels
        return Ensemble(members=tuple(_load((name,), context, inputs, data) for name in names), names=labels)
    try:
        return context.victim(inputs[f"models/{names[0]}"])
    except MalapropError as error:
        raise type(error)(f"{names[0]}: {plain(error)}") from None


def _inspect(victim: Victim, data: Dataset) -> VictimDescription:
    """Describe a victim; a function is asked about one text, as its number of labels is not known before."""
    from malaprop.core.victim import VictimDescription

    found = VictimDescription.of(victim)
    if found.labels is not None:
        return found
    try:
        return replace(found, labels=int(victim.predict([tuple(next(iter(data)).fields.values())]).shape[1]))
    except Exception:  # noqa: BLE001 - a victim may raise anything; the attack will find out
        return found


# --- what lies in the folder


def read_drawn(folder: Path) -> SampledTexts:
    from malaprop.frame.tasks.outputs import read_json
    from malaprop.papers.universal.sampled_successes import FILE, SampledTexts

    return read_json(folder / FILE, SampledTexts)


def read_answers(root: Path, under: str, models: Iterable[str]) -> dict[str, Answers]:
    """Read the answers of each model, by its name."""
    from malaprop.frame.tasks.outputs import read_json, value_file
    from malaprop.papers.universal.sampled_successes import Answers

    return {name: read_json(value_file(root / under / place), Answers) for name, place in name_folders(models).items()}


def judge(
    root: Path, answers: Mapping[str, Answers], found: SampledTexts, data: Dataset, owners: Mapping[str, str]
) -> dict[str, Verdicts]:
    """Return the answers of each model with labels numbered as in the data, by model name."""
    from malaprop.core.victim import VictimDescription
    from malaprop.frame.tasks.outputs import read_json, value_file
    from malaprop.papers.universal.sampled_successes import Verdicts

    out = {}
    for name, place in name_folders(answers).items():
        asked = found.sources[owners[name]].own if name in owners else None
        about = read_json(value_file(root / "looked" / place), VictimDescription)
        out[name] = Verdicts.of(answers[name], asked, len(found.texts), about, data)
    return out


def measure_speed(root: Path, answers: Mapping[str, Answers], *, many: int, device: str) -> Speed:
    """What attacks and answers took, from tasks.jsonl; attacks that were killed are left out, with what they asked."""
    from malaprop.frame.tasks.events import read_log
    from malaprop.papers.universal.record import Speed

    asked, busy, forwarded = 0, 0.0, dict[str, int]()
    attacks, scoring = list[tuple[float, float]](), list[tuple[float, float]]()
    for line in read_log(root):
        kind, time = str(line.get("task", "")).partition("/")[0], float(line.get("time", 0))
        if kind == "sources" and "took" in line:
            took = line["took"]
            asked, busy = asked + took["asked"], busy + took["busy"]
            for name, many_more in took["forwarded"].items():
                forwarded[name] = forwarded.get(name, 0) + many_more
            attacks.append((time - took["busy"], time))
        elif kind == "answers" and line.get("ended") == "done":
            scoring.append((time - line["seconds"], time))
    return Speed(
        asked=asked,
        forwarded=sum(forwarded.values()),
        wall=round(_measure_span(attacks), 3),
        busy=round(busy, 3),
        floor=round(sum(n / answers[name].forwards_a_second for name, n in forwarded.items() if name in answers), 3),
        scored=sum(len(one.labels) for one in answers.values()),
        scoring=round(_measure_span(scoring), 3),
        jobs=many,
        device=device,
    )


def _measure_span(spans: Sequence[tuple[float, float]]) -> float:
    """How long at least one of them lasted."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
