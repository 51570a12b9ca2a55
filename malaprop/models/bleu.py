"""BLEU (Papineni et al. 2002) as sacrebleu computes it by default: words cut as `13a`, cased, one reference."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ORDER = 4
Counts = NDArray[np.int64]  # [sentence, 10]: words of the output, of the reference, then hits and totals by order
_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_MARK = re.compile(r"([{-~\[-` -&(-+:-@/])")
_AFTER, _BEFORE, _DASH = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])"), re.compile(r"([0-9])(-)")


@lru_cache(maxsize=65_536)
def words(text: str) -> tuple[str, ...]:
    """A text cut as NIST's mteval-v13a does: marks stand alone, full stops and commas stay inside numbers."""
    for entity, mark in _ENTITIES:
        text = text.replace(entity, mark)
    text = _MARK.sub(r" \1 ", f" {text} ")
    text = _BEFORE.sub(r" \1 \2", _AFTER.sub(r"\1 \2 ", text))
    return tuple(_DASH.sub(r"\1 \2 ", text).split())


def counts(outputs: Sequence[str], references: Sequence[str]) -> Counts:
    """What BLEU needs of each sentence; sums of rows give the figure of any set of them."""
    rows = [_count(words(out), words(ref)) for out, ref in zip(outputs, references, strict=True)]
    return np.asarray(rows, np.int64).reshape(-1, 2 + 2 * ORDER)


def _count(out: tuple[str, ...], ref: tuple[str, ...]) -> list[int]:
    hits, totals = [], []
    for order in range(1, ORDER + 1):
        ours, theirs = _grams(out, order), _grams(ref, order)
        hits.append(sum((ours & theirs).values()))
        totals.append(max(0, len(out) - order + 1))
    return [len(out), len(ref), *hits, *totals]


def _grams(found: tuple[str, ...], order: int) -> Counter[tuple[str, ...]]:
    return Counter(found[i : i + order] for i in range(len(found) - order + 1))


def from_counts(summed: Sequence[int] | Counts, *, effective: bool = False) -> float:
    """BLEU from 0 to 100; an order without a hit counts half, a quarter ... of one (exponential smoothing).

    `effective` leaves out the orders for which the output is too short, as sentences are judged.
    """
    out, ref, *rest = (int(n) for n in summed)
    if not any(rest[:ORDER]):
        return 0.0
    logs, halves, used = 0.0, 1.0, 0
    for hits, total in zip(rest[:ORDER], rest[ORDER:], strict=True):
        if not total:
            break
        used += 1
        if not hits:
            halves *= 2
        logs += math.log(hits / total if hits else 1 / (halves * total))
    if used < ORDER and not effective:
        return 0.0
    brevity = min(0.0, 1 - ref / out)
    return 100 * math.exp(logs / used + brevity)


def corpus(outputs: Sequence[str], references: Sequence[str]) -> float:
    return from_counts(counts(outputs, references).sum(0))


def sentence(output: str, reference: str) -> float:
    return from_counts(counts([output], [reference])[0], effective=True)


def interval(found: Counts, seed: int = 0, times: int = 1000) -> tuple[float, float]:
    """The middle 95% of BLEU over sets of sentences drawn anew (Koehn 2004)."""
    drawn = resample_bleu(found, seed, times)
    return float(np.percentile(drawn, 2.5)), float(np.percentile(drawn, 97.5))


def resample_bleu(found: Counts, seed: int = 0, times: int = 1000) -> NDArray[np.float64]:
    """BLEU of each drawn set; two systems on the same sentences are drawn alike, so their figures can be paired."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(found), size=(times, len(found)))
    return np.asarray([from_counts(found[pick].sum(0)) for pick in picks])
