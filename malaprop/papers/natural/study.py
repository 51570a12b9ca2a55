"""malaprop natural, natural compare, sweep and synthetic: searches in the latent space of a generative model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.settings import opt
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import SEVERAL
from malaprop.papers.natural.latent_tasks import (
    ABOUT,
    GENERATOR,
    GROUND,
    IMAGE_VICTIM,
    TEXT_VICTIM,
    Latent,
    LatentTasks,
    choose_domain,
    describe_run,
    name_victims,
    prepare,
    view_record,
)

if TYPE_CHECKING:
    from malaprop.frame.tasks.outputs import RunFolder
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.natural.image_study import ImageDomain
    from malaprop.papers.natural.record import NaturalRecord, SweepDot

_JUDGE = (
    "Of images: who labels the adversaries. A classifier that no search asks: auto (if not given), none, or a victim."
)
_LABELS = "The victim's labels in its order. By the names that the data has, as no,yes."
_SEARCH = "hybrid, iterative or boundary. The first two are the paper's; boundary needs fewer queries."


def _check(study: Natural | NaturalCompare) -> None:
    study.work.check(study.where)


def _plan(study: Natural | NaturalCompare) -> Iterator[Task]:
    return study.work.plan()


def _gather(study: Natural | NaturalCompare, root: Path) -> Any:
    return study.work.gather(root)


def _view(study: Natural | NaturalCompare, record: Any) -> View:
    return view_record(study.command, record)


@dataclass(frozen=True, kw_only=True)
class Natural:
    """Find adversaries that look like the data: changes of a latent point, not of pixels or words.

    Examples:

      malaprop natural --victim forest --n 50

      malaprop natural --victim my_model:predict --data digits.npz --generator models/vae --search boundary

      malaprop natural compare --victim forest,lenet

      malaprop natural --victim models/pair-lstm --data pairs.csv --generator models/arae
    """

    command: ClassVar[str] = "natural"

    victim: Any = opt(
        None,
        "The victim: forest, lenet, mlp or your own. Of images: these three (trained once), a folder written by train, "
        "a .skops file, or module:attribute (a function: array of images to scores); forest if not given. Of "
        f"texts: as audit takes it; {TEXT_VICTIM} if not given.",
        repeat=True,
    )
    search: str = opt("hybrid", _SEARCH)
    latent: Latent = Latent()
    judge: str | None = opt(None, _JUDGE)
    probe: str | None = opt(
        None,
        "For translators: the change of the output to search for. With --victim FOLDER or module:function: "
        "word-appears:WORD, verb-dropped, or verb-dropped:both (from sentences with two verbs, which both stay).",
    )
    labels: tuple[str, ...] = opt((), _LABELS)
    width: int = width_option(64)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def work(self) -> LatentTasks:
        named = IMAGE_VICTIM if self.latent.is_images else TEXT_VICTIM
        victim = named if self.victim is None else self.victim
        how: dict[str, Any] = {"judge": self.judge, "probe": self.probe, "labels": self.labels}
        domain = choose_domain(self.latent, [victim], self.where, **how)
        if self.probe and self.victim is None:
            raise SettingError("--probe asks a translator: give --victim FOLDER or module:function (texts to texts)")
        return LatentTasks(
            domain=domain, victims=name_victims([victim]), searches=(self.search,), apart=False, width=self.width
        )

    check, plan, gather, view = _check, _plan, _gather, _view


@dataclass(frozen=True, kw_only=True)
class NaturalCompare:
    """Compare the robustness of victims on the same items, without labels: the larger the change needed, the better.

    Examples:

      malaprop natural compare --victim forest,lenet --search hybrid,iterative,boundary
    """

    command: ClassVar[str] = "natural compare"

    victims: tuple[Any, ...] = opt(
        (IMAGE_VICTIM, "lenet"), f"Two victims or more. Of the kinds that malaprop natural takes. {SEVERAL}",
        name="victim", old=("victims",), repeat=True,
    )  # fmt: skip
    searches: tuple[str, ...] = opt(
        ("hybrid",), f"One or more searches. The first one compares the victims. {SEVERAL}",
        name="search", old=("searches",), repeat=True,
    )  # fmt: skip
    latent: Latent = Latent()
    judge: str | None = opt(None, _JUDGE)
    labels: tuple[str, ...] = opt((), _LABELS)
    width: int = width_option(64)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def work(self) -> LatentTasks:
        if len(self.victims) < 2 or not self.searches:
            given = f"{', '.join(map(str, self.victims))!r} and {', '.join(self.searches)!r}"
            raise SettingError(f"a comparison takes two victims or more and a search, got {given}")
        domain = choose_domain(
            self.latent, self.victims, self.where, judge=self.judge, labels=self.labels, compares=True
        )
        victims = name_victims(self.victims)
        return LatentTasks(domain=domain, victims=victims, searches=self.searches, apart=True, width=self.width)

    check, plan, gather, view = _check, _plan, _gather, _view


@dataclass(frozen=True, kw_only=True)
class NaturalSweep:
    """Train classifiers from poor to good and tell how well the distance of adversaries follows their accuracy.

    Examples:

      malaprop natural sweep --classifiers 20 --n 40
    """

    command: ClassVar[str] = "natural sweep"

    classifiers: int = opt(40, "How many classifiers. Hidden widths 2 to 1024, dropout 0.9 to 0, and variants.", min=2)
    search: str = opt("boundary", _SEARCH)
    epochs: int = opt(3, "Epochs of each classifier's training.", min=1)
    batch: int = opt(64, "Batch size of the training.", min=1)
    latent: Latent = Latent(n=50, split="test")
    width: int = width_option(64)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def domain(self) -> ImageDomain:
        from malaprop.papers.natural.image_study import ImageDomain

        return ImageDomain(asked=self.latent, judge="none", compares=True, small=self.where.is_cpu)

    @property
    def output(self) -> RunFolder:
        from malaprop.frame.tasks.outputs import RunFolder

        return RunFolder(
            lines="malaprop.papers.natural.record:DOTS", error="malaprop.papers.natural.sweep:error_dot", checks=True
        )

    def check(self) -> None:
        assert self.list_classifiers({})
        assert self.domain.make_search(self.search)
        self.domain.check((), self.where)

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task

        domain = self.domain
        models, before = prepare(domain, {})
        yield from before
        about = JsonFile(domain.record, again=True)
        wants = models.give(GENERATOR, after=(GROUND,))
        yield Task(name=ABOUT, work=partial(domain.describe, ()), output=about, **wants)
        yield Task(
            name="sweep", at=".", work=self.sweep, output=self.output, items=self.list_classifiers,
            reads=domain.read_parts, **models.give(GENERATOR, after=(GROUND, ABOUT)),
        )  # fmt: skip

    def list_classifiers(self, inputs: Inputs) -> Sequence[Any]:
        from malaprop.papers.natural.sweep import SweepEntry, choose_classifiers

        del inputs
        chosen = choose_classifiers(self.classifiers, epochs=self.epochs, batch=self.batch)
        return [SweepEntry(id=name, group=group, plan=plan) for name, (group, plan) in chosen.items()]

    def sweep(self, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        from malaprop.papers.natural.sweep import AccuracySweep

        asked, manifold, latent_data = self.latent, self.domain.open_generator(context, inputs), inputs[GROUND]
        work = AccuracySweep(
            learn=inputs["learn"], test=inputs["test"], latent_data=latent_data, manifold=manifold,
            search=self.domain.make_search(self.search), refine=asked.refine, seed=asked.seed, width=self.width,
            cap=asked.cap, batch=self.domain.batch(context), device=context.device, quiet=context.quiet,
        )  # fmt: skip
        parts = {"search": work.search, "epochs": self.epochs, "batch": self.batch}
        marks = {"train": work.learn.fingerprint, "test": work.test.fingerprint}
        marks["generator"] = manifold.fingerprint
        recipe, parts = f"sweep, {self.search}", {**self.domain.parts, **parts}
        whose = "classifiers of a sweep"
        yield describe_run(asked, latent_data, recipe, whose, parts, width=self.width, fingerprints=marks)
        for entry in share.items:
            yield work.dot(entry.id, entry.group, entry.plan)

    def gather(self, root: Path) -> NaturalRecord:
        found = self.gather_part(root)
        if found is None:
            raise RecordError(f"{root} holds no classifier of a sweep")
        return found

    def gather_part(self, root: Path) -> NaturalRecord | None:
        from malaprop.frame.tasks.outputs import read_json, value_file
        from malaprop.papers.natural.compare import correlation
        from malaprop.papers.natural.record import SWEPT

        if not (root / SWEPT).is_file() or not value_file(root / ABOUT).is_file():
            return None
        order = {entry.id: place for place, entry in enumerate(self.list_classifiers({}))}
        dots: list[SweepDot] = sorted(self.output.value(root), key=lambda dot: order[dot.id])
        groups = ["all", *dict.fromkeys(dot.group for dot in dots)]
        found = tuple(one for group in groups if (one := correlation(dots, group)))
        record: NaturalRecord = read_json(value_file(root / ABOUT), self.domain.record)
        return replace(record, dots=tuple(dots), correlations=found)

    def view(self, record: NaturalRecord) -> View:
        rows = [
            {"classifier": dot.name, "group": dot.group, "accuracy": dot.accuracy.value, "found": dot.found.value,
             "distance": dot.distance.mean, "errors": dot.errors}
            for dot in record.dots
        ]  # fmt: skip
        return replace(view_record(self.command, record), rows=rows)


@dataclass(frozen=True, kw_only=True)
class NaturalSynthetic:
    """Show on a curve in the plane why a latent search stays on the data's manifold and a plain one leaves it.

    Examples:

      malaprop natural synthetic
    """

    command: ClassVar[str] = "natural synthetic"

    n: int = opt(40, "How many points are searched around.", min=1)
    steps: int = opt(1500, "Training steps of WGAN and inverter.", min=1)
    seed: int = opt(0, min=0)
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    def check(self) -> None:
        from malaprop.papers.natural.record import NaturalRecord

        before = None if self.saving.out is None else NaturalRecord.read(self.saving.out)
        if before is not None and before.synthetic is None:
            raise RecordError(f"{self.saving.out} holds the results of another study; choose another --out")

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile
        from malaprop.frame.tasks.task import Task
        from malaprop.papers.natural.record import Synthetic

        yield Task(name="curve", work=self.draw, output=JsonFile(Synthetic))

    def draw(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.papers.natural.synthetic import show

        del context, inputs
        yield show(self.n, seed=self.seed, steps=self.steps)

    def gather(self, root: Path) -> NaturalRecord:
        from malaprop.frame.tasks.outputs import read_json, value_file
        from malaprop.papers.natural.record import NaturalRecord, Synthetic

        found = read_json(value_file(root / "curve"), Synthetic)
        return NaturalRecord(data="a curve in the plane", generator="a WGAN with 2 dimensions", synthetic=found)

    def view(self, record: NaturalRecord) -> View:
        assert record.synthetic is not None
        apart = {"latent": record.synthetic.latent_apart, "plane": record.synthetic.plane_apart}
        rows = [{"search": name, "distance": found.mean, "median": found.median} for name, found in apart.items()]
        told = {name: found.to_dict() for name, found in apart.items()}
        return View(rows=rows, summary={"command": self.command, "apart": told})
