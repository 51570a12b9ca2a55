"""Sweep classifiers from poor to good: does the distance of natural adversaries follow their accuracy?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from malaprop.core.errors import SettingError
from malaprop.data.images import ImageSet
from malaprop.frame.records.summary import Rate, Spread
from malaprop.papers.natural.images import ImageTarget
from malaprop.papers.natural.models.image_classifiers import ImageTrainingSettings, accurate, fit
from malaprop.papers.natural.models.image_victim import of_network
from malaprop.papers.natural.models.images import ImageManifold
from malaprop.papers.natural.record import ImageRunFigures, SweepDot
from malaprop.papers.natural.search.service import CAP, LatentData, LatentRun, LatentSearch

_DEEP = ((32,), (128,), (512,), (16, 16), (64, 64), (256, 128), (512, 256), (128, 64, 32))
_LITTLE = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
_DECAY = (0.0, 0.1, 1.0)
_Named = tuple[str, tuple[str, ImageTrainingSettings]]  # a classifier's name, its group and its training


def choose_classifiers(many: int, *, epochs: int = 3, batch: int = 64) -> dict[str, tuple[str, ImageTrainingSettings]]:
    """Choose `many` classifiers by name, each with its group: hidden width 2 to 1024, dropout 0.9 to 0, and variants.

    The three groups take turns, so that a small number holds some of each.
    """
    plain = ImageTrainingSettings(kind="mlp", epochs=epochs, batch=batch)
    widths = [(f"width {w}", ("width", replace(plain, widths=(w,)))) for w in (2**k for k in range(1, 11))]
    drops = [
        (f"dropout {d / 10:g}", ("dropout", replace(plain, widths=(64,), dropout=d / 10))) for d in range(9, -1, -1)
    ]
    variants = [
        (
            f"{'-'.join(map(str, deep))}, {share:.0%} of the data, decay {decay:g}",
            ("variant", replace(plain, widths=deep, share=share, decay=decay)),
        )
        for decay in _DECAY
        for share in _LITTLE
        for deep in _DEEP
    ]
    spread = [variants[(k * 37) % len(variants)] for k in range(len(variants))]  # 37 shares no factor with 168
    most = len({plan for _, (_, plan) in (*widths, *drops, *variants)})
    if not 2 <= many <= most:
        raise SettingError(f"a sweep takes 2 to {most} classifiers, got {many}")
    groups = _drop_repeated([_thin(widths, many), _thin(drops, many), spread])
    return dict(_take_turns(groups, many))


def _thin(group: list[_Named], many: int) -> list[_Named]:
    """Thin a group evenly to about a third of `many`, where few classifiers are wanted."""
    few = max(1, many // 3)
    return group if few >= len(group) else [group[round(k * (len(group) - 1) / max(1, few - 1))] for k in range(few)]


def _drop_repeated(groups: list[list[_Named]]) -> list[list[_Named]]:
    """Leave a classifier that two groups hold, as width 64 without dropout, in the first group alone."""
    given: set[ImageTrainingSettings] = set()
    out = []
    for group in groups:
        out.append([entry for entry in group if entry[1][1] not in given])
        given.update(plan for _, (_, plan) in group)
    return out


def _take_turns(groups: list[list[_Named]], many: int) -> Iterator[_Named]:
    given = 0
    for turn in range(max(map(len, groups))):
        for group in groups:
            if turn < len(group) and given < many:
                given += 1
                yield group[turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepEntry:
    """A classifier of a sweep before it is trained; its name is its id."""

    id: str
    group: str
    plan: ImageTrainingSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class AccuracySweep:
    """Trains each classifier, measures its accuracy on `test`, and searches around the images."""

    learn: ImageSet
    test: ImageSet
    latent_data: LatentData
    manifold: ImageManifold
    search: LatentSearch
    refine: int = 0  # gradient steps by which the starts were refined
    seed: int = 0
    width: int = 64
    cap: int = CAP
    batch: int = 1024
    device: str = "cpu"
    quiet: bool = True

    def settings(self, plan: ImageTrainingSettings) -> str:
        """Describe everything that a classifier's figures depend on."""
        ids = sha256("\n".join(self.latent_data.ids).encode()).hexdigest()[:12]
        return (
            f"{plan}, {self.search}, seed {self.seed}, cap {self.cap}, refine {self.refine}, "
            f"learnt {self.learn.fingerprint}, test {self.test.fingerprint}, images {ids}, "
            f"generator {self.manifold.fingerprint}"
        )

    def dot(self, name: str, group: str, plan: ImageTrainingSettings) -> SweepDot:
        """Train and search one classifier; labels play no part in its searches, as in the paper."""
        net, _ = fit(plan, self.learn, seed=self.seed, device=self.device, quiet=self.quiet)
        victim = of_network(net, name=name, device=self.device, image=self.learn.shape)
        right = accurate(victim, self.test)
        target = ImageTarget(
            latent_data=self.latent_data,
            manifold=self.manifold,
            victim=victim,
            batch=self.batch,
            labels=False,
            drawn=False,
        )
        latent_run = LatentRun(target=target, search=self.search, seed=self.seed, width=self.width, cap=self.cap)
        accuracy = Rate(int(right.sum()), len(right))
        tried = ImageRunFigures.of(latent_run.run(), victim=name, search="", settings="", accuracy=accuracy)
        return SweepDot(
            name=name,
            group=group,
            accuracy=accuracy,
            distance=tried.distance,
            found=tried.success,
            settings=self.settings(plan),
            errors=tried.errors,
        )


def error_dot(item: SweepEntry, seed: int, why: str) -> SweepDot:
    """Return the result of a classifier that ended every process that worked on it."""
    del seed
    none = Rate(0, 0)
    return SweepDot(
        name=item.id, group=item.group, accuracy=none, distance=Spread.of(()), found=none, settings=why, errors=1
    )
