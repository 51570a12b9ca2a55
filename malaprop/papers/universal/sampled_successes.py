"""Draw the successes of each source, ask the other models about their texts, and compare the answers with the labels.

Distinct texts are numbered, so that a model is asked about each of them once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from malaprop.core.errors import DataError, VictimError
from malaprop.core.score import winners
from malaprop.core.text import Ints
from malaprop.core.victim import Fields, Victim, VictimDescription, find_rejected
from malaprop.data.base import Dataset, draw
from malaprop.data.matching import turn
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.records.summary import Rate

if TYPE_CHECKING:
    from malaprop.models.victims.tokens import TokenVictim

_CHUNK = 8192  # texts asked about at once
_SAMPLE = 2048  # texts over which the plain forward is timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The labels that one model gives to many texts, as it numbers them; -1 where it could not answer.

    `forwards_a_second` is the speed of plain forward passes.
    """

    labels: tuple[int, ...]
    seconds: float
    forwards_a_second: float


def ask(victim: Victim, texts: Sequence[Fields]) -> Answers:
    """Ask a model for the labels of all texts, in large batches, and measure how fast it answers."""
    began = perf_counter()
    parts = [labels_of(victim, texts[at : at + _CHUNK]) for at in range(0, len(texts), _CHUNK)]
    seconds = perf_counter() - began
    labels = np.concatenate(parts).tolist() if parts else []
    rate = _rate(victim, texts[:_SAMPLE], len(texts) / max(seconds, 1e-9))
    return Answers(labels=tuple(labels), seconds=round(seconds, 3), forwards_a_second=rate)


def labels_of(victim: Victim, texts: Sequence[Fields]) -> Ints:
    """Return the label of each text by plain predictions; a text on which the victim fails even alone gets -1."""
    try:
        scores = victim.predict(texts)
        if scores.ndim != 2 or len(scores) != len(texts) or not np.isfinite(scores).all():
            raise VictimError(f"{victim.name} answered {len(texts)} texts with no score for each")
        return winners(scores)
    except Exception as error:
        if len(texts) == 1:
            return np.asarray([-1])
        if isinstance(error, MemoryError):
            raise
    half = len(texts) // 2
    return np.concatenate([labels_of(victim, texts[:half]), labels_of(victim, texts[half:])])


def _rate(victim: Victim, texts: Sequence[Fields], otherwise: float) -> float:
    """Return the plain forward passes a second over tokenised texts; `otherwise` for a victim that reads strings."""
    from malaprop.models.victims.tokens import TokenVictim

    if not isinstance(victim, TokenVictim) or len(texts) < 2:
        return otherwise
    took = min(_forward_seconds(victim, texts) for _ in range(2))
    return len(texts) / max(took, 1e-9)


def _forward_seconds(victim: TokenVictim, texts: Sequence[Fields]) -> float:
    import torch

    from malaprop.core.text import BREAK
    from malaprop.models.precision import full_precision
    from malaprop.models.scorers.plain import Plain
    from malaprop.models.tokens.splice import Splice

    rows = victim.encode_whole(texts) if victim.encode_whole else victim.cut([BREAK.join(t) for t in texts])
    work = Splice.of_rows(
        rows, limit=victim.limit, head=victim.head, tail=victim.tail, pad=victim.pad, device=victim.device
    )
    began = perf_counter()
    with torch.inference_mode(), full_precision(victim.device):
        Plain(forward=victim.forward, masks=victim.masks, pad=victim.pad).logits(work).sum().item()
    return perf_counter() - began


