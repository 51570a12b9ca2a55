"""Smoothing: noisy copies of a text vote on its label, and training on noisy copies. Defences differ in the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal, Protocol, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats, winners
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.frame.runs.defended import Counters
from malaprop.models.padded_rows import Ragged
from malaprop.models.tokens.vocab import UNKNOWN
from malaprop.models.victims.ensemble import log_probabilities, log_softmax
from malaprop.training.splits import Splits
from malaprop.zoo.finetune import FineTuning
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks, Rows

Vote = Literal["majority", "logits", "probabilities"]
MOST = 4096  # samples of a text: beyond it a single text may not fit in memory


def check_samples(samples: int, what: str) -> None:
    if not isinstance(samples, int) or not 2 <= samples <= MOST:
        hint = "one sample is no vote" if samples == 1 else f"more than {MOST} do not fit in memory side by side"
        if not isinstance(samples, int) or samples < 1:
            hint = "there is nothing to vote over"
        raise SettingError(f"{what} must be from 2 to {MOST}, got {samples!r}: {hint}")


def check_vote(vote: str, what: str) -> None:
    if vote not in get_args(Vote):
        raise SettingError(f"{what} must be majority, logits or probabilities, got {vote!r}")


def add_own(scores: Floats, of: Ints, own: Floats) -> tuple[Floats, Ints]:
    """Append the answers for the texts themselves to those for the samples, so that the texts vote too."""
    return np.concatenate([scores, own]).astype(np.float32), np.concatenate([of, np.arange(len(own))])


def poll(scores: Floats, of: Ints, texts: int, vote: Vote) -> Floats:
    """Combine the scores of samples into scores [text, label]; `of` has the text of each row, and every text occurs.

    majority: the share of the samples that each label wins. logits: the softmax of the mean of the logits;
    log-probabilities do as well, for the softmax ignores a constant. probabilities: their mean.
    """
    votes: NDArray[np.float64]
    if vote == "majority":
        votes = np.eye(scores.shape[1])[winners(scores)]
    else:
        votes = log_probabilities(scores)
        votes = votes if vote == "logits" else np.exp(votes)
    total = np.zeros((texts, scores.shape[1]))
    np.add.at(total, of, votes)
    mean = total / np.maximum(np.bincount(of, minlength=texts), 1)[:, None]
    return np.asarray(np.exp(log_softmax(mean)) if vote == "logits" else mean, np.float32)


class Noise(Protocol):
    """Draws noisy copies, and bounds how far the chance of a label moves when words change."""

    @property
    def about(self) -> str:
        """Describe in words which changes its certificate covers."""

    def draw(self, text: Text, many: int, unknown: str, rng: np.random.Generator) -> list[Variants]:
        """Return noisy copies of a text, `many` in all; `unknown` is a word that the victim reads as unknown."""

    def every(self, text: Text, most: int, unknown: str) -> Variants | None:
        """Return all copies; None where there are more than `most`, or where they are not equally likely."""

    def shift(self, text: Text, words: int) -> float:
        """Return the most by which the chance of any label can change when `words` words of the text change."""

    def limit(self, text: Text) -> int | None:
        """Return how many words of a text can change at all; None: no limit, because words may be added."""

    def distance(self, origin: Text, changed: Text) -> int | None:
        """Return how many changed words the certificate counts between two texts; None: the change is not covered."""

    def change(self, text: Text, words: int, fresh: Sequence[str], rng: np.random.Generator) -> Fields:
        """Return the text with at most `words` words changed, to words of `fresh`, as the certificate covers it."""


class CopiesVote:
    """Base of defences that take the vote of noisy copies; a subclass has the settings and names its noise."""

    __slots__ = ()
    kind: ClassVar[str]
    samples: int
    vote: Vote

    def __post_init__(self) -> None:
        check_samples(self.samples, f"{self.kind}'s samples")
        check_vote(self.vote, f"{self.kind}'s vote")
        _ = self.noise  # raises on wrong settings of the noise

    @property
    def discrete(self) -> bool:
        return self.vote == "majority"

    @property
    def noise(self) -> Noise:
        raise NotImplementedError

    def check(self, victim: Victim) -> None:
        """Accept any victim."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:  # noqa: ARG002
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        noise = self.noise
        return answer_by_vote(victim, noise, prepared, self.samples, seeds, counters, vote=self.vote, exact=exact)


