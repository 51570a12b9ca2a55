"""Attacks that know a service which remembers queries (`stateful`), as victims that a search can be put to.

The search itself is any recipe's. What it asks on its way goes elsewhere, and only what it would end with is put to the
service: a success that the service does not confirm is corrected, and the search goes on. The service sees every text
that reaches it, the original first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from malaprop.core.ask import Ask, Steps, relay
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats, winner
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import ANSWERS, Victim, Wrapper, find_rejected
from malaprop.features.defending.stateful import AttackSession, Stateful
from malaprop.frame.runs.defended import Defended
from malaprop.models.victims.ensemble import log_probabilities

T = TypeVar("T")


class _Scout(Protocol):
    """Where a search looks before it asks the service."""

    @property
    def margin(self) -> float: ...

    def look(
        self, items: Sequence[Variants | Guess], origin: Text, session: AttackSession
    ) -> Steps[list[Floats | None]]:
        """Answers for variants, by another road than the service's plain answer."""


def _search_elsewhere(steps: Steps[T], scout: _Scout, session: AttackSession) -> Steps[T]:
    """An attack whose search asks the scout, and whose original and successes are put to the service.

    What the service says of the original is its label. The scout's scores are moved towards that label by `margin`, so
    that the few texts that the service answers are those of which the scout is surer. When the service has rejected
    one, it will reject the next, and the search is over.
    """
    origin: Text | None = None
    label = 0

    def answer(ask: Ask) -> Steps[list[Any]]:
        nonlocal origin, label
        if ask.service != "victim":
            return (yield from session.answer(ask))
        if session.refused:
            return session.reject(ask.items)
        if origin is not None:
            return [_doubt(rows, label, scout.margin) for rows in (yield from scout.look(ask.items, origin, session))]
        origin = ask.items[0].base
        (plain,) = yield from session.verify([origin])
        (first,) = yield from scout.look(ask.items, origin, session)
        label = winner(plain)
        return [_agree(_doubt(first, label, scout.margin), label)]

    return relay(steps, answer)


def _check(scout: _Scout) -> None:
    if not 0 <= scout.margin < 0.5:
        raise SettingError(f"a margin of at least 0 and below 0.5 leaves other labels a chance, got {scout.margin}")


def _doubt(rows: Floats | None, label: int, margin: float) -> Floats | None:
    """Scores moved towards a label."""
    if rows is None:
        return None
    out = (1 - margin) * rows
    out[:, label] += margin * rows.sum(1)
    return np.asarray(out, np.float32)


