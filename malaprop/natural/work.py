"""The work of malaprop natural on images: victims, generators and data are put together; records come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from malaprop.assets.folders import cache_root
from malaprop.attacks.latent import searching
from malaprop.attacks.latent.hunt import CAP
from malaprop.core.errors import SettingError
from malaprop.core.png import address, sheet
from malaprop.core.seeds import generator as seeded
from malaprop.data.images import ImageSet, load
from malaprop.models.generative.imageplan import KINDS as GENERATORS
from malaprop.models.generative.imageplan import ImagePlan
from malaprop.models.generative.images import ImageManifold
from malaprop.models.generative.images import load as open_generator
from malaprop.models.imagetraining import Schooling, accurate, train
from malaprop.models.victims.image import CARD, KINDS, ImageVictim
from malaprop.models.victims.image import load as open_victim
from malaprop.natural.compare import correlation, largest, pairs
from malaprop.natural.fgsm import Fgsm
from malaprop.natural.generators import judge as train_judge
from malaprop.natural.generators import train_generator
from malaprop.natural.images import Ground, Quest, write_finds
from malaprop.natural.sweep import Sweep, line_up
from malaprop.records.natural import Find, NaturalRecord, SweepDot, Tried
from malaprop.records.run import Run
from malaprop.records.store import check_resume
from malaprop.records.summary import Rate

AUTO, NONE = "auto", "none"
TASK = "natural adversaries of images"
_SHOWN = 20  # finds of each victim that the record keeps with their pictures
Say = Callable[[str], None]


@dataclass(eq=False, kw_only=True)
class ImageJob:
    """One command's settings; what is made of them is made once, when it is first wanted."""

    data: str
    folder: Path
    generator: str = "vae"
    search: str = "hybrid"
    settings: Mapping[str, Any] = field(default_factory=dict)
    n: int = 100
    split: str = "test"
    seed: int = 0
    width: int = 64
    cap: int = CAP
    refine: int = 0
    judge: str = AUTO
    force: bool = False
    device: str = "cpu"
    quiet: bool = False
    say: Say = print

    @cached_property
    def learn(self) -> ImageSet:
        return load(self.data, "train")

    @cached_property
    def whole(self) -> ImageSet:
        return load(self.data, self.split)

    @cached_property
    def some(self) -> ImageSet:
        return self.whole.sample(self.n or None, self.seed)

    @property
    def batch(self) -> int:
        return 1024 if self.device == "cpu" else 16_384

    @cached_property
    def manifold(self) -> ImageManifold:
        """The generative model asked for: a folder, or a kind that is trained once for these images."""
        if self.generator in GENERATORS:
            place = cache_root() / "generators" / f"{self.generator}-{self.learn.fingerprint}-{self.seed}"
            plan = ImagePlan(kind=self.generator, **_sized(self.generator, self.device))
            return train_generator(
                plan, self.data, place, seed=self.seed, device=self.device, quiet=self.quiet, say=self.say
            )
        made = open_generator(Path(self.generator).expanduser(), device=self.device)
        made.check(self.some.shape, self.learn.fingerprint, force=self.force)
        return made

    @cached_property
    def ground(self) -> Ground:
        return Ground(data=self.some, manifold=self.manifold, refine=self.refine)

    @cached_property
    def judging(self) -> ImageVictim | None:
        """A victim that no search asks; `auto` trains a LeNet of another seed."""
        if self.judge == NONE:
            return None
        if self.judge != AUTO:
            return self.victim(self.judge)
        self.say("training a LeNet that labels adversaries and that no search asks")
        return train_judge(self.learn, seed=self.seed + 1000, device=self.device, quiet=self.quiet)

    def victim(self, spec: str) -> ImageVictim:
        """A victim as the user writes it; a kind's name is trained once for these images and kept."""
        if spec in KINDS:
            place = cache_root() / "images" / f"{spec}-{self.learn.fingerprint}-{self.seed}"
            if not (place / CARD).is_file():
                self.say(f"training {spec} on {self.learn.name}")
                train(
                    Schooling(kind=spec), self.learn, self.whole, seed=self.seed, device=self.device, folder=place,
                    quiet=self.quiet,
                )  # fmt: skip
            found = open_victim(str(place), device=self.device)
        else:
            found = open_victim(spec, device=self.device)
        found.check(self.some.shape)
        return found

    def run(
        self,
        spec: str,
        folder: Path,
        *,
        search: str = "",
        called: str = "",
        labels: bool = True,
        resume: bool = False,
        seen: Callable[[Find], None],
    ) -> tuple[Tried, list[Find]]:
        """One victim under one search, in a folder of its own."""
        victim, began = self.victim(spec), perf_counter()
        name = search or self.search
        quest = Quest(
            ground=self.ground,
            victim=victim,
            search=searching(name, self.settings),
            judge=self.judging,
            seed=self.seed,
            width=self.width,
            cap=self.cap,
            batch=self.batch,
            labels=labels,
        )
        about = self._describe(
            name,
            called or spec,
            {"search": quest.search, "judge": self.judge, "labels": labels},
            {"victim": victim.fingerprint},
        )
        finds = write_finds(quest, folder, about, resume=resume, seen=seen)
        _some_answered(finds)
        right = accurate(victim, self.whole)
        tried = Tried.of(
            finds,
            victim=called or spec,
            search=name,
            settings=repr(quest.search),
            accuracy=Rate(int(right.sum()), len(right)),
            seconds=round(perf_counter() - began, 2),
        )
        return tried, finds

    def _describe(self, recipe: str, victim: str, parts: Mapping[str, Any], marks: Mapping[str, str]) -> Run:
        """What is run, written beside what it finds: a resume must be of the same work."""
        return Run(
            recipe=recipe,
            victim=victim,
            data=self.some.name,
            n=len(self.some),
            seed=self.seed,
            budget=self.cap,
            width=self.width,
            parts={"task": TASK, "split": self.split, "refine": self.refine, **parts},
            fingerprints={**marks, "data": self.some.fingerprint, "generator": self.manifold.fingerprint},
        )

    def fgsm(self, spec: str, called: str = "") -> tuple[Tried, list[Find]] | None:
        """The baseline, where the victim gives gradients."""
        victim = self.victim(spec)
        if victim.network is None:
            return None
        finds = list(Fgsm(data=self.some, victim=victim, judge=self.judging).finds())
        right = accurate(victim, self.whole)
        accuracy = Rate(int(right.sum()), len(right))
        return Tried.of(finds, victim=called or spec, search="fgsm", settings="", accuracy=accuracy), finds

    def record(self, tried: Sequence[Tried], found: Mapping[str, Sequence[Find]], **more: Any) -> NaturalRecord:
        """What was found, with pictures of some of it and figures of the generative model."""
        return NaturalRecord(
            data=self.some.name,
            generator=self.about,
            items=len(self.some),
            quality=dict(self.manifold.card.figures),
            tried=tuple(tried),
            gallery={name: tuple(_few(finds)) for name, finds in found.items()},
            sheet=self._sheet(),
            **more,
        )

    @property
    def about(self) -> str:
        card = self.manifold.card
        return f"a {card.kind.upper()} with {self.manifold.dim} dimensions, trained on {card.data}"

    def _sheet(self) -> str:
        z = seeded(self.seed, "sheet").standard_normal((40, self.manifold.dim)).astype("float32")
        return address(sheet(self.manifold.pictures(z), 20))

    def compared(self, found: Mapping[str, Sequence[Find]]) -> dict[str, Any]:
        return {"largest": largest(found), "pairs": pairs(found)}

    def sweep(
        self, many: int, *, epochs: int, batch: int, resume: bool = False, seen: Callable[[SweepDot], None]
    ) -> NaturalRecord:
        """Classifiers from poor to good, and whether distance follows accuracy; each is written when it is finished."""
        work = Sweep(
            learn=self.learn,
            test=self.whole,
            ground=self.ground,
            search=searching(self.search, self.settings),
            seed=self.seed,
            width=self.width,
            cap=self.cap,
            batch=self.batch,
            device=self.device,
            quiet=self.quiet,
        )
        plans = line_up(many, epochs=epochs, batch=batch)
        parts = {"search": work.search, "epochs": epochs, "batch": batch}
        marks = {"train": self.learn.fingerprint, "test": self.whole.fingerprint}
        about = self._describe(f"sweep, {self.search}", "classifiers of a sweep", parts, marks)
        before = NaturalRecord.read(self.folder)
        done = {dot.name: dot for dot in before.dots} if before else {}
        if before is not None:
            check_resume(self.folder, about, f"{len(done)} classifiers", resume=resume)
        else:
            about.write(self.folder)
        kept = dict(done)
        for dot in work.dots(plans, done):
            kept[dot.name] = dot
            if dot.name not in done:
                self._swept(list(kept.values())).write(self.folder)
            seen(dot)
        return self._swept(list(kept.values()))

    def _swept(self, dots: Sequence[SweepDot]) -> NaturalRecord:
        groups = ["all", *dict.fromkeys(dot.group for dot in dots)]
        found = [one for group in groups if (one := correlation(dots, group))]
        return self.record((), {}, dots=tuple(dots), correlations=tuple(found))


