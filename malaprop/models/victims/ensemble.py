"""Ensemble: the mean of several victims, as one victim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from malaprop.core.budget import Meter, add_meters
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import ANSWERS, Fields, SelfCharging, Victim, in_fields

PREFIX = "ensemble:"
_FLOOR = 1e-12  # a member that rules a label out must not outvote all others for good


def log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = logits - logits.max(1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)))


def log_probabilities(scores: Floats) -> NDArray[np.float64]:
    """Return the log-probabilities [text, label] of a victim's answers.

    A row without a negative that sums to one holds probabilities; any other holds scores, which a softmax makes ones.
    """
    wide = scores.astype(np.float64)
    given = (wide >= 0).all(1) & (np.abs(wide.sum(1) - 1) <= 1e-3)
    return np.where(given[:, None], np.log(np.maximum(wide, _FLOOR)), log_softmax(wide))


class _Joint:
    """The classes of all members as one: equal only where every member's are; it grows with its table."""

    def __init__(self) -> None:
        self.known = np.zeros(0, np.int64)
        self._numbers: dict[tuple[int, ...], int] = {}

    def grow(self, columns: Sequence[Ints]) -> Ints:
        old, new = len(self.known), min(map(len, columns))
        if new > old:
            rows = zip(*(column[old:new].tolist() for column in columns), strict=True)
            fresh = [self._numbers.setdefault(row, len(self._numbers)) for row in rows]
            self.known = np.concatenate([self.known, np.asarray(fresh, np.int64)])
        return self.known


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ensemble:
    """The mean over members of equal labels, matched by name where members have the same names in another order.

    Each member scores the same pool by its own fast path.

    how="logits" averages log-probabilities and takes a softmax. Logits differ from log-probabilities by a number that
    is the same for all labels of a text, which the softmax takes out: so this is the mean of logits where members have
    logits, and the geometric mean of probabilities, made to sum to one, where only those are known. how="probabilities"
    averages probabilities. Offers what all members offer, of labels and scores; it has no gradients of its own.
    """

    members: tuple[Victim, ...]
    how: Literal["logits", "probabilities"] = "logits"
    names: tuple[str, ...] = ()  # the order of the labels, which members without names have; () as the first named one
    lanes: ClassVar[int] = 1
    withheld: ClassVar[str] = "it is asked as one, and shows what no single member does"
    inside: ClassVar[None] = None
    _joint: WeakKeyDictionary[Words, _Joint] = field(default_factory=WeakKeyDictionary, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.members:
            raise SettingError("an ensemble needs at least one member, got none")
        if self.how not in ("logits", "probabilities"):
            raise SettingError(f"an ensemble's mean is of 'logits' or 'probabilities', got {self.how!r}")
        for member in self.members:
            if Capability.SCORES not in member.offers:
                raise VictimError(f"an ensemble needs scores of every member, and {member.name} gives labels alone")
        self._same_labels([member.labels for member in self.members])

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.members, self.how, self.names)

    @property
    def name(self) -> str:
        return PREFIX + "+".join(member.name for member in self.members)

    @property
    def precision(self) -> str:
        """Return the precision of all members, `mixed` where they differ."""
        kinds = {member.precision for member in self.members}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @property
    def offers(self) -> frozenset[Capability]:
        return ANSWERS.intersection(*(member.offers for member in self.members))

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {}

    @property
    def meter(self) -> Meter | None:
        """Return the meters of the members added up."""
        return add_meters(member.meter for member in self.members)

    @property
    def pays(self) -> bool:
        """Return whether members charge requests themselves; queries to the other members then cost nothing."""
        return any(isinstance(member, SelfCharging) and member.pays for member in self.members)

    @property
    def labels(self) -> int | None:
        return next((m.labels for m in self.members if m.labels is not None), None)

    @property
    def fingerprint(self) -> str:
        marks = [member.fingerprint for member in self.members]
        order = self.names if any(self._turns()) else ()
        whole = "\x1f".join(("ensemble", self.how, *marks, *order))
        return blake2b(whole.encode(), digest_size=8).hexdigest() if all(marks) else ""

    @property
    def unknown(self) -> str:
        """Return the first member's unknown token."""
        return self.members[0].unknown

    @property
    def label_names(self) -> tuple[str, ...]:
        """Return the names given; else the members', where they agree, in the order of the first that has any."""
        if self.names:
            return self.names
        known = [member.label_names for member in self.members if member.label_names]
        return known[0] if len(set(map(_folded, known))) == 1 else ()

    @property
    def rounding(self) -> float:
        """Return the members' largest rounding: a mean is no further off than the worst of them."""
        return max(member.rounding for member in self.members)

    @property
    def device(self) -> str:
        """Return the first member's device."""
        return self.members[0].device

    @property
    def renews(self) -> bool:
        return any(member.renews for member in self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for member in self.members for note in member.notes))

    def classes(self, table: Words) -> Ints | None:
        found = [member.classes(table) for member in self.members]
        columns = [column for column in found if column is not None]
        if len(columns) < len(found):
            return None
        return self._joint.setdefault(table, _Joint()).grow(columns)

    def begin(self, pool: Pool, wanted: Ints) -> list[Any]:
        return [member.begin(pool, wanted) for member in self.members]

    def finish(self, begun: list[Any]) -> Floats:
        return self._mean([member.finish(one) for member, one in zip(self.members, begun, strict=True)])

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        whole = in_fields(texts)
        return self._mean([member.predict(whole) for member in self.members])

    def _same_labels(self, counts: Sequence[int | None]) -> None:
        known = {count for count in counts if count is not None}
        if len(known) > 1:
            each = ", ".join(f"{m.name} {n or '?'}" for m, n in zip(self.members, counts, strict=True))
            raise VictimError(
                f"the members of an ensemble must have the same labels, got {each}; leave out the odd one"
            )

    def _turns(self) -> list[list[int] | None]:
        """Return for each member the columns that give the common order of labels; None where they have it."""
        first = {_folded(self.names): list(map(str.casefold, self.names))}
        out: list[list[int] | None] = []
        for member in self.members:
            mine = list(map(str.casefold, member.label_names))
            order = first.setdefault(_folded(mine), mine)
            out.append(None if order == mine else [mine.index(name) for name in order])
        return out

    def _mean(self, answers: Sequence[Floats]) -> Floats:
        if not len(answers[0]):
            return np.empty((0, self.labels or 0), np.float32)
        self._same_labels([answer.shape[1] for answer in answers])
        turned = [a if turn is None else a[:, turn] for a, turn in zip(answers, self._turns(), strict=True)]
        logs = np.stack([log_probabilities(answer) for answer in turned])
        mean = np.exp(logs).mean(0) if self.how == "probabilities" else np.exp(log_softmax(logs.mean(0)))
        return np.asarray(mean, np.float32)


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


def _made(members: tuple[Victim, ...], how: Literal["logits", "probabilities"], names: tuple[str, ...]) -> Ensemble:
    return Ensemble(members=members, how=how, names=names)


def member_specs(spec: str) -> list[str]:
    """Return the members named in `ensemble:A+B+C`."""
    names = [name.strip() for name in spec.removeprefix(PREFIX).split("+")]
    if not all(names):
        raise SettingError(f"an ensemble is written ensemble:A+B+C, got {spec!r}")
    return names
