"""The record of a defence test: accuracy of each defence on clean and adversarial examples, and under attack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from malaprop.core.codec import Real
from malaprop.features.defending.certified_record import CertifiedRecord
from malaprop.frame.records.intervals import Gain
from malaprop.frame.records.kinds import Record
from malaprop.frame.records.summary import Rate, Spread

FILE = "defences.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceAttacked:
    """The figures of one attack on one defence; `draws` and `fresh` are 0 where the attack does not know it."""

    accuracy: Rate
    success: Rate
    asked: Spread
    changed: Spread
    draws: int = 0
    fresh: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How many attacked texts lie inside the certificate of their original, and contradict it."""

    inside: int  # changed texts that the certificate covers, whether the attack succeeded or not
    flipped: int  # of those, successes against the few copies that were voting
    contradicted: int  # of those, texts whose label is another when as many copies vote as certified it
    within: DefenceAttacked | None = None  # an attack limited to the changes that the certificate covers


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedDefence:
    """One attack of several on one defence, as `DefenceRow` has the first of them."""

    attack: str
    active: DefenceAttacked
    adaptive: DefenceAttacked | None = None
    transferred: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceRow:
    """One row of the table; `active`, `adaptive` and `transferred` are of the first attack."""

    name: str
    about: str
    clean: Rate
    premade: Rate
    active: DefenceAttacked
    adaptive: DefenceAttacked | None  # None: it draws nothing, so the active attack sees all of it, or it was left out
    worst: Rate  # right under every attack: plain, knowing it, and transferred
    gain: Gain  # under the plain attacks, over no defence
    kept: Gain  # under every attack, over no defence
    cost: float | None  # time for a text, as a multiple of no defence's
    passes: float  # of the model inside, for a text
    verdict: str
    certified: CertifiedRecord | None = None
    checked: Checked | None = None
    f1: dict[str, Real] = field(default_factory=dict)  # the mean over labels: of clean, premade and active
    transferred: Rate | None = None  # right on what broke the undefended victim, else on the text; None of no defence
    others: tuple[AttackedDefence, ...] = ()  # the attacks after the first
    steady: bool | None = None  # whether its answer is deterministic; None in records of before this was kept

    def summary(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        knowing = self.adaptive or self.active
        return {
            "clean": self.clean.to_dict(),
            "premade": self.premade.to_dict(),
            "active": self.active.accuracy.to_dict(),
            "adaptive": knowing.accuracy.to_dict(),
            "transferred": self.transferred.to_dict() if self.transferred else None,
            "worst": self.worst.to_dict(),
            "gain": {"value": self.kept.value, "low": self.kept.low, "high": self.kept.high},
            "cost": self.cost,
            "passes": self.passes,
            "certified": [rate.to_dict() for rate in self.certified.certified] if self.certified else None,
            "contradicted": self.checked.contradicted if self.checked else None,
            "f1": self.f1,
            "verdict": self.verdict,
            "others": {
                one.attack: {
                    "active": one.active.accuracy.to_dict(),
                    "adaptive": (one.adaptive or one.active).accuracy.to_dict(),
                    "transferred": one.transferred.to_dict() if one.transferred else None,
                }
                for one in self.others
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourStrip:
    """A model's labels and scores when each of a word's nearest neighbours stands in its place in the text."""

    model: str
    around: str  # the word
    adversarial: bool  # whether the attack inserted this word
    words: tuple[str, ...]  # the word itself first
    labels: tuple[int, ...]
    scores: tuple[float, ...]  # of the true label


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseField:
    """Noisy vectors of the original and of the adversarial word, projected to a plane, with the model's labels."""

    model: str
    noise: float
    how: str  # the projection: pca or tsne
    points: tuple[tuple[float, float, int, bool], ...]  # x, y, label, whether it is around the adversarial word


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """One attacked text, with the neighbourhoods of its original and its adversarial word."""

    id: str
    label: int
    original: str
    adversarial: str
    word: str
    swapped: str
    strips: tuple[NeighbourStrip, ...]
    fields: tuple[NoiseField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursKept:
    """Over all successes: the share of neighbours that keep the true label, each in the word's place in the text."""

    model: str
    original: Rate
    adversarial: Rate
    texts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DefencesRecord(Record):
    """The record of a defence test: its conditions, a row for each defence, and neighbourhoods of attacked words."""

    victim: str
    data: str
    attack: str  # the first of them
    texts: int
    labels: tuple[str, ...]
    premade: str  # where the pre-generated adversarial examples come from
    rows: tuple[DefenceRow, ...] = ()
    around: tuple[NeighboursKept, ...] = ()
    pictures: tuple[Neighbourhood, ...] = ()
    learnt: int = 0  # texts that the victim was trained on; 0: not known
    validity: str = "paper"  # how far the attacks had to keep the meaning

    @property
    def attacks(self) -> tuple[str, ...]:
        """Return the names of all attacks."""
        return (self.attack, *(one.attack for one in (self.rows[0].others if self.rows else ())))

    def parts(self) -> tuple[CertifiedRecord, ...]:
        return tuple(row.certified for row in self.rows if row.certified)