def short(specs: Sequence[str]) -> dict[str, str]:
    """What records call victims: of folders and files the last part of their path, where no two are alike."""
    names = {spec: Path(spec).name if Path(spec).exists() else spec for spec in specs}
    return names if len(set(names.values())) == len(names) else {spec: spec for spec in specs}


def _sized(kind: str, device: str) -> dict[str, Any]:
    """Sizes that train in a minute or two where no GPU is."""
    if device != "cpu":
        return {}
    small = {"dim": 32, "width": 16, "batch": 64}
    more = {"steps": 1200} if kind == "vae" else {"steps": 1000, "critic_steps": 3, "inverter_steps": 600, "rate": 5e-4}
    return {**small, **more}


def _few(finds: Sequence[Find]) -> list[Find]:
    """Successes to look at, labels taking turns."""
    hits = [find for find in finds if find.adversary]
    turns: dict[int, int] = {}
    keyed = []
    for find in hits:
        turns[find.label] = turns.get(find.label, 0) + 1
        keyed.append((turns[find.label], find.label, find))
    return [find for _, _, find in sorted(keyed, key=lambda entry: entry[:2])][:_SHOWN]


def _some_answered(finds: Sequence[Find]) -> None:
    errors = [find for find in finds if find.status == "error"]
    if errors and len(errors) == len([find for find in finds if find.status != "skipped"]):
        raise SettingError(f"all {len(errors)} images ended in an error: {errors[0].reason}")
