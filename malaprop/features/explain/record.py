"""The record of an attention study: what one changed word does to attention and states, and what a theorem allows."""

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
    """One layer under one changed word; number 0 is what the first layer reads.

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
    """One victim under its own adversarial texts, or under edits that all victims share.

    `pooled` is R_e of the vector that the classifier reads, `layered` the mean of R_e over the layers, the input aside.
    """

    name: str
    edits: str
    texts: int
    pooled: AttentionMean | None
    layered: AttentionMean | None
    layers: tuple[AttentionLayer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSight:
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
    data: str
    recipe: str
    texts: int
    models: tuple[AttentionModel, ...] = ()
    sights: tuple[AttentionSight, ...] = ()
    bounds: tuple[Bound, ...] = ()