FILE = "texts.json"
Turn = tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSuccesses:
    """The successes of one source that are tried on others: the numbers of their texts and originals, and their labels.

    The seed decides which are drawn; labels are numbered as in the data.
    """

    counts: dict[str, int]
    asked: int
    forwarded: int
    reason: str  # the most frequent, where examples ended in an error
    texts: tuple[int, ...]
    originals: tuple[int, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def right(self) -> Rate:
        right = self.counts["success"] + self.counts["failed"]
        return Rate(right, right + self.counts["skipped"])

    @property
    def own(self) -> list[int]:
        """The numbers of all texts of this source, originals included."""
        return sorted({*self.texts, *self.originals})


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTexts:
    """All distinct texts by their numbers, and the sampled successes of each source."""

    texts: tuple[Fields, ...]
    sources: dict[str, SampledSuccesses]


def draw_successes(folders: Mapping[str, Path], data: Dataset, *, wanted: int, seed: int) -> SampledTexts:
    """Draw at most `wanted` successes of each run, by a hash of (seed, id)."""
    numbers: dict[Fields, int] = {}
    sources = {name: _draw(folder, data, numbers, wanted, seed) for name, folder in folders.items()}
    return SampledTexts(texts=tuple(numbers), sources=sources)


def _draw(folder: Path, data: Dataset, numbers: dict[Fields, int], wanted: int, seed: int) -> SampledSuccesses:
    def number(fields: Mapping[str, str]) -> int:
        return numbers.setdefault(tuple(fields.values()), len(numbers))

    outcomes = read_outcomes(folder)
    labels = {e.id: e.label for e in data.examples}
    won = sorted((o for o in outcomes if o.status == "success" and o.id in labels), key=lambda o: draw(seed, o.id))
    kept = [(o, o.adversarial) for o in won[:wanted] if o.adversarial is not None]
    counts = {status: sum(o.status == status for o in outcomes) for status in ("success", "failed", "skipped", "error")}
    reasons = [o.reason or "no reason given" for o in outcomes if o.status == "error"]
    return SampledSuccesses(
        counts=counts,
        asked=sum(o.queries.asked for o in outcomes),
        forwarded=sum(o.queries.forwarded for o in outcomes),
        reason=max(reasons, key=reasons.count, default=""),
        texts=tuple(number(side.fields) for _, side in kept),
        originals=tuple(number(o.original.fields) for o, _ in kept),
        labels=tuple(labels[o.id] for o, _ in kept),
    )


def turn_of(about: VictimDescription, data: Dataset) -> Turn:
    """Return for each label of the data its number at the victim; None where both number labels alike."""
    found = None if data.ordered else turn(data.name, data.labels, about.label_names, data.present)
    return None if found is None else tuple(found)


def check_labels(found: Mapping[str, VictimDescription], data: Dataset) -> None:
    """Raise if the models do not score the same labels, or not those of the data."""
    known = {
        name: about.labels - (find_rejected(about.label_names) >= 0)  # which no text of the data has
        for name, about in found.items()
        if about.labels is not None
    }
    if len(set(known.values())) > 1:
        each = ", ".join(f"{name} {count}" for name, count in known.items())
        raise VictimError(f"the victims must score the same labels, got {each}; leave out the odd one")
    most = max(data.present, default=0) + 1
    for name, count in known.items():
        if count < most:
            raise VictimError(f"{name} scores {count} labels and {data.name} has {most}; leave one of them out")
    for name, about in found.items():
        try:
            turn_of(about, data)
        except DataError as error:
            raise VictimError(f"{name}: {error}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The answers of one target to all texts that it was asked about."""

    labels: Ints  # [text], -1 where it was not asked or could not answer
    turn: Turn
    rejected: int = -1  # the label of rejecting a text, where it has one

    @classmethod
    def of(
        cls, answers: Answers, asked: Sequence[int] | None, many: int, about: VictimDescription, data: Dataset
    ) -> Verdicts:
        """Order answers by the numbers of the texts; `asked` are those numbers, None for all texts."""
        labels = np.full(many, -1, np.int64)
        labels[slice(None) if asked is None else list(asked)] = answers.labels
        return cls(labels, turn_of(about, data), find_rejected(about.label_names))

    def wrong(self, texts: Sequence[int], labels: Sequence[int]) -> tuple[Ints, Ints]:
        """Return for each text whether it is answered and whether the answer is wrong; labels are the data's."""
        said = self.labels[list(texts)]
        given = np.asarray(labels, np.int64)
        true = given if self.turn is None else np.asarray(self.turn, np.int64)[given]
        answered = said >= 0
        return answered.astype(np.int64), (answered & (said != true)).astype(np.int64)

    def misled(self, texts: Sequence[int], labels: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the same for adversarial texts, where rejecting a text does not count as wrong."""
        answered, wrong = self.wrong(texts, labels)
        return answered, wrong * (self.labels[list(texts)] != self.rejected)
