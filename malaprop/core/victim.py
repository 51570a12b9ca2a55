"""What the engine wants of a model under attack, and what is known of one wherever it runs."""

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

    Objects of users that lack a member are completed by `malaprop.models.victims.complete`, so that every victim inside
    the package has all of them.
    """

    @property
    def name(self) -> str: ...

    @property
    def offers(self) -> frozenset[Capability]:
        """What attacks may use: labels or scores, and whatever `parts` holds."""

    @property
    def parts(self) -> Mapping[Capability, Any]:
        """What it shows beside its answers, such as gradients (`core.gradient`) or attention (`core.insight`)."""

    @property
    def labels(self) -> int | None:
        """How many labels it scores; None: not known before the first answer."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of its labels in the order of its scores; empty where it does not know them."""

    @property
    def fingerprint(self) -> str:
        """Changes when the answers may change; empty: not known."""

    @property
    def unknown(self) -> str:
        """A word that it reads as unknown."""

    @property
    def device(self) -> str:
        """Where it computes: cpu, cuda, cuda:1."""

    @property
    def rounding(self) -> float:
        """How far its fast answers may be from those of `predict`; 0 where they are the same."""

    @property
    def lanes(self) -> int:
        """2 where its device is busy for so long that half of the attacks are best advanced meanwhile; else 1."""

    @property
    def renews(self) -> bool:
        """Whether it draws anew for every question, so that one text can get several answers."""

    @property
    def precision(self) -> str:
        """What its fast answers are computed in: fp32, bf16."""

    @property
    def withheld(self) -> str:
        """Why it offers less than others of its kind; empty where it does not."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of its answers so far."""

    @property
    def meter(self) -> Meter | None:
        """What it has been asked for so far, in queries and tokens; None: nothing but queries is known of it."""

    @property
    def inside(self) -> Victim | None:
        """The victim that it stands around, as a defence does; None where it is the model itself."""

    def classes(self, table: Words) -> Ints | None:
        """For each word id a number, equal where the victim cannot tell the words apart; None: it tells all apart."""

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        """Starts scoring the wanted variants; may return before the work is done."""

    def finish(self, begun: Any) -> Floats:
        """Scores [wanted, label], in the order wanted."""

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        """Scores [text, label] of finished texts, by the plain road: nothing spliced, merged or remembered.

        A text of one field may come as a string.
        """


class Around:
    """What a victim that stands around another one passes on; what differs it says itself."""

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


@runtime_checkable
class Paying(Protocol):
    """A victim that can count each request itself, when it is sent and when it is answered, with `find_payer()`."""

    @property
    def pays(self) -> bool:
        """Whether it does."""


Piece = tuple[Sequence[int], Floats]  # the numbers of some of the texts, and their scores [text, label]


@runtime_checkable
class Piecewise(Protocol):
    """A victim that gives answers as they come."""

    def pieces(self, texts: Sequence[Fields]) -> Iterator[Piece]:
        """The answers of one request after the other. Behind all others raises the first failure, if there is one."""


@runtime_checkable
class Remembering(Protocol):
    """A victim that answers an attack's later questions otherwise for its earlier ones, as a service may."""

    def receive(self, steps: Steps[T]) -> Steps[T]:
        """An attack on one text as it meets this victim, which remembers nothing yet."""


def receive(victim: Victim, steps: Steps[T]) -> Steps[T]:
    """An attack as the outermost part of a victim that remembers meets it; as it is where none does."""
    layer: Victim | None = victim
    while layer is not None and not isinstance(layer, Remembering):
        layer = layer.inside
    return steps if layer is None else layer.receive(steps)


MEMBERS = tuple(name for name in vars(Victim) if not name.startswith("_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of a victim without asking it anything: plain values that travel between processes."""

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
    inside: About | None = None

    @classmethod
    def of(cls, victim: Victim) -> About:
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
    """Texts as tuples of their fields; a string is a text of one field."""
    if isinstance(texts, str):
        raise TextError(f"a list of texts is wanted, got the one string {texts[:40]!r}; write [text]")
    return [(text,) if isinstance(text, str) else tuple(text) for text in texts]


def find_rejected(label_names: Sequence[str]) -> int:
    """The number of the label that stands for a rejected text; -1, which is that of none, where none does."""
    return len(label_names) - 1 if label_names and label_names[-1] == REJECTED else -1


def is_language_model(spec: str) -> bool:
    """Whether a victim, as it is typed, is a language model that is asked with a prompt."""
    return spec.startswith(("causal:", "openai:"))
