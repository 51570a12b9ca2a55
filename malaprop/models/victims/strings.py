"""Users' own victims: `StringVictim` is any function from texts to scores; `complete` fills up an object's members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from malaprop.core.budget import Meter
from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError, SettingError, VictimError
from malaprop.core.errors import plain as in_one_line
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.secrets import scrub, secrets_around
from malaprop.core.text import Ints, Words
from malaprop.core.victim import ANSWERS, MEMBERS, Fields, Victim, in_fields
from malaprop.models.victims.answers import read_answer

# list of texts -> scores (n, labels) as an array, a tensor or nested lists. A text of several fields comes as a tuple
# of strings, or with pairs="columns" each field as a list of its own.
Predict = Callable[..., Any]


@dataclass(slots=True, eq=False, kw_only=True)
class StringVictim:
    """Scores finished strings, each distinct one once a round, in batches of like length.

    The answers are checked and taken as they are: probabilities or any other scores where the largest wins, one
    probability a text, or labels alone (`answers`). `say` gets each line of `notes`, what a user should know of these
    answers, when it comes up.
    """

    call: Predict
    name: str = "callable"
    batch: int = 64
    labels: int | None = None
    pairs: Literal["tuples", "columns"] = "tuples"
    fingerprint: str = ""
    label_names: tuple[str, ...] = ()  # in the order of the scores, where the model knows them
    unknown: str = "[UNK]"
    answers: Literal["scores", "number"] = "scores"  # number: a regression, one number a text
    multi_label: tuple[str, ...] = ()  # its labels, where it gives a probability for each by itself
    offers: frozenset[Capability] = ANSWERS
    device: str = "cpu"
    withheld: str = ""  # why it offers no more than scores, where others of its kind do
    say: Callable[[str], None] | None = None
    meter: Meter | None = None  # what `call` counts, where answers are paid for by the token
    precision: ClassVar[str] = "fp32"
    rounding: ClassVar[float] = 0.0
    lanes: ClassVar[int] = 1
    renews: ClassVar[bool] = False
    inside: ClassVar[None] = None
    assumed: tuple[str, ...] = field(
        default=(), init=False, repr=False
    )  # names to read labels by, where none are known
    _notes: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise VictimError(f"{self.name} is a {type(self.call).__name__}; expected a function of a list of texts")
        if self.batch < 1:
            raise SettingError(f"batch must be at least 1, got {self.batch}")
        if self.pairs not in ("tuples", "columns"):
            raise SettingError(f"pairs must be 'tuples' or 'columns', got {self.pairs!r}")
        if self.answers not in ("scores", "number"):
            raise SettingError(f"answers must be 'scores' or 'number', got {self.answers!r}")
        if self.answers == "number":
            self.labels, self.label_names, self.offers = 1, (), frozenset({Capability.NUMBER})
        if self.multi_label:
            from malaprop.models.victims.labelsets import by_sets

            self.call, view = by_sets(self.call, self.multi_label, self.name)
            self.labels, self.label_names = len(view.names), view.names
        if more := self.offers - ANSWERS - {Capability.NUMBER}:
            raise SettingError(f"a function offers labels and scores, not {', '.join(sorted(more))}")

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def classes(self, table: Words) -> Ints | None:  # noqa: ARG002 - it tells all words of any table apart
        return None

    def begin(self, pool: Pool, wanted: Ints) -> Floats:
        texts = [text.values() for text in pool.texts(wanted)]
        places: dict[Fields, int] = {}
        back = [places.setdefault(text, len(places)) for text in texts]
        distinct = list(places)
        order = sorted(range(len(distinct)), key=lambda i: sum(map(len, distinct[i])))
        scores = self.predict([distinct[i] for i in order])
        rank = np.argsort(np.asarray(order, np.int64))
        return scores[rank[np.asarray(back, np.int64)]]

    def finish(self, begun: Floats) -> Floats:
        return begun

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        whole = in_fields(texts)
        if not whole:
            return np.empty((0, self.labels or 0), np.float32)
        return np.concatenate([self._ask(whole[a : a + self.batch]) for a in range(0, len(whole), self.batch)])

    def _ask(self, texts: Sequence[Fields]) -> Floats:
        try:
            answer = self._call(texts)
        except MalapropError:
            raise
        except (Exception, SystemExit) as error:
            said = scrub(in_one_line(error), secrets_around())[:300]  # a client of some service may have raised it
            taken = isinstance(error, (AttributeError, TypeError)) and len(texts[0]) > 1 and self.pairs == "tuples"
            hint = " (of a pair it gets a tuple: premise, hypothesis)" if taken else ""
            raise VictimError(f"{self.name} raised {said}{hint}") from error
        if self.answers == "number":
            return self._check_finite(self._numbers(answer, len(texts)), texts)
        found = read_answer(answer, name=self.name, labels=self.labels, label_names=self.label_names or self.assumed)
        if found.note:
            self.note(found.note)
        self.assumed = found.names or self.assumed
        return self._check(found.scores, texts)

    def _call(self, texts: Sequence[Fields]) -> Any:
        if len(texts[0]) == 1:
            return self.call([text[0] for text in texts])
        if self.pairs == "columns":
            return self.call(*(list(column) for column in zip(*texts, strict=True)))
        return self.call(list(texts))

    def _check(self, scores: Floats, texts: Sequence[Fields]) -> Floats:
        if scores.ndim != 2 or len(scores) != len(texts) or scores.shape[1] < 2:
            shape = " x ".join(map(str, scores.shape)) or "a single number"
            many, rows = ("1 text", "1 row") if len(texts) == 1 else (f"{len(texts)} texts", f"{len(texts)} rows")
            raise VictimError(
                f"{self.name} answered {many} with {shape}; expected {rows}, one score a label, at least two labels"
            )
        if self.labels is None:
            self.labels = scores.shape[1]
        if scores.shape[1] != self.labels:
            raise VictimError(f"{self.name} answered with {scores.shape[1]} labels, expected {self.labels}")
        self._check_finite(scores, texts)
        if (scores < 0).any() or (np.abs(scores.sum(1) - 1) > 1e-3).any():
            self.note(f"the answers of {self.name} do not sum to one; they are taken as scores as they are")
        return scores

    def _numbers(self, answer: Any, count: int) -> Floats:
        try:
            found = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer, np.float32)
        except (TypeError, ValueError):
            found = np.empty(0, np.float32)
        if found.size != count:
            raise VictimError(
                f"{self.name} answered {count} texts with {found.size} numbers; expected one number a text"
            )
        return found.reshape(-1, 1)

    def _check_finite(self, scores: Floats, texts: Sequence[Fields]) -> Floats:
        broken = ~np.isfinite(scores).all(1)
        if broken.any():
            first = int(np.argmax(broken))
            value = scores[first][~np.isfinite(scores[first])][0]
            raise VictimError(
                f"{self.name} answered with {value} for {shorten_text(texts[first])} "
                f"({int(broken.sum())} of {len(texts)} texts); expected a finite score for every label"
            )
        return scores

    def note(self, line: str) -> None:
        """Add a line that a user should know, once."""
        if line not in self._notes:
            self._notes.append(line)
            if self.say is not None:
                self.say(line)


def shorten_text(text: Fields, most: int = 60) -> str:
    """Return a text as a message can show it."""
    whole = " / ".join(" ".join(value.split()) for value in text)
    return repr(whole if len(whole) <= most else whole[: most - 3] + "...")


# --- objects with some members of `core.victim.Victim`, wrapped so that they have all of them


NEEDED = ("name", "offers", "classes", "begin", "finish", "predict")  # which make an object a victim
_CALLED = {Capability.CHARACTERS: "gradients"}  # where the attribute is not called as the capability


def is_victim(thing: Any) -> bool:
    """Return whether an object has the members that a victim needs at least."""
    return all(hasattr(thing, name) for name in NEEDED)


def complete(thing: Any) -> Victim:
    """Return the object itself where it has every member, else one around it that has."""
    if all(hasattr(thing, name) for name in MEMBERS):
        whole: Victim = thing
        return whole
    return Completed(thing)


class Completed:
    """An object as a victim with every member: its own, or a default that suits most victims."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.name = str(thing.name)
        self.parts: Mapping[Capability, Any] = _parts(thing)
        self.offers = (frozenset(thing.offers) & ANSWERS).union(self.parts)
        self.unknown = str(getattr(thing, "unknown", "[UNK]"))
        self.device = str(getattr(thing, "device", "cpu"))
        self.rounding = float(getattr(thing, "rounding", 0.0))
        self.lanes = int(getattr(thing, "lanes", 1))
        self.renews = bool(getattr(thing, "renews", False))
        self.precision = str(getattr(thing, "precision", "fp32"))
        self.withheld = str(getattr(thing, "withheld", ""))
        inside = getattr(thing, "inside", None)
        self.inside: Victim | None = None if inside is None else complete(inside)

    @property
    def labels(self) -> int | None:
        found = getattr(self.thing, "labels", None)
        return None if found is None else int(found)

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.thing, "label_names", ())))

    @property
    def fingerprint(self) -> str:
        return str(getattr(self.thing, "fingerprint", ""))

    @property
    def meter(self) -> Meter | None:
        found = getattr(self.thing, "meter", None)
        return found if isinstance(found, Meter) else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.thing, "notes", ())))

    def classes(self, table: Words) -> Ints | None:
        found: Ints | None = self.thing.classes(table)
        return found

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self.thing.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        scores: Floats = self.thing.finish(begun)
        return scores

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        scores: Floats = self.thing.predict(in_fields(texts))
        return scores


def _parts(thing: Any) -> dict[Capability, Any]:
    """Return the object's extra capabilities: its own `parts`, or the attributes named after them."""
    given = getattr(thing, "parts", None)
    if given is not None:
        return dict(given)
    found = {}
    for capability in frozenset(thing.offers) - ANSWERS:
        called = _CALLED.get(capability, str(capability))
        found[capability] = getattr(thing, called, None)
        if found[capability] is None:
            raise VictimError(f"{thing.name} offers {capability} but has no attribute {called}")
    return found
