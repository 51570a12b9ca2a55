"""The record of an attention study: what one changed word does to attention and states, and what a theorem allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop.records.documents import Document

FILE = "attention.json"
_RECORD = Document(file=FILE, about="an attention study", again="run malaprop study again")
Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over texts with its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if not self.n:
            return "n/a (0)"
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f}, n={self.n})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer under one changed word; number 0 is what the first layer reads.

    `relative` is R_e over all its states; `elsewhere` the share of the change on words that stayed; `reach` over how
    many of the words it is spread (the exponential of the shares' entropy, over their number); `shift` how much of the
    attention went from some words to others, None for layers without attention.
    """

    number: int
    relative: Mean
    elsewhere: Mean
    reach: Mean
    shift: Mean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One victim under its own adversarial texts, or under edits that all victims share.

    `pooled` is R_e of the vector that the classifier reads, `layered` the mean of R_e over the layers, the input aside.
    """

    name: str
    edits: str
    texts: int
    pooled: Mean | None
    layered: Mean | None
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One text before and after, as figures show it; every table has a row a query or layer and a column a word."""

    model: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changed: tuple[int, ...]
    said: tuple[str, str]  # the answers, before and after
    maps: tuple[tuple[int, tuple[Row, ...], tuple[Row, ...]], ...]  # layer, mean over heads before, and after
    variation: tuple[Row, ...]  # how far each word's state moved, layer by layer from the one read


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """How often a score moved at least so far, and how often it may by Markov's inequality."""

    epsilon: float
    share: float
    markov: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Theorem 1 against what was measured: scores of the changed word, over all words that look at it.

    `bound` is C delta / sqrt(d), times the mean norm of the words where that is not 1; `mean` of |s' - s|, `signed` of
    s' - s, `exact` what the mean would be for words spread evenly over the sphere; `over` counts heads (or draws) whose
    own mean lies above its bound, of `cases`.
    """

    where: str
    dim: int
    words: int
    delta: float
    bound: float
    mean: float
    signed: float
    exact: float
    largest: float  # of the words of one text, on average
    over: int
    cases: int
    cosine: float  # between two words, on average; 0 where they are spread evenly
    tails: tuple[Tail, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionStudy:
    data: str
    recipe: str
    texts: int
    models: tuple[Model, ...] = ()
    sights: tuple[Sight, ...] = ()
    bounds: tuple[Bound, ...] = ()

    def write(self, folder: Path) -> Path:
        return _RECORD.write(folder, plain(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> AttentionStudy | None:
        """None where the folder holds none."""
        return _RECORD.read(folder, _study)


def plain(value: Any) -> Any:
    """JSON's own values: what is no finite number is null."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _study(raw: Mapping[str, Any]) -> AttentionStudy:
    return AttentionStudy(
        data=str(raw["data"]),
        recipe=str(raw["recipe"]),
        texts=int(raw["texts"]),
        models=tuple(map(_model, raw["models"])),
        sights=tuple(map(_sight, raw["sights"])),
        bounds=tuple(map(_bound, raw["bounds"])),
    )


def _mean(raw: Mapping[str, Any]) -> Mean:
    return Mean(_number(raw["value"]), _number(raw["low"]), _number(raw["high"]), int(raw["n"]))


def _maybe(raw: Mapping[str, Any] | None, make: Callable[[Mapping[str, Any]], Mean]) -> Mean | None:
    return None if raw is None else make(raw)


def _model(raw: Mapping[str, Any]) -> Model:
    return Model(
        name=str(raw["name"]),
        edits=str(raw["edits"]),
        texts=int(raw["texts"]),
        pooled=_maybe(raw["pooled"], _mean),
        layered=_maybe(raw["layered"], _mean),
        layers=tuple(map(_layer, raw["layers"])),
    )


def _layer(raw: Mapping[str, Any]) -> Layer:
    return Layer(
        number=int(raw["number"]),
        relative=_mean(raw["relative"]),
        elsewhere=_mean(raw["elsewhere"]),
        reach=_mean(raw["reach"]),
        shift=_maybe(raw["shift"], _mean),
    )


def _rows(raw: Any) -> tuple[Row, ...]:
    return tuple(tuple(map(_number, row)) for row in raw)


def _sight(raw: Mapping[str, Any]) -> Sight:
    before, after = raw["said"]
    return Sight(
        model=str(raw["model"]),
        before=tuple(map(str, raw["before"])),
        after=tuple(map(str, raw["after"])),
        changed=tuple(map(int, raw["changed"])),
        said=(str(before), str(after)),
        maps=tuple((int(layer), _rows(one), _rows(two)) for layer, one, two in raw["maps"]),
        variation=_rows(raw["variation"]),
    )


def _bound(raw: Mapping[str, Any]) -> Bound:
    whole = {name: int(raw[name]) for name in ("dim", "words", "over", "cases")}
    shares = {name: _number(raw[name]) for name in ("delta", "bound", "mean", "signed", "exact", "largest", "cosine")}
    tails = tuple(Tail(**{name: float(tail[name]) for name in ("epsilon", "share", "markov")}) for tail in raw["tails"])
    return Bound(where=str(raw["where"]), tails=tails, **whole, **shares)  # type: ignore[arg-type]
