"""Compare exact mining with mining by gradients: rank correlation of the rules, and the time saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from math import atanh, isfinite, sqrt, tanh
from time import process_time
from typing import Any

import numpy as np

from malaprop.core.codec import Real
from malaprop.core.example import Example
from malaprop.core.text import Words
from malaprop.frame.records.summary import Z95
from malaprop.papers.universal.rules.mine import Mined, Miner
from malaprop.papers.universal.rules.tally import Doubles, Shrinkage


def ranks(values: Doubles) -> Doubles:
    """Return the ranks of the values from 1; equal values share their mean rank."""
    _, place, many = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(many)
    return np.asarray((ends - (many - 1) / 2)[place])


def spearman(one: Doubles, two: Doubles) -> float:
    """Return Spearman's rank correlation; nan for fewer than three values, or where one side does not vary."""
    if len(one) < 3:
        return float("nan")
    a, b = ranks(one), ranks(two)
    a, b = a - a.mean(), b - b.mean()
    size = sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float((a * b).sum()) / size if size else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Rank correlations of the rules by both methods, with 95% intervals, and the time that the gradient saves.

    Intervals are by Fisher's transformation. Rules share words and texts, so the intervals are narrower than they
    would be for independent pairs.
    """

    texts: int
    rules: int
    rank: Real
    low: float
    high: float
    often: int  # the least count of what is counted as seen often
    often_rules: int
    often_rank: Real
    top: int  # of each side's strongest so many rules,
    shared: int  # so many are among both
    asking_exact: float  # seconds in victims, by the clock
    asking_gradient: float
    processor_exact: float  # the same, as the processor counts; on a GPU it counts the host alone
    processor_gradient: float
    whole_exact: float  # with the finding of replacements, which both need
    whole_gradient: float
    plain: Real  # what the processor would take to score every replaced text whole, one after the other in batches

    @property
    def speedup(self) -> float:
        """Return how many times faster the gradient is in the victims, by the clock."""
        return self.asking_exact / self.asking_gradient if self.asking_gradient else float("nan")

    @property
    def processor_speedup(self) -> float:
        return self.processor_exact / self.processor_gradient if self.processor_gradient else float("nan")

    @property
    def plain_speedup(self) -> float:
        return self.plain / self.processor_gradient if self.processor_gradient else float("nan")

    def describe(self) -> str:
        """Return the figures in one line."""
        return (
            f"exact and gradient on {self.texts} texts: rank correlation {self.rank:.3f} ({self.low:.3f} to "
            f"{self.high:.3f}, {self.rules:,} rules), {self.often_rank:.3f} over the {self.often_rules:,} rules "
            f"weighed {self.often} times or more; {self.shared} of the {self.top} strongest are the same; the gradient "
            f"takes 1/{self.speedup:.1f} of the time in the victims (1/{self.processor_speedup:.1f} of the "
            f"processor's; 1/{self.plain_speedup:.1f} of that of scoring every text whole)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON, with None in place of nan."""
        ratios = ("speedup", "processor_speedup", "plain_speedup")
        whole = {**asdict(self), **{name: getattr(self, name) for name in ratios}}
        return {name: value if isfinite(value) else None for name, value in whole.items()}


def interval(rank: float, many: int) -> tuple[float, float]:
    """Return the 95% interval of a rank correlation: Fisher's, with the variance of Fieller, Hartley and Pearson."""
    if not many > 3 or rank != rank:
        return -1.0, 1.0
    middle, half = atanh(max(-0.999999, min(0.999999, rank))), Z95 * sqrt(1.06 / (many - 3))
    return tanh(middle - half), tanh(middle + half)


def plain_seconds(miner: Miner, examples: Iterable[Example], most: int = 256) -> float:
    """Measure the processor seconds for one replaced text as a plain forward pass of all victims, on a sample."""
    table = Words()
    found = miner.swaps.find(list(islice(examples, most)), table, Words())
    able = [swapped for swapped in found if swapped.variants.count]
    texts = [s.variants.pick(s.variants.count // 2).values() for s in able]
    if not texts:
        return float("nan")
    began = process_time()
    for victim in miner.victims:
        victim.predict(texts)
    return (process_time() - began) / len(texts)


def agreement(
    exact: Mined, gradient: Mined, *, often: int = 5, top: int = 200, plain: float = float("nan")
) -> Agreement:
    """Compare the rules that both methods measured on the same texts."""
    keys = [_name_rules(mined) for mined in (exact, gradient)]
    both = [key for key in keys[0] if key in keys[1]]
    one, two = (np.asarray([side[key] for key in both], np.int64) for side in keys)
    means = (
        np.round(exact.sums.mean[one], 6),
        np.round(gradient.sums.mean[two], 6),
    )  # so that rounding errors do not decide ranks
    rank = spearman(*means)
    low, high = interval(rank, len(both))
    many = exact.sums.many[one] >= often
    strong = [Shrinkage.fit(mined.sums).apply(mined.sums)[at] for mined, at in ((exact, one), (gradient, two))]
    best = [set(np.argsort(-s, kind="stable")[:top].tolist()) for s in strong]
    return Agreement(
        texts=exact.texts,
        rules=len(both),
        rank=rank,
        low=low,
        high=high,
        often=often,
        often_rules=int(many.sum()),
        often_rank=spearman(means[0][many], means[1][many]),
        top=min(top, len(both)),
        shared=len(best[0] & best[1]),
        asking_exact=exact.asking,
        asking_gradient=gradient.asking,
        processor_exact=exact.processor,
        processor_gradient=gradient.processor,
        whole_exact=exact.asking + exact.finding,
        whole_gradient=gradient.asking + gradient.finding,
        plain=plain,
    )


def _name_rules(mined: Mined) -> dict[tuple[int, str, str], int]:
    sums, strings = mined.sums, mined.strings
    rows = zip(sums.labels.tolist(), sums.words.tolist(), sums.others.tolist(), strict=True)
    return {(label, strings[w], strings[o]): at for at, (label, w, o) in enumerate(rows)}
