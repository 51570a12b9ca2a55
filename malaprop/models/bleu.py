"""BLEU and chrF of outputs against one reference each, as sacrebleu computes them by default.

BLEU (Papineni et al. 2002) is cased and splits words as `13a`; chrF (Popović 2015) counts runs of one to six
characters without white space. They are written out here because constraints of attacks use them, which must work
without the extra that brings sacrebleu, and because intervals need the counts of single sentences.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ORDER = 4  # words of the longest n-gram of BLEU
_RUN = 6  # characters of the longest run of chrF
_WEIGHT = 4  # of recall against precision in chrF: beta is 2
Counts = NDArray[np.int64]  # [sentence, 10]: words of the output, of the reference, then hits and totals by order
_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_MARK = re.compile(r"([{-~\[-` -&(-+:-@/])")
_AFTER, _BEFORE, _DASH = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])"), re.compile(r"([0-9])(-)")


@lru_cache(maxsize=65_536)
def words(text: str) -> tuple[str, ...]:
    """Split a text as NIST's mteval-v13a does: marks stand alone, full stops and commas stay inside numbers."""
    for entity, mark in _ENTITIES:
        text = text.replace(entity, mark)
    text = _MARK.sub(r" \1 ", f" {text} ")
    text = _BEFORE.sub(r" \1 \2", _AFTER.sub(r"\1 \2 ", text))
    return tuple(_DASH.sub(r"\1 \2 ", text).split())


def counts(outputs: Sequence[str], references: Sequence[str]) -> Counts:
    """Count the matches that BLEU is made of, a row a sentence; summed rows give the figure of any set of sentences."""
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
    """Return BLEU, from 0 to 100; orders without a match count 1/2, 1/4, ... of one (exponential smoothing).

    `effective` leaves out the orders for which the output is too short, as sacrebleu does for single sentences.
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
    """Return the BLEU of all sentences together, from 0 to 100."""
    return from_counts(counts(outputs, references).sum(0))


def sentence(output: str, reference: str) -> float:
    """Return the BLEU of one sentence, from 0 to 100, over the orders that it is long enough for."""
    return from_counts(counts([output], [reference])[0], effective=True)


def interval(found: Counts, seed: int = 0, times: int = 1000) -> tuple[float, float]:
    """Return the 95% bootstrap interval of BLEU over resampled sets of sentences (Koehn 2004)."""
    scores = resample_bleu(found, seed, times)
    return float(np.percentile(scores, 2.5)), float(np.percentile(scores, 97.5))


def resample_bleu(found: Counts, seed: int = 0, times: int = 1000) -> NDArray[np.float64]:
    """Return BLEU of each bootstrap sample; one seed draws the same sentences for all systems, so figures pair."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(found), size=(times, len(found)))
    return np.asarray([from_counts(found[pick].sum(0)) for pick in picks])


def chrf(output: str, reference: str) -> float:
    """Return chrF of one sentence, from 0 to 100; lengths of which one of the texts has no run are left out."""
    precision = recall = 0.0
    used = 0
    for ours, theirs in zip(_count_runs(output), _count_runs(reference), strict=True):
        if ours and theirs:
            hits = (ours & theirs).total()
            precision, recall, used = precision + hits / ours.total(), recall + hits / theirs.total(), used + 1
    if not used or not precision + recall:
        return 0.0
    return 100 * (1 + _WEIGHT) * precision * recall / (_WEIGHT * precision + recall) / used


@lru_cache(maxsize=4096)
def _count_runs(text: str) -> tuple[Counter[str], ...]:
    """Count each run of characters, one counter for each length."""
    bare = "".join(text.split())
    return tuple(Counter(bare[i : i + n] for i in range(len(bare) - n + 1)) for n in range(1, _RUN + 1))