def answer_by_vote(
    victim: Victim,
    noise: Noise,
    texts: Sequence[Text],
    samples: int,
    seeds: Sequence[int],
    counters: Counters,
    *,
    vote: Vote = "majority",
    exact: bool = False,
) -> Floats:
    """Return scores [text, label] by a vote of `samples` copies; seeds[i] and the words of text i fix its copies.

    `exact` asks the victim with `predict` rather than its fast path.
    """
    drawn = (
        noise.draw(text, samples, victim.unknown, generator(seed, "copies", *text.values()))
        for text, seed in zip(texts, seeds, strict=True)
    )
    counters.inner += samples * len(texts)
    scores = answer_copies(victim, list(chain.from_iterable(drawn)), exact=exact)
    return poll(scores, np.repeat(np.arange(len(texts)), samples), len(texts), vote)


def answer_copies(victim: Victim, copies: Sequence[Variants], *, exact: bool) -> Floats:
    """Return the scores [copy, label] of copies; equal copies are one query."""
    pool = Pool(copies)
    _, first, again = np.unique(pool.keys(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # the order of drawing, in which neighbours share a base
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    wanted = first[order]
    if exact:
        scores = victim.predict([copy.values() for copy in pool.texts(wanted)])
    else:
        scores = victim.finish(victim.begin(pool, wanted))
    return np.asarray(scores[place[again]])


def cut_text(fields: Fields, table: Words) -> Text:
    """Tokenize finished strings again, so that a text has the same slots whatever edits made it."""
    return Text.of({str(number): value for number, value in enumerate(fields)}, table)


_COPIES, _JUDGED = 5, 5000  # held-out copies that judge an epoch: of each text, and about how many in all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTraining:
    """A batch hook that replaces each text by a noisy copy; held-out texts are noisy too."""

    job: TrainingJob
    data: Splits
    noise: Noise

    @property
    def hooks(self) -> Hooks:
        return Hooks(batch=self, held_out=self.copy_held_out)

    def __call__(self, batch: Batch) -> Batch:
        rng = generator(int(torch.randint(1 << 62, ())))  # torch draws from the step's own seed here
        texts = [tuple(self.data.train[row].fields.values()) for row in batch.rows.tolist()]
        rows = self.job.rows([self._copy(text, rng) for text in texts])
        sizes = Ragged.of(rows).size
        ids = np.full((len(rows), max(1, int(sizes.max()))), self.job.parts[0].pad)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = row
        device = batch.ids.device
        return Batch(torch.from_numpy(ids).to(device), torch.from_numpy(sizes).to(device), batch.labels, batch.rows)

    def copy_held_out(self, rows: Rows) -> Rows:
        """Return noisy copies of the held-out texts, the same ones after every epoch."""
        texts = self.data.held_out
        times = max(1, min(_COPIES, _JUDGED // max(1, len(texts))))
        rng = generator(0, "held out")
        copies = [self._copy(tuple(text.fields.values()), rng) for text in texts for _ in range(times)]
        return Rows(self.job.rows(copies), [label for label in rows.labels for _ in range(times)], rows.pad)

    def _copy(self, fields: Fields, rng: np.random.Generator) -> Fields:
        return self.noise.draw(cut_text(fields, Words()), 1, unknown_word(self.job), rng)[0].pick(0).values()


def unknown_word(job: TrainingJob) -> str:
    """Return the word that the trained victim will read as unknown."""
    return str(job.tokenizer.unk_token or "[UNK]") if isinstance(job, FineTuning) else UNKNOWN
