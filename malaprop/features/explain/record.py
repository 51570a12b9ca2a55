"""The record of an attention study: how far one changed word moves attention and states, and Theorem 1's bounds."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.core.codec import Real
from malaprop.frame.records.kinds import Record

FILE = "attention.json"
Row = tuple[Real, ...]


@dataclass(frozen=True, slots=True)
class AttentionMean:
    """A mean over texts with its 95% interval."""

    value: Real
    low: Real
    high: Real
    n: int

    def __str__(self) -> str:
        if not self.n:
            return "n/a (0)"
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f}, n={self.n})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionLayer:
    """How far one changed word moves one layer; layer 0 is the input of the first layer.

    `relative` is R_e over all its states; `elsewhere` the share of the change on words that stayed; `reach` over how
    many of the words it is spread (the exponential of the shares' entropy, over their number); `shift` how much of the
    attention went from some words to others, None for layers without attention.
    """

    number: int
    relative: AttentionMean
    elsewhere: AttentionMean
    reach: AttentionMean
    shift: AttentionMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionModel:
    """One victim's means over its own adversarial texts, or over edits that all victims share.

    `pooled` is R_e of the vector that the classifier reads, `layered` the mean over the layers without the input.
    """

    name: str
    edits: str
    texts: int
    pooled: AttentionMean | None
    layered: AttentionMean | None
    layers: tuple[AttentionLayer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionExample:
    """One text before and after a change, for figures; each table has a row a query or layer and a column a word."""

    model: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    changed: tuple[int, ...]
    said: tuple[str, str]  # the answers, before and after
    maps: tuple[tuple[int, tuple[Row, ...], tuple[Row, ...]], ...]  # layer, mean over heads before, and after
    variation: tuple[Row, ...]  # L2 norm of the change of each word's state, a row a layer, the input first


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The share of scores that moved by at least `epsilon` bounds, and the most that Markov's inequality allows."""

    epsilon: float
    share: float
    markov: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The bound of Theorem 1 and the measured change of the changed word's attention scores, over all queries.

    `bound` is C delta / sqrt(d), times the mean norm of the words where that is not 1; `mean` of |s' - s|, `signed` of
    s' - s, `exact` what the mean would be for words spread evenly over the sphere; `over` counts heads (or draws) whose
    own mean lies above its bound, of `cases`.
    """

    where: str
    dim: int
    words: int
    delta: Real
    bound: Real
    mean: Real
    signed: Real
    exact: Real
    largest: Real  # of the words of one text, on average
    over: int
    cases: int
    cosine: Real  # between two words, on average; 0 where they are spread evenly
    tails: tuple[Tail, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRecord(Record):
    """An attention study: means of each victim, examples of single texts, and the bounds of Theorem 1."""

    data: str
    recipe: str
    texts: int
    models: tuple[AttentionModel, ...] = ()
    sights: tuple[AttentionExample, ...] = ()
    bounds: tuple[Bound, ...] = ()
