"""What `malaprop natural` does for images: train models once, search around images, and compute the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.tasks.outputs import OwnFolder, RunFolder, Skipped
from malaprop.frame.tasks.task import Task
from malaprop.papers.natural.latent_tasks import FGSM, GENERATOR, GROUND, Latent, LatentJob, describe_run, order_lines
from malaprop.papers.natural.record import ImageFigures, ImageResult, ImageRunFigures, NaturalRecord

if TYPE_CHECKING:
    from malaprop.data.images import ImageSet
    from malaprop.frame.study.run_options import RunOptions
    from malaprop.frame.tasks.task import Inputs, Share
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.natural.models.image_victim import ImageVictim
    from malaprop.papers.natural.models.images import ImageManifold
    from malaprop.papers.natural.search.service import LatentData, LatentSearch

JUDGE = "judge"
_AUTO, _NONE = "auto", "none"
_TASK = "natural adversaries of images"
_SHOWN = 20  # finds of each victim that the record keeps with their pictures
# Sizes that train in a minute or two where no GPU is.
_SMALL: dict[str, Any] = {"dim": 32, "width": 16, "batch": 64}
_STEPS: dict[str, dict[str, Any]] = {
    "vae": {"steps": 1200},
    "wgan": {"steps": 1000, "critic_steps": 3, "inverter_steps": 600, "rate": 5e-4},
}


@dataclass(frozen=True, slots=True)
class ImageItem:
    """An image to search around; its pixels are in the `LatentData`."""

    id: str
    label: int


@dataclass(frozen=True, kw_only=True)
class ImageDomain:
    """Images as the items of latent searches. `compares`: labels play no part. `small`: no GPU."""

    asked: Latent
    judge: str = _AUTO
    compares: bool = False
    small: bool = True

    record: ClassVar[type[NaturalRecord]] = NaturalRecord
    figures: ClassVar[type[ImageFigures]] = ImageFigures
    shown: ClassVar[str] = "gallery"
    costs: ClassVar[tuple[str, ...]] = ("seconds",)
    has_baseline: ClassVar[bool] = True
    output: ClassVar[RunFolder] = RunFolder(
        lines="malaprop.papers.natural.record:FINDS", error="malaprop.papers.natural.images:error_find", checks=True
    )

    # --- what the driver reads

    @property
    def split(self) -> str:
        """Return the part of the data whose images are searched around."""
        return "test" if self.asked.split == "auto" else self.asked.split

    def load(self, split: str) -> ImageSet:
        from malaprop.data.images import load

        return load(self.asked.data, split)

    def read_parts(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"learn": self.load("train"), "test": self.load(self.split)}

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"whole": self.load(self.split), "learnt": self.load("train").fingerprint}

    def read_more(self, inputs: Inputs) -> Inputs:
        del inputs
        return {}

    def list_items(self, inputs: Inputs) -> Sequence[ImageItem]:
        data: ImageSet = inputs[GROUND].items
        return [ImageItem(name, int(label)) for name, label in zip(data.ids, data.labels, strict=True)]

    # --- models

    @property
    def generator(self) -> str:
        return self.asked.generator or "vae"

    @property
    def judges(self) -> dict[str, Any]:
        return {} if self.judge == _NONE else {JUDGE: self.judge}

    def make_search(self, name: str) -> LatentSearch:
        from malaprop.papers.natural.search import make_search

        return make_search(name, self.asked.settings)

    def check(self, victims: Sequence[Any], where: RunOptions) -> None:
        del victims
        if where.precision != "auto":
            raise SettingError("models of images compute in fp32; leave out --precision")
        assert self.load(self.split)  # what is wrong with the data should not wait for a model

    def train(self, models: Mapping[str, Any]) -> Iterator[Task]:
        """Yield a task for each model given only by name, which trains it to the cache for these images."""
        from malaprop.assets.folders import cache_root
        from malaprop.papers.natural.models.image_victim import CARD as VICTIM_CARD
        from malaprop.papers.natural.models.image_victim import KINDS
        from malaprop.papers.natural.models.images import CARD
        from malaprop.papers.natural.models.training import KINDS as GENERATORS

        mark, seed, root = self.load("train").fingerprint, self.asked.seed, cache_root()
        for name, spec in models.items():
            work: Any
            if not isinstance(spec, str) or Path(spec).is_dir():
                continue  # a folder of one's own goes before a name
            if name == GENERATOR and spec in GENERATORS:
                large = "" if self.small else "-large"
                place, work, card = root / "generators" / f"{spec}-{mark}-{seed}{large}", self.train_generator, CARD
            elif name != GENERATOR and (spec in KINDS or (name, spec) == (JUDGE, _AUTO)):
                kind = JUDGE if spec == _AUTO else spec
                place, card = root / "images" / f"{kind}-{mark}-{seed}", VICTIM_CARD
                work = partial(self.train_victim, kind)
            else:
                continue
            yield Task(
                name=name, at=str(place), work=work, output=OwnFolder(mark=card), reads=self.read_parts, vital=True
            )

    def train_generator(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.papers.natural.generators import train_on
        from malaprop.papers.natural.models.training import ImagePlan

        kind: Any = self.generator
        plan = ImagePlan(kind=kind, **({**_SMALL, **_STEPS[kind]} if self.small else {}))
        train_on(
            plan, inputs["learn"], inputs["test"], context.folder, seed=self.asked.seed, device=context.device,
            quiet=context.quiet, say=context.note,
        )  # fmt: skip
        yield from ()

    def train_victim(self, kind: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train a classifier; a judge, which no search queries, is a LeNet of another seed."""
        from malaprop.papers.natural.generators import plan_judge
        from malaprop.papers.natural.models.image_classifiers import ImageTrainingSettings, train

        learn, seed, judges = inputs["learn"], self.asked.seed, kind == JUDGE
        plan = plan_judge(learn) if judges else ImageTrainingSettings(kind=kind)
        what = "a LeNet that labels adversaries and that no search asks" if judges else f"{kind} on {learn.name}"
        context.note(f"training {what}")
        train(
            plan, learn, inputs["test"], seed=seed + 1000 * judges, device=context.device, folder=context.folder,
            quiet=context.quiet,
        )  # fmt: skip
        yield from ()

    def open_generator(self, context: WorkerContext, inputs: Inputs) -> ImageManifold:
        from malaprop.papers.natural.models.images import load

        folder = Path(inputs[GENERATOR]).expanduser()
        return context.keep(GENERATOR, lambda: load(folder, device=context.device))

    def open_victim(self, context: WorkerContext, inputs: Inputs, name: str) -> ImageVictim | None:
        """Load a classifier of the images; None if the task has none by this name."""
        from malaprop.papers.natural.models.image_victim import ImageVictim, load, of_function

        def make() -> ImageVictim:
            spec = inputs[name]
            if isinstance(spec, ImageVictim):
                return spec
            if callable(spec):
                return of_function(spec, name=name)
            return load(str(spec), device=context.device)

        if name not in inputs:
            return None
        return context.keep(name, make)

    @property
    def parts(self) -> dict[str, Any]:
        """Return the parts that run.toml has for every run."""
        return {"task": _TASK, "split": self.split}

    def batch(self, context: WorkerContext) -> int:
        return 1024 if context.device == "cpu" else 16_384

    # --- tasks

    def find_starts(self, context: WorkerContext, inputs: Inputs) -> Iterator[LatentData]:
        from malaprop.papers.natural.images import make_image_data

        manifold, items = self.open_generator(context, inputs), inputs["whole"].sample(self.asked.n, self.asked.seed)
        manifold.check(items.shape, inputs["learnt"], force=self.asked.force)
        yield make_image_data(items, manifold, self.asked.refine)

    def search(self, job: LatentJob, width: int, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Yield the description of a run, then the result of each image."""
        from malaprop.papers.natural.images import ImageTarget
        from malaprop.papers.natural.search.service import LatentRun

        asked, latent_data, manifold = self.asked, inputs[GROUND], self.open_generator(context, inputs)
        victim, judge = self.open_victim(context, inputs, job.model), self.open_victim(context, inputs, JUDGE)
        assert victim is not None
        victim.check(latent_data.items.shape)
        labels, method = not self.compares, self.make_search(job.search)
        parts = {**self.parts, "search": method, "judge": self.judge, "labels": labels}
        marks = {"victim": victim.fingerprint, "generator": manifold.fingerprint}
        yield describe_run(asked, latent_data, job.search, job.victim, parts, width=width, fingerprints=marks)
        target = ImageTarget(
            latent_data=latent_data,
            manifold=manifold,
            victim=victim,
            judge=judge,
            batch=self.batch(context),
            labels=labels,
        )
        latent_run = LatentRun(target=target, search=method, seed=asked.seed, width=width, cap=asked.cap)
        yield from latent_run.run({item.id for item in share.items})

    def measure(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[ImageFigures]:
        """Compute the figures of a run, with the victim's accuracy on the whole part."""
        finds = order_lines(inputs[GROUND], inputs[job.run], "images")
        method = repr(self.make_search(job.search))
        yield self._figures(context, inputs, job, finds, search=job.search, settings=method)

    def _figures(
        self, context: WorkerContext, inputs: Inputs, job: LatentJob, finds: Sequence[ImageResult], **known: Any
    ) -> ImageFigures:
        from malaprop.frame.records.summary import Rate
        from malaprop.papers.natural.models.image_classifiers import accurate

        victim = self.open_victim(context, inputs, job.model)
        assert victim is not None
        right = accurate(victim, inputs["whole"])
        accuracy = Rate(int(right.sum()), len(right))
        tried = ImageRunFigures.of(finds, victim=job.victim, accuracy=accuracy, **known)
        return ImageFigures(tried=tried, shown=tuple(_choose_shown(finds)))

    def step(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Run the fast gradient sign method beside the search, if the victim has gradients."""
        from malaprop.papers.natural.images import Fgsm

        victim, judge = self.open_victim(context, inputs, job.model), self.open_victim(context, inputs, JUDGE)
        assert victim is not None
        if victim.network is None:
            yield Skipped(f"{job.victim} gives no gradients")
            return
        finds = list(Fgsm(data=inputs[GROUND].items, victim=victim, judge=judge).finds())
        yield self._figures(context, inputs, job, finds, search=FGSM, settings="")

    def describe(self, jobs: Sequence[LatentJob], context: WorkerContext, inputs: Inputs) -> Iterator[NaturalRecord]:
        """Yield the record's part on the generative model: its figures, and pictures of random points."""
        from malaprop.core.png import address, sheet
        from malaprop.core.seeds import generator

        del jobs
        manifold, data = self.open_generator(context, inputs), inputs[GROUND].items
        card = manifold.card
        z = generator(self.asked.seed, "sheet").standard_normal((40, manifold.dim)).astype("float32")
        yield NaturalRecord(
            data=data.name,
            generator=f"a {card.kind.upper()} with {manifold.dim} dimensions, trained on {card.data}",
            items=len(data),
            quality=dict(card.figures),
            sheet=address(sheet(manifold.pictures(z), 20)),
        )


def _choose_shown(finds: Sequence[ImageResult]) -> list[ImageResult]:
    """Choose successes to show, labels taking turns."""
    hits = [find for find in finds if find.adversary]
    turns: dict[int, int] = {}
    keyed = []
    for find in hits:
        turns[find.label] = turns.get(find.label, 0) + 1
        keyed.append((turns[find.label], find.label, find))
    return [find for _, _, find in sorted(keyed, key=lambda entry: entry[:2])][:_SHOWN]
