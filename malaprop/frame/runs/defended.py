"""Defended: a victim behind a defence that acts when it is asked; a victim itself, so every attack can target it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.victim import ANSWERS, Around, Fields, Remembering, Victim, in_fields, receive

T = TypeVar("T")
_AT_ONCE = 1 << 15  # samples of one stretch of texts
_REMEMBERED = 1 << 20  # texts whose asks are counted


@dataclass(slots=True)
class Counters:
    """What a defence has cost: texts it answered, passes of the victim inside it, texts it could not perturb."""

    texts: int = 0
    inner: int = 0
    fallbacks: int = 0
    left_out: bool = False  # whether words were ranked by leaving each out, for want of gradients

    def __str__(self) -> str:
        each = self.inner / max(1, self.texts)
        line = f"{self.inner:,} passes of the victim for {self.texts:,} texts ({each:.1f} each)"
        return line + (
            f"; {self.fallbacks:,} texts had no word to perturb and were answered plainly" * bool(self.fallbacks)
        )


@runtime_checkable
class Method(Protocol):
    """How a defence answers. It holds settings alone; what depends on no seed is worked out once in `prepare`."""

    kind: ClassVar[str]

    @property
    def samples(self) -> int:
        """About how many samples of a text are asked for."""

    @property
    def discrete(self) -> bool:
        """Whether answers are counts, which jump."""

    def check(self, victim: Victim) -> None:
        """Refuses a victim that it cannot stand around."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Any:
        """What is known of these texts before any draw."""

    def answers(
        self, victim: Victim, prepared: Any, seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        """Scores [text, label], text i by the draws of seeds[i]. `exact`: by the victim's plain road."""


@runtime_checkable
class Rejecting(Protocol):
    """A method whose answers have one label more, the last: it rejects the text (`core.victim.REJECTED`)."""

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        """The victim's labels, and behind them that of rejected texts."""

    def read_state(self, victim: Victim) -> str:
        """Changes when its answers may, though its settings stay: with what it has learnt."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Defended(Around):
    """The victim as it answers through a method.

    Draws depend on the seed and the text alone, never on a batch. With a fixed seed the defence is deterministic. A
    fresh one (`seed=None`, or `fresh=True`) draws anew at every ask: the n-th ask of a text has the n-th draw, so that
    a run can still be repeated. Offers labels and scores alone: gradients of the victim are not those of the vote.
    """

    victim: Victim
    method: Method
    seed: int | None = 0
    fresh: bool = False
    counters: Counters = field(default_factory=Counters, repr=False)
    lanes: ClassVar[int] = 1
    withheld: ClassVar[str] = "those of the model are not those of the defence around it"
    _asked: dict[bytes, int] = field(default_factory=dict, init=False, repr=False)
    _rounds: list[int] = field(default_factory=lambda: [0], init=False, repr=False)

    def __post_init__(self) -> None:
        if Capability.SCORES not in self.victim.offers:
            raise VictimError(f"{self.method.kind} averages scores, and {self.victim.name} gives only labels")
        if remembers(self.victim):
            raise SettingError(
                f"stateful stands outermost: it counts what is asked, not what {self.method.kind} makes of it"
            )
        self.method.check(self.victim)
        generator(self._base)

    @property
    def _base(self) -> int:
        return self.seed or 0

    @property
    def renews(self) -> bool:
        """Whether every ask is answered by draws of its own."""
        return self.fresh or self.seed is None

    @property
    def spec(self) -> str:
        """The method as it is typed: its name and what differs from its defaults."""
        given = dict(settings_of(self.method))
        given |= {"seed": "fresh"} if self.renews else {"seed": self.seed} if self.seed else {}
        return ":".join([self.method.kind, *(f"{name}={value}" for name, value in given.items())])

    @property
    def name(self) -> str:
        return f"{self.spec}({self.victim.name})"

    @property
    def labels(self) -> int | None:
        return len(self.label_names) if isinstance(self.method, Rejecting) else self.victim.labels

    @property
    def label_names(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self.victim.label_names
        return self.method.name_labels(self.victim) if isinstance(self.method, Rejecting) else found

    @property
    def offers(self) -> frozenset[Capability]:
        return ANSWERS & self.victim.offers

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {}

    @property
    def inside(self) -> Victim:
        return self.victim

    @property
    def fingerprint(self) -> str:
        """None where draws are fresh: the same text is answered differently."""
        if self.renews or not self.victim.fingerprint:
            return ""
        state = f"\x1f{self.method.read_state(self.victim)}" if isinstance(self.method, Rejecting) else ""
        whole = f"{self.method!r}\x1f{self.seed}\x1f{self.victim.fingerprint}{state}"
        return blake2b(whole.encode(), digest_size=8).hexdigest()

    @property
    def rounding(self) -> float:
        """Above 0: a success that does not hold when it is asked again is no error, and the search goes on."""
        inner = self.victim.rounding
        return max(1e-6, inner, 1 / self.method.samples if inner and self.method.discrete else 0.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know, once there were answers."""
        said = [*self.victim.notes]
        if self.counters.left_out:
            said.append(f"{self.victim.name} has no gradients: {self.method.kind} ranks words by leaving each one out")
        if self.counters.texts:
            said.append(f"{self.spec}: {self.counters}")
        return tuple(said)

    def at(self, seed: int) -> Defended:
        """The same defence with draws of a fixed seed; it counts in the same counters."""
        return replace(self, seed=seed, fresh=False)

    def draw(self, number: int) -> Defended:
        """The twin that answers with the n-th draws of a fresh one, from 0 on."""
        return self.at(_nth(self._base, number))

    def draws(self, texts: Sequence[Fields], numbers: Sequence[int], *, exact: bool = False) -> Floats:
        """Scores [draw, text, label] of the draws with these numbers; words are ranked once for all of them."""
        parts = [self._some(part, None, numbers, exact) for part in self._parts(texts)]
        return np.concatenate(parts, axis=1) if parts else np.empty((len(numbers), 0, self.labels or 0), np.float32)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        """As its method meets an attack, where that remembers queries; else as what stands inside does."""
        return self.method.receive(steps) if isinstance(self.method, Remembering) else receive(self.victim, steps)

    def classes(self, table: Words) -> Ints | None:  # noqa: ARG002
        """None: draws depend on the very words."""
        return None

    def begin(self, pool: Pool, wanted: Ints) -> Floats:
        return self._answered([text.values() for text in pool.texts(wanted)], exact=False)

    def finish(self, begun: Floats) -> Floats:
        return begun

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        return self._answered(in_fields(texts), exact=True)

    def _answered(self, texts: Sequence[Fields], *, exact: bool) -> Floats:
        if not texts:
            return np.empty((0, self.labels or 0), np.float32)
        return np.concatenate([self._some(part, self._seeds(part), (), exact)[0] for part in self._parts(texts)])

    def _parts(self, texts: Sequence[Fields]) -> Iterator[Sequence[Fields]]:
        size = max(1, _AT_ONCE // self.method.samples)
        yield from (texts[a : a + size] for a in range(0, len(texts), size))

    def _some(self, texts: Sequence[Fields], seeds: list[int] | None, numbers: Sequence[int], exact: bool) -> Floats:
        """Scores [draw, text, label]: by these seeds, one a text, or by the draws with these numbers."""
        cut = cut_up(texts)
        prepared = self.method.prepare(self.victim, cut, self.counters)
        each = [seeds] if seeds is not None else [[_nth(self._base, n)] * len(texts) for n in numbers]
        self.counters.texts += len(texts) * len(each)
        return np.stack([self.method.answers(self.victim, prepared, s, self.counters, exact=exact) for s in each])

    def _seeds(self, texts: Sequence[Fields]) -> list[int]:
        if not self.renews:
            return [self._base] * len(texts)
        if len(self._asked) > _REMEMBERED:
            self._asked.clear()
            self._rounds[0] += _REMEMBERED  # so that no draw comes again
        out = []
        for text in texts:
            key = blake2b("\x1f".join(text).encode("utf-8", "surrogatepass"), digest_size=12).digest()
            number = self._asked.get(key, self._rounds[0])
            self._asked[key] = number + 1
            out.append(_nth(self._base, number))
        return out


def remembers(victim: Victim) -> bool:
    """Whether its answers hang on what was asked before."""
    return isinstance(victim, Defended) and (isinstance(victim.method, Remembering) or remembers(victim.victim))


@lru_cache(maxsize=1 << 12)
def _nth(seed: int, number: int) -> int:
    """The seed of the n-th draw; the first one is the seed itself."""
    return seed if number == 0 else int(generator(seed, "draw", str(number)).integers(1 << 62))


def cut_up(texts: Sequence[Fields]) -> list[Text]:
    """Texts of one table that lives no longer than they do.

    They are cut from their strings, whatever edits made them, so that both roads of a victim see the same words.
    """
    table = Words()
    return [
        Text.of({str(number): value for number, value in enumerate(fields)}, table, owner)
        for owner, fields in enumerate(texts)
    ]


def settings_of(method: Any) -> Iterator[tuple[str, Any]]:
    """The settings that are not the defaults, those of its parts among them."""
    usual = type(method)()
    for one in fields(method):
        value, other = getattr(method, one.name), getattr(usual, one.name)
        if value == other or not one.init:
            continue
        if hasattr(value, "__dataclass_fields__"):
            yield from ((f.name, getattr(value, f.name)) for f in fields(value)
                        if getattr(value, f.name) != getattr(other, f.name))  # fmt: skip
        else:
            yield one.name, value
