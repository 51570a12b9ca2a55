"""Attacks that know a defence: one averages over its randomness, others evade a service that remembers queries.

Against randomised defences (`Adaptive`), scores are means over several draws, so that the luck of one draw cannot
mislead the search (expectation over transformation, Athalye et al. 2018). A success must hold on fresh draws, which the
search has never seen: the label that wins most of them must be wrong.

Against a service that remembers queries, any recipe searches. Its queries go elsewhere, and only its last text goes to
the service: a success that the service does not confirm is corrected, and the search goes on. The service sees every
text that reaches it, the original first.
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
from malaprop.core.score import Floats, winner, winners
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Guess, Variants
from malaprop.core.victim import ANSWERS, Fields, Victim, Wrapper, find_rejected, in_fields
from malaprop.features.defending.stateful import AttackSession, Stateful
from malaprop.frame.runs.defended import Defended
from malaprop.models.victims.ensemble import log_probabilities


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adaptive(Wrapper):
    """A defended victim whose scores are means over `draws` draws, and whose `predict` is the vote of `fresh` others.

    The deployed defence answers with draw 0, which is in neither set.
    """

    defended: Defended
    draws: int = 4
    fresh: int = 9
    lanes: ClassVar[int] = 1
    renews: ClassVar[bool] = False  # the numbers of the draws are fixed

    def __post_init__(self) -> None:
        if self.draws < 1 or self.fresh < 1:
            raise SettingError(f"an adaptive attack needs draws and fresh draws, got {self.draws} and {self.fresh}")

    @property
    def name(self) -> str:
        return f"adaptive:{self.defended.name}"

    @property
    def inside(self) -> Defended:
        return self.defended

    @property
    def fingerprint(self) -> str:
        inner = self.defended.fingerprint
        return f"{inner}-{self.draws}-{self.fresh}" if inner else ""

    @property
    def rounding(self) -> float:
        """Return a rounding above 0, by which a success that fresh draws refute is no error and the search goes on."""
        return max(1e-3, self.defended.rounding)

    def begin(self, pool: Pool, wanted: Ints) -> Floats:
        texts = [text.values() for text in pool.texts(wanted)]
        return np.asarray(self.defended.draws(texts, range(1, self.draws + 1)).mean(0), np.float32)

    def finish(self, begun: Floats) -> Floats:
        return begun

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        """Return [text, label] the share of the fresh draws that each label wins."""
        if not texts:
            return np.empty((0, self.labels or 0), np.float32)
        found = self.defended.draws(in_fields(texts), range(self.draws + 1, self.draws + self.fresh + 1), exact=True)
        votes = np.eye(found.shape[2], dtype=np.float32)[[winners(one) for one in found]]
        return np.asarray(votes.mean(0), np.float32)


T = TypeVar("T")


class _Scout(Protocol):
    """The source of scores that leads a search in place of the service."""

    @property
    def margin(self) -> float: ...

    def look(
        self, items: Sequence[Variants | Guess], origin: Text, session: AttackSession
    ) -> Steps[list[Floats | None]]:
        """Return scores for variants without the service's plain answer."""


def _search_elsewhere(steps: Steps[T], scout: _Scout, session: AttackSession) -> Steps[T]:
    """Relay an attack: the scout answers its search, and the service answers for the original and the successes.

    The service's answer for the original is its label. The scout's scores are moved towards that label by `margin`, so
    that the few texts sent to the service are those of which the scout is surer. When the service has rejected
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
        raise SettingError(f"margin must be at least 0 and below 0.5, got {scout.margin}")


def _doubt(rows: Floats | None, label: int, margin: float) -> Floats | None:
    """Return scores moved towards a label by `margin`."""
    if rows is None:
        return None
    out = (1 - margin) * rows
    out[:, label] += margin * rows.sum(1)
    return np.asarray(out, np.float32)


def _agree(rows: Floats | None, label: int) -> Floats:
    """Return the scout's scores of the original with the service's label as the highest, for that label counts."""
    assert rows is not None
    out, mine = rows.copy(), winner(rows[0])
    out[0, [mine, label]] = rows[0, [label, mine]]
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThroughSurrogate(Wrapper):
    """A victim whose scores come from a model of the attacker's own, and whose successes the service confirms."""

    defended: Defended
    own: Victim
    margin: float = 0.4
    renews: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self)
        theirs, mine = (_label_names(one) for one in (self.defended, self.own))
        if theirs and mine and theirs != mine:
            raise VictimError(
                f"the surrogate {self.own.name} cannot stand for {self.defended.name}: their labels are "
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
        """Return a rounding above 0, by which a success that the service refutes is no error and the search goes on."""
        return max(1e-3, self.own.rounding, self.defended.rounding)

    def classes(self, table: Words) -> Ints | None:
        return self.own.classes(table)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self.own.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        """Return the own model's probabilities, with 0 for rejection where it has no such label."""
        found = np.exp(log_probabilities(self.own.finish(begun))).astype(np.float32)
        more = len(self.label_names) - found.shape[1]
        return np.pad(found, ((0, 0), (0, more))) if more else found

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return _search_elsewhere(steps, self, AttackSession(_method(self.defended).open_memory()))

    def look(
        self, items: Sequence[Variants | Guess], origin: Text, session: AttackSession
    ) -> Steps[list[Floats | None]]:
        del origin, session  # the service does not see these queries
        found: list[Floats | None] = yield Ask("victim", items)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThroughDisguise(Wrapper):
    """A victim that queries the service with disguised texts, which are too unlike each other to be rejected.

    In each of `copies` copies, names of people and places, drawn afresh, replace all but a share `keep` of the words
    other than stop words; words that the search changed stay. The mean over the answered copies leads the search. With
    half of the words or more kept, the final text would be like its own disguises.
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
        """Yield copies of a text in which names replace some of the words that the search has not changed."""
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
    """Return the mean over the copies that were not rejected, or the rejection where all were."""
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
    assert isinstance(defended.method, Stateful), "evasion needs a stateful service"
    return defended.method
