"""The settings, tasks and figures of latent searches that images and texts share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study.run_options import RunOptions
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.frame.records.run import Run
    from malaprop.frame.tasks.outputs import RunFolder
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.natural.record import ImageRunFigures, NaturalRecord
    from malaprop.papers.natural.search.service import LatentData
    from malaprop.papers.natural.text_record import NaturalTextRecord, TextRunFigures

GENERATOR, GROUND, ABOUT, FGSM = "generator", "ground", "about", "fgsm"
IMAGE_VICTIM, TEXT_VICTIM = "forest", "LSTM-W-GloVe-1"  # defaults of --victim


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """The options of a latent search: which items to search around, in which space, and how far."""

    data: str = opt(
        "mnist",
        "Images or texts: a name, file or folder. mnist, mnist-full, scenes (drawn churches and towers), an .npz file "
        "or a folder of idx files; or a set of texts, as audit takes it.",
    )
    generator: str | None = opt(
        None,
        "The generator: wgan, vae, arae or a folder. A folder written by train; or one of these names, trained once.",
    )
    n: int = opt(100, "How many items, drawn by the seed. Labels take turns.", min=1)
    settings: Mapping[str, Any] = opt(
        {}, "A setting of the search, as samples=500. Or hybrid.step=0.02; may be repeated.", name="set"
    )
    cap: int = opt(10_000_000, "Query budget of one search.", min=1)
    refine: int = opt(0, "Gradient steps before each search. They bring its start nearer to its item.", min=0)
    force: bool = opt(False, "Use a generator that was trained on other data.")
    split: str = opt(
        "auto",
        "train, validation, test, all or auto. Of a file, the parts are as train cuts them.",
    )
    seed: int = opt(0, min=0)

    @property
    def is_images(self) -> bool:
        from malaprop.data.images import is_images

        return is_images(self.data)


class Domain(Protocol):
    """Images or texts: the items of a search, its generative model and victims, and how results are recorded.

    Its methods are the work of tasks; `read` and `read_more` are the driver's, who alone reads data.
    """

    output: ClassVar[RunFolder]
    figures: ClassVar[type]  # of one run: what it came to, and what is shown of it
    record: ClassVar[type]
    shown: ClassVar[str]  # the record's field for what is shown
    costs: ClassVar[tuple[str, ...]]  # of seconds and forwarded, which of them a run's figures have
    has_baseline: ClassVar[bool]

    @property
    def generator(self) -> str: ...
    @property
    def judges(self) -> Mapping[str, Any]:
        """Return the models that judge adversaries and that no search queries, by name."""

    def check(self, victims: Sequence[Any], where: RunOptions) -> None: ...
    def make_search(self, name: str) -> Any: ...
    def train(self, models: Mapping[str, Any]) -> Iterator[Task]: ...
    def read(self, inputs: Inputs) -> Inputs: ...
    def read_more(self, inputs: Inputs) -> Inputs: ...
    def list_items(self, inputs: Inputs) -> Any: ...
    def find_starts(self, context: WorkerContext, inputs: Inputs) -> Iterator[LatentData]: ...
    def search(
        self, job: LatentJob, width: int, context: WorkerContext, inputs: Inputs, share: Share
    ) -> Iterator[Any]: ...
    def measure(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[Any]: ...
    def step(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[Any]: ...
    def describe(self, jobs: Sequence[LatentJob], context: WorkerContext, inputs: Inputs) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentJob:
    """A task's work: one victim under one search, and the folder of its run."""

    search: str
    victim: str  # as records call it
    place: str = "."

    @property
    def model(self) -> str:
        """Return the name by which a task gets the victim."""
        return f"victims/{slug(self.victim)}"

    @property
    def run(self) -> str:
        return self.search if self.place == "." else self.place

    @property
    def figures(self) -> str:
        return "figures" if self.place == "." else f"figures/{self.place}"


@dataclass(frozen=True, slots=True)
class Models:
    """Models by the names that tasks use for them: as the user named them, or trained by a task."""

    named: Mapping[str, Any]
    trained: Mapping[str, Task]

    def give(self, *names: str, after: Sequence[str] = ()) -> dict[str, Any]:
        """Return the settings of a task that loads these models and runs after these tasks."""
        return {
            "after": (*after, *(name for name in names if name in self.trained)),
            "victims": {name: self.named[name] for name in names if name in self.named and name not in self.trained},
            "holds": names,
            "vital": True,
        }


def prepare(domain: Domain, victims: Mapping[str, Any]) -> tuple[Models, list[Task]]:
    """Return the tasks that train models given only by name, and the one that finds where searches start."""
    from malaprop.frame.tasks.outputs import Handover
    from malaprop.frame.tasks.task import Task

    named = {GENERATOR: domain.generator, **victims, **domain.judges}
    models = Models(named, {task.name: task for task in domain.train(named)})
    latent_data = Task(
        name=GROUND, work=domain.find_starts, output=Handover(), reads=domain.read, **models.give(GENERATOR)
    )
    return models, [*models.trained.values(), latent_data]


