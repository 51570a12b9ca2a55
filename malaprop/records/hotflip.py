"""The record of a HotFlip study: what its runs and models add up to, as figures and tables read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document
from malaprop.records.summary import Rate, Spread

FILE = "hotflip.json"
_RECORD = Document(file=FILE, about="a HotFlip study", again="run malaprop study again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Success of one attack against the confidence asked for; confidence 0 asks for a wrong label alone."""

    attack: str
    points: tuple[tuple[float, Rate], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What the successes of one run did to their texts: shares of characters, and how many of each operation."""

    attack: str
    confidence: float
    success: Rate
    share: Spread
    operations: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardened:
    """One model under the attack by flips alone; `error` is on the whole test part, without an attack."""

    name: str
    about: str
    error: Rate
    success: Rate
    epochs: int
    epoch_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The words nearest to a word's vector before and after an edit."""

    word: str
    edited: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Economy:
    """The greedy attack by derivatives and by exact losses, on the same texts."""

    success: Rate
    exact_success: Rate
    seconds: float
    exact_seconds: float

    @property
    def ratio(self) -> float | None:
        """Adversarial texts a second by derivatives, over those by exact losses."""
        if not (self.success.hits and self.exact_success.hits and self.seconds > 0):
            return None
        return (self.success.hits / self.seconds) / (self.exact_success.hits / self.exact_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """`moved` counts the edited words of successes whose original is not among the five nearest words any more."""

    model: str
    data: str
    texts: int
    curves: tuple[Curve, ...] = ()
    changes: tuple[Change, ...] = ()
    hardened: tuple[Hardened, ...] = ()
    neighbours: tuple[Neighbours, ...] = ()
    moved: Rate = field(default_factory=lambda: Rate(0, 0))
    economy: Economy | None = None

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Study | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _study)


def _rate(raw: Mapping[str, Any]) -> Rate:
    return Rate(int(raw["hits"]), int(raw["total"]))


def _study(raw: dict[str, Any]) -> Study:
    return Study(
        model=str(raw["model"]),
        data=str(raw["data"]),
        texts=int(raw["texts"]),
        curves=tuple(
            Curve(attack=str(c["attack"]), points=tuple((float(at), _rate(rate)) for at, rate in c["points"]))
            for c in raw["curves"]
        ),
        changes=tuple(
            Change(
                attack=str(c["attack"]),
                confidence=float(c["confidence"]),
                success=_rate(c["success"]),
                share=Spread(**c["share"]),
                operations={str(name): int(count) for name, count in c["operations"].items()},
            )
            for c in raw["changes"]
        ),
        hardened=tuple(
            Hardened(
                name=str(h["name"]),
                about=str(h["about"]),
                error=_rate(h["error"]),
                success=_rate(h["success"]),
                epochs=int(h["epochs"]),
                epoch_seconds=float(h["epoch_seconds"]),
            )
            for h in raw["hardened"]
        ),
        neighbours=tuple(
            Neighbours(
                word=str(n["word"]),
                edited=str(n["edited"]),
                before=tuple(map(str, n["before"])),
                after=tuple(map(str, n["after"])),
            )
            for n in raw["neighbours"]
        ),
        moved=_rate(raw["moved"]),
        economy=_economy(raw["economy"]),
    )


def _economy(raw: Mapping[str, Any] | None) -> Economy | None:
    if raw is None:
        return None
    return Economy(
        success=_rate(raw["success"]),
        exact_success=_rate(raw["exact_success"]),
        seconds=float(raw["seconds"]),
        exact_seconds=float(raw["exact_seconds"]),
    )
