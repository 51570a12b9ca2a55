"""Certificates: how many words of a text may change without a change of a smoothed victim's label.

The victim's label is the one that most of all copies get. Some copies are drawn to guess it, others to bound
its chance from below and those of other labels from above (Clopper and Pearson's exact bound, one-sided, alpha shared
out among them). A change moves each chance by no more than the noise allows; as far as twice that does not reach from
one bound to the other, no change of the kind that the noise covers can move the label. Each certificate is wrong with a
chance of at most alpha. Where a text has no more copies than would be drawn, all of them are asked: the chances are
known, and the certificate is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.score import Floats, winners
from malaprop.core.settings import plain as plain_values
from malaprop.core.text import Ints, Text, Words
from malaprop.core.victim import Victim
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord
from malaprop.features.defending.lost_words import RanDel, RanMask
from malaprop.features.defending.safer import Safer
from malaprop.features.defending.smooth import Noise, answer_by_vote, answer_copies, cut_text
from malaprop.frame.records.run import Run
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import Counters, Defended, Method
from malaprop.frame.runs.folder import SizedDataset

_AT_ONCE = 1 << 15  # copies in one question to the victim
_HALVINGS = 60
_TIE = 1e-12  # chances that differ by rounding alone are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Certifier:
    """Certifies texts: `select` copies choose the label of a text, and `samples` others bound its chance."""

    samples: int = 1000
    select: int = 100
    alpha: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1 or self.select < 1:
            raise SettingError(f"a certificate needs at least 1 sample, got {self.samples} and {self.select}")
        if not 0 < self.alpha < 1:
            raise SettingError(f"--alpha is a chance above 0 and below 1, got {self.alpha}")

    def certify(self, victim: Victim, noise: Noise, examples: Iterable[Example]) -> Iterator[Certificate]:
        """Yield the certificate of each example, in order."""
        rest = iter(examples)
        size = max(1, _AT_ONCE // (self.samples + self.select))
        while block := list(islice(rest, size)):
            table = Words()
            texts = [cut_text(tuple(example.fields.values()), table) for example in block]
            every, drawn = self._split(victim, noise, texts)
            found = {place: _know(votes) for place, votes in every.items()}
            found |= zip(drawn, self._bound(victim, noise, [texts[place] for place in drawn]), strict=True)
            for place, (example, text) in enumerate(zip(block, texts, strict=True)):
                yield _make(example, text, noise, found[place], exact=place in every)

    def _bound(self, victim: Victim, noise: Noise, texts: Sequence[Text]) -> Iterator[VoteBounds]:
        """Yield for each text the label that `select` copies choose, with bounds on its chance by `samples` others."""
        if not texts:
            return
        first = winners(self._votes(victim, noise, texts, self.select, 2 * self.seed + 1)).tolist()
        second = self._votes(victim, noise, texts, self.samples, 2 * self.seed + 2)
        for guess, votes in zip(first, second, strict=True):
            hits = np.rint(votes * self.samples).astype(np.int64)
            yield VoteBounds(guess, int(hits[guess]), *bound(hits, guess, self.alpha))

    def vote(self, victim: Victim, noise: Noise, texts: Sequence[Text]) -> list[int]:
        """Return the label of each text by the vote of all its copies, or of `samples` drawn ones."""
        every, drawn = self._split(victim, noise, texts)
        labels = {place: int(votes.argmax()) for place, votes in every.items()}
        if drawn:
            found = winners(self._votes(victim, noise, [texts[p] for p in drawn], self.samples, 2 * self.seed + 2))
            labels |= dict(zip(drawn, found.tolist(), strict=True))
        return [labels[place] for place in range(len(texts))]

    def _split(self, victim: Victim, noise: Noise, texts: Sequence[Text]) -> tuple[dict[int, Ints], list[int]]:
        """Return by place the votes of all copies of texts that have few enough, and the places of the others."""
        copies = [noise.every(text, self.samples, victim.unknown) for text in texts]
        asked = {place: found for place, found in enumerate(copies) if found is not None}
        drawn = [place for place, found in enumerate(copies) if found is None]
        if not asked:
            return {}, drawn
        scores = answer_copies(victim, list(asked.values()), exact=victim.rounding > 0)
        parts = np.split(winners(scores), np.cumsum([found.count for found in asked.values()])[:-1])
        return {place: np.bincount(part) for place, part in zip(asked, parts, strict=True)}, drawn

    def _votes(self, victim: Victim, noise: Noise, texts: Sequence[Text], samples: int, seed: int) -> Floats:
        """Return the shares of votes [text, label]; many copies are drawn in parts, each from a seed of its own.

        A certificate is about the model itself, so a victim whose fast path rounds is asked with `predict`.
        """
        parts = [min(_AT_ONCE, samples - a) for a in range(0, samples, _AT_ONCE)]
        total = np.zeros(())
        for number, size in enumerate(parts):
            seeds = [seed + (number << 32)] * len(texts)
            exact = victim.rounding > 0
            total = total + size * answer_by_vote(victim, noise, texts, size, seeds, Counters(), exact=exact)
        return np.asarray(total / samples, np.float32)


class VoteBounds(NamedTuple):
    """The label of a text, how many copies have it, its least chance and the greatest of any other label."""

    label: int
    hits: int
    lower: float
    upper: float


def _know(votes: Ints) -> VoteBounds:
    """Return the exact chances from the votes of all copies."""
    label, total = int(votes.argmax()), int(votes.sum())
    others = np.delete(votes, label)
    return VoteBounds(label, int(votes[label]), int(votes[label]) / total, int(others.max(initial=0)) / total)


def bound(hits: Ints, label: int, alpha: float) -> tuple[float, float]:
    """Return bounds on the chance of a label, from below, and of any other, from above, with confidence 1 - alpha.

    Of two labels one bound gives the other. Of more, half of alpha is for the label and half for the others.
    """
    total, others = int(hits.sum()), np.delete(hits, label).tolist()
    if len(others) < 2:
        lower = lower_bound(int(hits[label]), total, alpha)
        return lower, 1 - lower
    lower = lower_bound(int(hits[label]), total, alpha / 2)
    upper = 1 - lower_bound(total - max(others), total, alpha / 2 / len(others))
    return lower, min(upper, 1 - lower)


def _make(example: Example, text: Text, noise: Noise, found: VoteBounds, *, exact: bool) -> Certificate:
    return Certificate(
        id=example.id,
        label=example.label,
        prediction=found.label,
        hits=found.hits,
        lower=found.lower,
        words=text.slots,
        changeable=noise.limit(text),
        radius=radius(noise, text, found.lower, found.upper),
        exact=exact,
        upper=found.upper,
    )


def noise_of(victim: Victim) -> Noise | None:
    """Return the noise of a smoothed victim; None where its defence has no certificates."""
    return noise_of_method(victim.method) if isinstance(victim, Defended) else None


def noise_of_method(method: Method) -> Noise | None:
    """Return the noise whose certificates a method has; None where it has none."""
    return method.noise if isinstance(method, RanMask | Safer | RanDel) else None


def radius(noise: Noise, text: Text, lower: float, upper: float | None = None) -> int | None:
    """Return the most words that may change without a change of label; None: not even the unchanged text is certified.

    `lower` bounds the chance of the label, `upper` those of others, 1 - `lower` if not given.
    """
    apart = (lower - (1 - lower if upper is None else upper)) / 2 - _TIE
    if apart <= 0:
        return None
    low, high = 0, noise.limit(text)
    if high is None:
        high = 1
        while noise.shift(text, high) < apart:
            high *= 2
    # the shift never falls as more words change, so bisection finds the border
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if noise.shift(text, middle) < apart else (low, middle - 1)
    return low


@lru_cache(maxsize=1 << 16)
def lower_bound(hits: int, total: int, alpha: float) -> float:
    """Return a lower bound with confidence 1 - alpha: the p at which `hits` or more of `total` have chance alpha."""
    if hits <= 0:
        return 0.0
    low, high = 0.0, hits / total
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(hits, total, middle) < alpha else (low, middle)
    return low


def _at_least(hits: int, total: int, chance: float) -> float:
    """Return the binomial probability of `hits` or more successes in `total` tries."""
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    ways = _log_ways(total)[hits:]
    counts = np.arange(hits, total + 1)
    logs = ways + counts * np.log(chance) + (total - counts) * np.log1p(-chance)
    top = float(logs.max())
    return float(np.exp(logs - top).sum() * np.exp(top))


@lru_cache(maxsize=8)
def _log_ways(total: int) -> NDArray[np.float64]:
    """Return log C(total, i) for i from 0 to total."""
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    return np.asarray(factorial[total] - factorial - factorial[::-1])


TASK = "certificates"


def add_certificates(run: Run, lines: Sequence[Certificate], plain: Rate, seconds: float) -> CertifiedRecord:
    """Summarise certificates in a record; `plain` is the accuracy of the undefended victim."""
    certifier = run.parts["certifier"]
    return CertifiedRecord.of(
        lines, victim=run.victim, data=run.data, defence=run.recipe, about=run.parts["about"], plain=plain,
        samples=certifier["samples"], alpha=certifier["alpha"], seconds=seconds,
    )  # fmt: skip


def describe_certificates(certifier: Certifier, victim: Defended, noise: Noise, data: SizedDataset) -> Run:
    """Return the `run.toml` of a certification: the victim, the noise, the data and the settings."""
    return Run(
        recipe=victim.spec,
        victim=victim.victim.name,
        data=data.name,
        split=data.part,
        n=len(data),
        seed=certifier.seed,
        labels=data.labels,
        parts={"task": TASK, "certifier": plain_values(certifier), "about": noise.about},
        fingerprints={"victim": victim.victim.fingerprint, "data": data.fingerprint},
    )
