"""`Defended` is a victim behind a defence that acts at each query; it is a victim itself, so any attack takes it."""

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
from malaprop.core.victim import ANSWERS, Fields, Remembering, Victim, Wrapper, in_fields, receive

T = TypeVar("T")
_AT_ONCE = 1 << 15  # samples in one batch of texts
_REMEMBERED = 1 << 20  # texts whose queries are counted


@dataclass(slots=True)
class Counters:
    """The cost of a defence: texts answered, texts sent to the inner victim, texts that it could not perturb."""

    texts: int = 0
    inner: int = 0
    fallbacks: int = 0
    left_out: bool = False  # words were ranked by leaving each one out, because the victim has no gradients

    def __str__(self) -> str:
        each = self.inner / max(1, self.texts)
        line = f"{self.inner:,} passes of the victim for {self.texts:,} texts ({each:.1f} each)"
        return line + (
            f"; {self.fallbacks:,} texts had no word to perturb and were answered plainly" * bool(self.fallbacks)
        )


@runtime_checkable
class Method(Protocol):
    """How a defence answers. It holds only settings; `prepare` computes once what depends on no seed."""

    kind: ClassVar[str]

    @property
    def samples(self) -> int:
        """The approximate number of samples for each text."""

    @property
    def discrete(self) -> bool:
        """Whether answers are counts of votes, which change in jumps."""

    def check(self, victim: Victim) -> None:
        """Raise if this defence cannot wrap the victim."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Any:
        """Return what the answers need of these texts and does not depend on the seed."""

    def answers(
        self, victim: Victim, prepared: Any, seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        """Return scores [text, label]; text i uses the draws of seeds[i]. `exact`: use the victim's `predict`."""


@runtime_checkable
class Rejecting(Protocol):
    """A method whose answers have an additional last label for rejected texts (`core.victim.REJECTED`)."""

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        """Return the victim's labels and, last, that of rejected texts."""

    def read_state(self, victim: Victim) -> str:
        """Return a fingerprint of what it has learnt, which changes its answers under the same settings."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Defended(Wrapper):
    """A victim that answers through a defence `method`.

    Draws depend only on the seed and the text, never on the batch. With a fixed seed the defence is deterministic. A
    fresh one (`seed=None` or `fresh=True`) draws anew at every query: the n-th query of a text has the n-th draw, so a
    run can still be repeated. It offers only labels and scores: gradients of the victim are not those of the vote.
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
                f"stateful must be the outermost defence: it counts users' queries, not those of {self.method.kind}"
            )
        self.method.check(self.victim)
        generator(self._base)

    @property
    def _base(self) -> int:
        return self.seed or 0

    @property
    def renews(self) -> bool:
        """Whether every query has draws of its own."""
        return self.fresh or self.seed is None

    @property
    def spec(self) -> str:
        """The defence as it is typed: its name and the settings that differ from the defaults."""
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
        """Empty if draws are fresh, because the same text then has different answers."""
        if self.renews or not self.victim.fingerprint:
            return ""
        state = f"\x1f{self.method.read_state(self.victim)}" if isinstance(self.method, Rejecting) else ""
        whole = f"{self.method!r}\x1f{self.seed}\x1f{self.victim.fingerprint}{state}"
        return blake2b(whole.encode(), digest_size=8).hexdigest()

    @property
    def rounding(self) -> float:
        """Above 0, so that a success that a fresh query does not confirm is no error and the search goes on."""
        inner = self.victim.rounding
        return max(1e-6, inner, 1 / self.method.samples if inner and self.method.discrete else 0.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the user after the defence has answered."""
        said = [*self.victim.notes]
        if self.counters.left_out:
            said.append(f"{self.victim.name} has no gradients: {self.method.kind} ranks words by leaving each one out")
        if self.counters.texts:
            said.append(f"{self.spec}: {self.counters}")
        return tuple(said)

    def at(self, seed: int) -> Defended:
        """Return the same defence with draws of a fixed seed; both share their counters."""
        return replace(self, seed=seed, fresh=False)

    def draw(self, number: int) -> Defended:
        """Return the defence with the n-th draws of a fresh one, counted from 0."""
        return self.at(_nth(self._base, number))

    def draws(self, texts: Sequence[Fields], numbers: Sequence[int], *, exact: bool = False) -> Floats:
        """Return scores [draw, text, label] of the draws with these numbers; words are ranked once for all of them."""
        parts = [self._some(part, None, numbers, exact) for part in self._parts(texts)]
        return np.concatenate(parts, axis=1) if parts else np.empty((len(numbers), 0, self.labels or 0), np.float32)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        """Pass an attack to the method if that remembers queries, else to the inner victim."""
        return self.method.receive(steps) if isinstance(self.method, Remembering) else receive(self.victim, steps)

    def classes(self, table: Words) -> Ints | None:  # noqa: ARG002
        """Return None, because draws depend on the words themselves."""
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
        """Return scores [draw, text, label] by one seed for each text, or by the draws with these numbers."""
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
            self._rounds[0] += _REMEMBERED  # so that no draw is repeated
        out = []
        for text in texts:
            key = blake2b("\x1f".join(text).encode("utf-8", "surrogatepass"), digest_size=12).digest()
            number = self._asked.get(key, self._rounds[0])
            self._asked[key] = number + 1
            out.append(_nth(self._base, number))
        return out


def remembers(victim: Victim) -> bool:
    """Return whether the victim's answers depend on earlier queries."""
    return isinstance(victim, Defended) and (isinstance(victim.method, Remembering) or remembers(victim.victim))


@lru_cache(maxsize=1 << 12)
def _nth(seed: int, number: int) -> int:
    """Return the seed of the n-th draw; the first is the seed itself."""
    return seed if number == 0 else int(generator(seed, "draw", str(number)).integers(1 << 62))


def cut_up(texts: Sequence[Fields]) -> list[Text]:
    """Cut strings into `Text`s that share one new table of words.

    Texts are cut from their strings, whatever edits made them, so that the fast and the plain path see the same words.
    """
    table = Words()
    return [
        Text.of({str(number): value for number, value in enumerate(fields)}, table, owner)
        for owner, fields in enumerate(texts)
    ]


def settings_of(method: Any) -> Iterator[tuple[str, Any]]:
    """Yield the settings that differ from the defaults, including those of nested parts."""
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
