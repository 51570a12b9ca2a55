"""The record of attacks on translation: success and BLEU of each run, as tables read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document
from malaprop.records.run import Run
from malaprop.records.summary import Rate

FILE = "translation.json"
_RECORD = Document(file=FILE, about="attacks on translation", again="run malaprop translate again")
TASK = "translation"  # what such a run says of itself in its parts


def is_translation(run: Run) -> bool:
    return run.parts.get("task") == TASK


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU with the middle 95% of redrawn corpora."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}-{self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """One run. `before` and `after` are of the sentences that were attacked, `drop` is their difference, paired."""

    attack: str
    kind: str  # keyword, bleu, typos or probe
    victim: str
    data: str
    success: Rate
    skipped: int
    errors: int
    before: Bleu | None = None
    after: Bleu | None = None
    drop: Bleu | None = None
    changed_words: float | None = None  # mean of successes
    asked: float | None = None  # mean of attacked sentences
    distance: float | None = None  # mean of successes


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Where a translation looks: a row an output word, a column a source word."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Attention of one success, before and after; `changed` numbers the source words that differ."""

    attack: str
    victim: str
    before: Map
    after: Map
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationStudy:
    """All runs below a folder, and what a few of their successes look at."""

    runs: tuple[Attacked, ...]
    sights: tuple[Sight, ...] = ()

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> TranslationStudy | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _studied)


def _studied(raw: Mapping[str, Any]) -> TranslationStudy:
    return TranslationStudy(runs=tuple(map(_attacked, raw["runs"])), sights=tuple(map(_sight, raw["sights"])))


def find_studies(folders: Iterable[Path]) -> list[TranslationStudy]:
    """The record of each folder, or those below it where it has none of its own."""
    found = []
    for folder in folders:
        below = [folder] if (folder / FILE).is_file() else sorted(path.parent for path in folder.rglob(FILE))
        found += [study for one in below if (study := TranslationStudy.read(one))]
    return found


def _attacked(raw: Mapping[str, Any]) -> Attacked:
    return Attacked(
        **{name: str(raw[name]) for name in ("attack", "kind", "victim", "data")},
        success=Rate(int(raw["success"]["hits"]), int(raw["success"]["total"])),
        skipped=int(raw["skipped"]),
        errors=int(raw["errors"]),
        before=_bleu(raw["before"]),
        after=_bleu(raw["after"]),
        drop=_bleu(raw["drop"]),
        changed_words=_maybe(raw["changed_words"]),
        asked=_maybe(raw["asked"]),
        distance=_maybe(raw["distance"]),
    )


def _sight(raw: Mapping[str, Any]) -> Sight:
    return Sight(
        attack=str(raw["attack"]),
        victim=str(raw["victim"]),
        before=_map(raw["before"]),
        after=_map(raw["after"]),
        changed=tuple(map(int, raw["changed"])),
    )


def _map(raw: Mapping[str, Any]) -> Map:
    source, output = (tuple(map(str, raw[name])) for name in ("source", "output"))
    weights = tuple(tuple(map(float, row)) for row in raw["weights"])
    if len(weights) != len(output) or any(len(row) != len(source) for row in weights):
        raise ValueError("a map whose weights do not fit its words")
    return Map(source=source, output=output, weights=weights)


def _bleu(raw: Mapping[str, Any] | None) -> Bleu | None:
    return None if raw is None else Bleu(float(raw["value"]), float(raw["low"]), float(raw["high"]))


def _maybe(value: Any) -> float | None:
    return None if value is None else float(value)
