"""The interface of victims, the models under attack, and a plain description of one that other processes can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from malaprop.core.ask import Steps
from malaprop.core.budget import Meter
from malaprop.core.capability import Capability
from malaprop.core.errors import TextError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words

T = TypeVar("T")
Fields = tuple[str, ...]  # the finished strings of one example, in the order of its fields
NO_LABEL = "(no label)"  # the last label of a model that answers in words: the answer names none of the others
REJECTED = (
    "(rejected)"  # the last label of a model behind a detector: it takes the text for an attack, and gives no label
)
ANSWERS = frozenset({Capability.LABELS, Capability.SCORES})  # what a victim gives by answering; the rest is in `parts`


class Victim(Protocol):
    """A model under attack. It defines the score of a text *alone*: no neighbour in a batch may change it.

    Objects of users that lack a member are completed by `malaprop.models.victims.strings`, so that every victim inside
    the package has all of them.
    """

    @property
    def name(self) -> str: ...

    @property
    def offers(self) -> frozenset[Capability]:
        """What attacks may use: labels or scores, and whatever `parts` holds."""

    @property
    def parts(self) -> Mapping[Capability, Any]:
        """The answers beyond scores by capability: gradients (`core.gradient`), attention (`core.insight`)."""

    @property
    def labels(self) -> int | None:
        """The number of labels that it scores; None where that is unknown before the first answer."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of its labels in the order of its scores; empty where they are unknown."""

    @property
    def fingerprint(self) -> str:
        """A string that changes when the answers may change; empty where that is unknown."""

    @property
    def unknown(self) -> str:
        """A word that it reads as unknown."""

    @property
    def device(self) -> str:
        """The device that it computes on: cpu, cuda, cuda:1."""

    @property
    def rounding(self) -> float:
        """The largest difference between its batched answers and those of `predict`; 0 where they are equal."""

    @property
    def lanes(self) -> int:
        """2 where half of the attacks should advance while its device works for the other half; else 1."""

    @property
    def renews(self) -> bool:
        """Whether its answers are random, so that one text can get several answers."""

    @property
    def precision(self) -> str:
        """The precision of its batched answers: fp32, bf16."""

    @property
    def withheld(self) -> str:
        """The reason why it offers less than others of its kind; empty where it offers as much."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user about its answers so far."""

    @property
    def meter(self) -> Meter | None:
        """Its queries and tokens so far; None where it does not count them."""

    @property
    def inside(self) -> Victim | None:
        """The victim that it wraps, as a defence does; None where it is the model itself."""

    def classes(self, table: Words) -> Ints | None:
        """Number each word id, equally for words that the victim reads alike; None where it tells all words apart."""

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        """Start to score the wanted variants; may return before the work is done."""

    def finish(self, begun: Any) -> Floats:
        """Return the scores [wanted, label], in the order wanted."""

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        """Return the scores [text, label] of whole texts, computed without any shared prefix, merging or cache.

        A text of one field may come as a string.
        """


class Wrapper:
    """A base for victims that wrap another one (`inside`): every member is the inner one's unless it is overridden."""

    __slots__ = ()

    @property
    def inside(self) -> Victim:
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self.inside.name

    @property
    def offers(self) -> frozenset[Capability]:
        return self.inside.offers

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return self.inside.parts

    @property
    def labels(self) -> int | None:
        return self.inside.labels

    @property
    def label_names(self) -> tuple[str, ...]:
        return self.inside.label_names

    @property
    def fingerprint(self) -> str:
        return self.inside.fingerprint

    @property
    def unknown(self) -> str:
        return self.inside.unknown

    @property
    def device(self) -> str:
        return self.inside.device

    @property
    def rounding(self) -> float:
        return self.inside.rounding

    @property
    def lanes(self) -> int:
        return self.inside.lanes

    @property
    def renews(self) -> bool:
        return self.inside.renews

    @property
    def precision(self) -> str:
        return self.inside.precision

    @property
    def withheld(self) -> str:
        return self.inside.withheld

    @property
    def notes(self) -> tuple[str, ...]:
        return self.inside.notes

    @property
    def meter(self) -> Meter | None:
        return self.inside.meter

    def classes(self, table: Words) -> Ints | None:
        return self.inside.classes(table)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self.inside.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        return self.inside.finish(begun)

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        return self.inside.predict(texts)

    def receive(self, steps: Steps[T]) -> Steps[T]:
        return receive(self.inside, steps)


@runtime_checkable
class SelfCharging(Protocol):
    """A victim that can charge each request to the budget of `find_payer()` itself, when it sends the request."""

    @property
    def pays(self) -> bool:
        """Whether it does."""


Piece = tuple[Sequence[int], Floats]  # the numbers of some of the texts, and their scores [text, label]


@runtime_checkable
class Piecewise(Protocol):
    """A victim that yields answers request by request."""

    def pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        """Yield the answers of one request after the other; raise the first failure, if any, after all answers."""


@runtime_checkable
class Remembering(Protocol):
    """A defence whose answers to an attack depend on the attack's earlier queries, as a stateful one's do."""

    def receive(self, steps: Steps[T]) -> Steps[T]:
        """Return the attack on one text as it runs against this defence with an empty memory."""


def receive(victim: Victim, steps: Steps[T]) -> Steps[T]:
    """Return an attack as it runs against the outermost layer of a victim that remembers; unchanged without one."""
    layer: Victim | None = victim
    while layer is not None and not isinstance(layer, Wrapper):
        layer = layer.inside
    return steps if layer is None else layer.receive(steps)


MEMBERS = tuple(name for name in vars(Victim) if not name.startswith("_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimDescription:
    """A description of a victim that needs no query: plain values that can be sent between processes."""

    name: str
    fingerprint: str = ""
    offers: frozenset[Capability] = ANSWERS
    labels: int | None = None
    label_names: tuple[str, ...] = ()
    unknown: str = "[UNK]"
    device: str = "cpu"
    rounding: float = 0.0
    lanes: int = 1
    renews: bool = False
    precision: str = "fp32"
    withheld: str = ""
    notes: tuple[str, ...] = ()
    inside: VictimDescription | None = None

    @classmethod
    def of(cls, victim: Victim) -> VictimDescription:
        return cls(
            name=victim.name,
            fingerprint=victim.fingerprint,
            offers=victim.offers,
            labels=victim.labels,
            label_names=victim.label_names,
            unknown=victim.unknown,
            device=victim.device,
            rounding=victim.rounding,
            lanes=victim.lanes,
            renews=victim.renews,
            precision=victim.precision,
            withheld=victim.withheld,
            notes=victim.notes,
            inside=None if victim.inside is None else cls.of(victim.inside),
        )


def in_fields(texts: Iterable[Fields | str]) -> list[Fields]:
    """Return texts as tuples of their fields; a string is a text of one field."""
    if isinstance(texts, str):
        raise TextError(f"expected a list of texts, got the one string {texts[:40]!r}; write [text]")
    return [(text,) if isinstance(text, str) else tuple(text) for text in texts]


def find_rejected(label_names: Sequence[str]) -> int:
    """Return the number of the label for rejected texts; -1 where the victim has none."""
    return len(label_names) - 1 if label_names and label_names[-1] == REJECTED else -1


def is_language_model(spec: str) -> bool:
    """Whether a victim's name on the command line is that of a language model that is prompted."""
    return spec.startswith(("causal:", "openai:"))