@dataclass(frozen=True, kw_only=True)
class LatentTasks:
    """Searches of several victims over the same items: what `natural` and `natural compare` share."""

    domain: Domain
    victims: Mapping[str, Any]  # by what records call them
    searches: tuple[str, ...]
    apart: bool  # each run has a folder of its own
    width: int = 64

    @property
    def jobs(self) -> list[LatentJob]:
        found = [LatentJob(search=search, victim=name) for search in self.searches for name in self.victims]
        return [replace(one, place=f"{slug(one.search)}/{slug(one.victim)}") for one in found] if self.apart else found

    def check(self, where: RunOptions) -> None:
        """Raise on settings that do not go together, before anything is loaded."""
        for search in self.searches:
            assert self.domain.make_search(search)
        self.domain.check(tuple(self.victims.values()), where)

    def plan(self) -> Iterator[Task]:
        """Yield the tasks: train models, find the starts, and a run and its figures for each job."""
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task

        domain, jobs = self.domain, self.jobs
        models, before = prepare(domain, {one.model: self.victims[one.victim] for one in jobs})
        yield from before
        for one in jobs:
            wants = models.give(GENERATOR, one.model, *domain.judges, after=(GROUND,))
            work = partial(domain.search, one, self.width)
            yield Task(
                name=one.run, at=one.place, work=work, output=domain.output, items=domain.list_items,
                reads=domain.read_more, **wants,
            )  # fmt: skip
            wants = models.give(GENERATOR, one.model, after=(GROUND, one.run))
            figures = JsonFile(domain.figures, again=True)
            yield Task(name=one.figures, work=partial(domain.measure, one), output=figures, reads=domain.read, **wants)
        if domain.has_baseline and not self.apart:
            wants = models.give(jobs[0].model, *domain.judges, after=(GROUND,))
            baseline = partial(domain.step, jobs[0])
            yield Task(name=FGSM, work=baseline, output=JsonFile(domain.figures), reads=domain.read, **wants)
        wants = models.give(GENERATOR, after=(GROUND, *(one.figures for one in jobs)))
        about = JsonFile(domain.record, again=True)
        yield Task(name=ABOUT, work=partial(domain.describe, jobs), output=about, **wants)

    def gather(self, root: Path) -> Any:
        """Build the record: the figures of each run, some of its results, and the comparison of several victims."""
        from malaprop.frame.study.attack_tasks import read_times
        from malaprop.frame.tasks.outputs import JsonFile, Skipped, read_json, value_file
        from malaprop.papers.natural.compare import compare_searches, largest, pairs

        domain, times, forwarded = self.domain, read_times(root), _read_forwarded(root)
        tried: list[Any] = []
        shown: dict[str, Any] = {}
        lines: dict[str, dict[str, Any]] = {}
        for one in self.jobs:
            found: Any = read_json(value_file(root / one.figures), domain.figures)
            costs: dict[str, Any] = {"seconds": times.get(one.run, 0.0), "forwarded": forwarded.get(one.run, 0)}
            tried.append(replace(found.tried, **{name: costs[name] for name in domain.costs}))
            if one.search == self.searches[0]:
                shown[one.victim] = found.shown
            if self.apart:
                lines.setdefault(one.victim, {})[one.search] = domain.output.value(root / one.place)
        if domain.has_baseline and not self.apart:
            base = JsonFile(domain.figures).value(root / FGSM)
            if not isinstance(base, Skipped):
                tried.append(base.tried)
                shown[f"{base.tried.victim}, FGSM"] = base.shown
        compared: dict[str, Any] = {}
        if self.apart:
            first = {victim: by_search[self.searches[0]] for victim, by_search in lines.items()}
            compared = {"largest": largest(first), "pairs": pairs(first), "searches": compare_searches(lines)}
        about: Any = read_json(value_file(root / ABOUT), domain.record)
        return replace(about, tried=tuple(tried), **{domain.shown: shown}, **compared)


def _read_forwarded(root: Path) -> dict[str, int]:
    """Count the texts that reached the victim of each task, over all its attempts."""
    from malaprop.frame.tasks.events import read_log

    out: dict[str, int] = {}
    for line in read_log(root):
        if "took" in line:
            out[line["task"]] = out.get(line["task"], 0) + int(line["took"].get("forwarded", 0))
    return out


def name_victims(victims: Sequence[Any]) -> dict[str, Any]:
    """Name victims for records: folders and files by the last part of their path, unless two are alike."""

    def name(spec: Any, short: bool) -> str:
        if not isinstance(spec, (str, Path)):
            return str(getattr(spec, "name", None) or getattr(spec, "__name__", type(spec).__name__))
        return Path(spec).name if short and Path(spec).exists() else str(spec)

    for short in (True, False):
        found = {name(spec, short): spec for spec in victims}
        if len(found) == len(victims):
            return found
    raise SettingError(f"each victim may be named once, got {', '.join(name(spec, False) for spec in victims)}")


