"""The record of natural adversaries of images: a line for each image, figures of runs, comparisons and sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from math import comb, isfinite
from pathlib import Path
from typing import Any

from malaprop.core.codec import Real, decode, encode
from malaprop.core.errors import RecordError
from malaprop.core.files import read_lines
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import IMAGE, Alteration, AlterationReader, LineKind
from malaprop.frame.records.summary import Rate, Spread

FILE, LINES, SWEPT = "natural.json", "natural.jsonl", "classifiers.jsonl"
FGSM = "fgsm"  # the baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageResult:
    """One attacked image. `distance` is that of latent points; pictures are addresses that hold their data.

    `start` is the victim's label for what the start of the search generates: where it is not `prediction`, the
    generator alone, without a search, changed the answer.
    """

    id: str
    status: str  # success, failed, skipped (the victim was wrong already) or error
    label: int
    prediction: int
    start: int | None = None
    changed: int | None = None  # the victim's label for the adversary
    judged: int | None = None  # the judge's
    distance: float | None = None
    pixels: float | None = None  # Euclidean, from the original
    rebuilt: float | None = None  # error a pixel of what the start generates
    asked: int = 0
    reason: str | None = None
    original: str = ""
    returned: str = ""  # the picture that the start generates
    adversary: str = ""
    difference: str = ""  # from the picture of the start
    strip: str = ""  # from the start to the adversary

    def __post_init__(self) -> None:
        for picture in (self.original, self.returned, self.adversary, self.difference, self.strip):
            _check_picture(picture)

    def to_json(self) -> str:
        return json.dumps(encode(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRunFigures:
    """A victim under one search. The judge's shares are over successes: the original label, the new one, another."""

    victim: str
    search: str
    settings: str
    accuracy: Rate  # on the whole test part
    success: Rate  # of those attacked
    distance: Spread
    searched: Spread  # distances where the start was still answered as the original
    asked: Spread
    started: Rate  # where the generator alone changed the answer
    pixels: Spread
    judged_original: Rate
    judged_changed: Rate
    judged_other: Rate
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    errors: int = 0  # searches that the victim or the generator failed; no rate counts them

    @classmethod
    def of(cls, finds: Iterable[ImageResult], **known: Any) -> ImageRunFigures:
        """Compute the figures of a run from its finds."""
        finds = list(finds)
        tried = [find for find in finds if find.status in ("success", "failed")]
        hits = [find for find in tried if find.status == "success"]
        judged = [find for find in hits if find.judged is not None]
        old = sum(find.judged == find.label for find in judged)
        new = sum(find.judged == find.changed and find.changed != find.label for find in judged)
        reasons: dict[str, int] = {}
        for find in tried:
            if find.reason:
                reasons[find.reason] = reasons.get(find.reason, 0) + 1
        return cls(
            success=Rate(len(hits), len(tried)),
            distance=Spread.of(find.distance for find in hits if find.distance is not None),
            searched=Spread.of(f.distance for f in hits if f.distance is not None and f.start == f.prediction),
            asked=Spread.of(find.asked for find in tried),
            started=Rate(sum(find.start != find.prediction for find in tried), len(tried)),
            pixels=Spread.of(find.pixels for find in hits if find.pixels is not None),
            judged_original=Rate(old, len(judged)),
            judged_changed=Rate(new, len(judged)),
            judged_other=Rate(len(judged) - old - new, len(judged)),
            reasons=reasons,
            errors=sum(find.status == "error" for find in finds),
            **known,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFigures:
    """The figures of one run, and some of its finds to show."""

    tried: ImageRunFigures
    shown: tuple[ImageResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimPair:
    """Two victims on the same items: how often the second needs the larger change, ties left out."""

    one: str
    two: str
    larger: Rate
    ties: int

    @property
    def p(self) -> float:
        """Return the p-value of the sign test, two-sided and exact."""
        n, least = self.larger.total, min(self.larger.hits, self.larger.total - self.larger.hits)
        return min(1.0, 2 * sum(comb(n, k) for k in range(least + 1)) / 2**n) if n else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPair:
    """Two searches of one victim on the items where both found an adversary: medians of the second over the first's.

    Intervals are of 95%, from resampling the items.
    """

    victim: str
    one: str
    two: str
    asked: Estimate  # above 1: the first one needs fewer queries
    distance: Estimate  # above 1: the first one comes nearer
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepDot:
    """One classifier of a sweep."""

    name: str
    group: str
    accuracy: Rate
    distance: Spread
    found: Rate
    settings: str = ""  # all that its figures depend on
    errors: int = 0  # searches that failed and count nowhere

    @property
    def id(self) -> str:
        return self.name

    def to_json(self) -> str:
        return json.dumps(encode(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Spearman's rank correlation with a 95% interval from resampling."""

    group: str
    rho: Real
    low: Real
    high: Real
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """A curve in the plane (Figure 5). Points are [x, y]; distances are from an adversary to the nearest data point."""

    data: tuple[tuple[float, float], ...]
    rebuilt: tuple[tuple[float, float], ...]
    latent: tuple[tuple[float, float], ...]
    border: float  # the victim's answer changes above this height
    origins: tuple[tuple[float, float], ...]
    on_curve: tuple[tuple[float, float], ...]  # adversaries by the latent search
    off_curve: tuple[tuple[float, float], ...]  # adversaries by the same search in the plane
    latent_apart: Spread
    plane_apart: Spread

    def __post_init__(self) -> None:
        groups = (self.data, self.rebuilt, self.latent, self.origins, self.on_curve, self.off_curve)
        if not all(isfinite(x) and isfinite(y) for points in groups for x, y in points):
            raise ValueError("points must be finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalRecord(Record):
    """The results of one command; parts that it does not have are empty."""

    data: str
    generator: str = ""
    items: int = 0
    quality: dict[str, Real] = field(default_factory=dict)
    tried: tuple[ImageRunFigures, ...] = ()
    largest: dict[str, Rate] = field(default_factory=dict)  # how often a victim needs the largest change of all
    pairs: tuple[VictimPair, ...] = ()
    searches: tuple[SearchPair, ...] = ()
    dots: tuple[SweepDot, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    gallery: dict[str, tuple[ImageResult, ...]] = field(default_factory=dict)
    sheet: str = ""  # random samples of the generator
    synthetic: Synthetic | None = None

    def __post_init__(self) -> None:
        _check_picture(self.sheet)


def _check_picture(address: str) -> None:
    if address and not address.startswith("data:image/png;base64,"):
        raise ValueError("a picture must be a PNG that the record holds")


def read_finds(folder: Path) -> list[ImageResult]:
    """Read the finished items of a run; an incomplete last line is left out."""
    return read_lines(folder / LINES, FINDS.read)


def _read_images(folder: Path, run: Run) -> dict[str, list[Alteration]]:
    """Return the adversaries of the search, and beside them those of the baseline, for rooms that show changes."""
    found = {run.recipe: _convert(read_finds(folder), folder)}
    whole = NaturalRecord.read(folder)
    baseline = () if whole is None else whole.gallery.get(f"{run.victim}, {FGSM.upper()}", ())
    return {**found, FGSM: _convert(baseline, folder)} if baseline else found


def _convert(finds: Iterable[ImageResult], folder: Path) -> list[Alteration]:
    from malaprop.core.png import is_address

    found = []
    for find in finds:
        if find.status not in ("success", "failed") or not find.original:
            continue
        for picture in (find.original, find.adversary):
            if picture and not is_address(picture):
                raise RecordError(f"{folder}: image {find.id} is not a PNG of the record; run it again")
        changed = {IMAGE: find.adversary} if find.status == "success" and find.adversary else None
        label = str(find.label)
        found.append(
            Alteration(id=find.id, label=label, original={IMAGE: find.original}, changed=changed, last=find.label)
        )
    return found


IMAGES = AlterationReader(LINES, "images", _read_images)
DOTS = LineKind(file=SWEPT, what="classifiers", read=partial(decode, SweepDot), write=SweepDot.to_json)
FINDS = LineKind(file=LINES, what="finds", read=partial(decode, ImageResult), write=ImageResult.to_json)