def _agree(rows: Floats | None, label: int) -> Floats:
    """The scout's scores of the original with the service's label on top: whether it is right is for that to say."""
    assert rows is not None
    out, mine = rows.copy(), winner(rows[0])
    out[0, [mine, label]] = rows[0, [label, mine]]
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThroughSurrogate(Wrapper):
    """The service behind a model of the attacker's own: that one leads the search, and the service confirms."""

    defended: Defended
    own: Victim
    margin: float = 0.4
    renews: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self)
        theirs, mine = (_label_names(one) for one in (self.defended, self.own))
        if theirs and mine and theirs != mine:
            raise VictimError(
                f"a search on {self.own.name} tells nothing of {self.defended.name}: their labels are "
                f"{', '.join(mine)} and {', '.join(theirs)}"
            )

    @property
    def name(self) -> str:
        return f"surrogate:{self.own.name}:{self.defended.name}"

    @property
    def inside(self) -> Defended:
        return self.defended

    @property
    def lanes(self) -> int:
        return self.own.lanes

    @property
    def rounding(self) -> float:
        """Above 0: what the service does not confirm is no error, and the search goes on without it."""
        return max(1e-3, self.own.rounding, self.defended.rounding)

    def classes(self, table: Words) -> Ints | None:
        return self.own.classes(table)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self.own.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        """The model's answers as shares; of rejection it knows nothing, unless it may reject texts itself."""
        found = np.exp(log_probabilities(self.own.finish(begun))).astype(np.float32)
        more = len(self.label_names) - found.shape[1]
        return np.pad(found, ((0, 0), (0, more))) if more else found

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return _search_elsewhere(steps, self, AttackSession(_method(self.defended).open_memory()))

    def look(
        self, items: Sequence[Variants | Guess], origin: Text, session: AttackSession
    ) -> Steps[list[Floats | None]]:
        del origin, session  # nobody but the attacker sees it
        found: list[Floats | None] = yield Ask("victim", items)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThroughDisguise(Wrapper):
    """The service asked about texts in disguise, which are alike too little to be rejected.

    In each of `copies` copies all but a share of the words that are no stop words gives way to names of people and
    places, drawn afresh; those that the search put stay. The search is led by the mean over the copies that were
    answered. To keep half of the words or more would make the text that is sought like its own disguises.
    """

    defended: Defended
    copies: int = 6
    keep: float = 0.45
    margin: float = 0.4
    offers: ClassVar[frozenset[Capability]] = ANSWERS

    def __post_init__(self) -> None:
        _check(self)

    @property
    def name(self) -> str:
        return f"disguise:{self.defended.name}"

    @property
    def inside(self) -> Defended:
        return self.defended

    @property
    def rounding(self) -> float:
        return max(1e-3, self.defended.rounding)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return _search_elsewhere(steps, self, AttackSession(_method(self.defended).open_memory()))

    def look(
        self, items: Sequence[Variants | Guess], origin: Text, session: AttackSession
    ) -> Steps[list[Floats | None]]:
        groups = [[] if isinstance(item, Guess) else item.texts() for item in items]
        copies = [list(self._disguise(text, origin)) for texts in groups for text in texts]
        bases = [text for texts in groups for text in texts]
        asked = [Variants.between(base, each) for base, each in zip(bases, copies, strict=True)]
        rows = iter((yield from session.score(asked)) if asked else [])
        out: list[Floats | None] = []
        for item, texts in zip(items, groups, strict=True):
            found = [_mean_answered(next(rows)) for _ in texts]
            out.append(None if isinstance(item, Guess) else np.stack(found))
        return out

    def _disguise(self, text: Text, origin: Text) -> Iterator[Text]:
        """Copies of a text in which names stand for some of the words that the search left as they were."""
        from malaprop.assets.lexicon import stop_words

        stop, strings, changed = stop_words(), text.strings, {*text.changed(origin).tolist()}
        content = (slot for slot, word in enumerate(strings) if slot not in changed and word.lower() not in stop)
        slots = np.fromiter(content, np.int64)
        rng = generator(0, "disguise", "\x1f".join(text.values()))
        names = text.table.ids(_names())
        kept = max(0, int(self.keep * (len(slots) + len(changed))) - len(changed))
        for _ in range(self.copies):
            hidden = rng.permutation(slots)[kept:]
            parts = text.parts.copy()
            parts[2 * hidden + 1] = rng.choice(names, len(hidden))
            yield Text(text.table, parts, text.owner, text.names)


def _mean_answered(rows: Floats | None) -> Floats:
    """The mean of the copies that were not rejected; where all were, the rejection."""
    assert rows is not None
    answered = rows[rows[:, -1] < 1]
    return np.asarray((answered if len(answered) else rows).mean(0), np.float32)


@cache
def _names() -> list[str]:
    from malaprop.assets.alike import names, places

    return sorted({name for group in (*names(), *places()) for name in group if name.isalpha()})


def _label_names(victim: Victim) -> tuple[str, ...]:
    names = victim.label_names
    return tuple(names[:-1] if find_rejected(names) >= 0 else names)


def _method(defended: Defended) -> Stateful:
    assert isinstance(defended.method, Stateful), "only a service that remembers is evaded"
    return defended.method