def describe_run(
    asked: Latent, latent_data: LatentData, recipe: str, victim: str, parts: Mapping[str, Any], **more: Any
) -> Run:
    """Describe a run, for run.toml: a resume must be of the same work."""
    from malaprop.frame.records.run import Run

    data = latent_data.items
    marks = {**more.pop("fingerprints"), "data": data.fingerprint}
    return Run(
        recipe=recipe, victim=victim, data=data.name, n=len(data), seed=asked.seed, budget=asked.cap,
        parts={"refine": asked.refine, **parts}, fingerprints=marks, **more,
    )  # fmt: skip


def order_lines(latent_data: LatentData, lines: Sequence[Any], what: str) -> list[Any]:
    """Sort the results of a run in the order of the items; raise if every search ended in an error."""
    places = {name: at for at, name in enumerate(latent_data.ids)}
    errors = [line for line in lines if line.status == "error"]
    if errors and len(errors) == sum(line.status != "skipped" for line in lines):
        raise VictimError(f"all {len(errors)} {what} ended in an error: {errors[0].reason}")
    return sorted((line for line in lines if line.id in places), key=lambda line: places[line.id])


def choose_domain(
    latent: Latent,
    victims: Sequence[Any],
    where: RunOptions,
    *,
    judge: str | None,
    labels: Sequence[str],
    probe: str | None = None,
    compares: bool = False,
) -> Domain:
    """Choose images or texts by the data; raise on an option of the other kind, which would do nothing."""

    def refuse(option: str, value: str | None, why: str) -> None:
        if value:
            raise SettingError(f"{option} {value} {why}; leave it out")

    if latent.is_images:
        from malaprop.papers.natural.image_study import ImageDomain

        refuse("--labels", ",".join(labels), "names labels of texts, and --data holds images")
        refuse("--probe", probe, "asks a translator of texts, and --data holds images")
        return ImageDomain(asked=latent, judge=judge or "auto", compares=compares, small=where.is_cpu)
    from malaprop.papers.natural.text_study import TextDomain

    refuse("--judge", judge, "is of images, and --data holds texts")
    return TextDomain(
        asked=latent, victims=tuple(victims), probe=probe, labels=tuple(labels), compares=compares, small=where.is_cpu
    )


def view_record(command: str, record: NaturalRecord | NaturalTextRecord) -> View:
    """Return the figures of a record, of images or of texts, for people and programs."""
    from malaprop.papers.natural.record import NaturalRecord

    runs = [summarize(tried) for tried in record.tried]
    said: dict[str, Any] = {"command": command}
    said |= {name: getattr(record, name) for name in ("data", "generator", "items", "quality")}
    said |= {"runs": runs, "largest": {name: rate.to_dict() for name, rate in record.largest.items()}}
    said["pairs"] = [
        {"one": p.one, "two": p.two, "larger": p.larger.to_dict(), "ties": p.ties, "p": p.p} for p in record.pairs
    ]
    if isinstance(record, NaturalRecord):
        names = ("group", "rho", "low", "high", "count")
        said["correlations"] = [{name: getattr(one, name) for name in names} for one in record.correlations]
    else:
        said |= {"goal": record.goal, "notes": list(record.notes)}
    rows = [
        {"victim": tried.victim, "search": tried.search, "accuracy": tried.accuracy.value,
         "success": tried.success.value, "distance": tried.distance.mean, "asked": tried.asked.median}
        for tried in record.tried
    ]  # fmt: skip
    return View(rows=rows, summary=said, notes=said.get("notes", ()))


# What `--json` calls the figures of a run, where that is not their own name.
_SAID = {"searched": "distance_where_the_start_held", "kept": "distance_where_start_kept", "whole": "came_back_whole"}
_SAID |= {"started": "changed_at_start", "words": "words_changed"}
_JUDGED = {"original": "judged_original", "new": "judged_changed", "another": "judged_other"}


def summarize(tried: ImageRunFigures | TextRunFigures) -> dict[str, Any]:
    """Return the figures of a run of images or of texts, as `--json` has them."""
    from malaprop.frame.records.summary import Rate, Spread
    from malaprop.papers.natural.text_record import TextRunFigures

    values = {one.name: getattr(tried, one.name) for one in fields(tried)}
    plain = {name: value.to_dict() if isinstance(value, (Rate, Spread)) else value for name, value in values.items()}
    found = {_SAID.get(name, name): value for name, value in plain.items()}
    if isinstance(tried, TextRunFigures):
        return {**found, "perplexity_ratio": tried.ratio}
    return {**found, "judged": {name: plain[attribute] for name, attribute in _JUDGED.items()}}
