"""Training on swapped words: one backward pass ranks every synonym of every word, and the best swaps are made at once.

What HotFlip's training does to characters, on words: no search and no query, so every text of every batch can be
followed by its adversary at the cost of about two further passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.gradient import Aim, WordLook
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.features.hardening.model_in_training import AddedRows, append_rows, rank_by_model_in_training
from malaprop.models.gradients import log_odds
from malaprop.models.gradients.tokens import CutVariants, TokenGradients, pad_rows
from malaprop.training.splits import Splits
from malaprop.zoo.gradients.word_sizes import token_gradients
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

_MOST = 1 << 24  # synonyms of all training texts together that are kept, some 400 MB
_STIR = 1.0  # how far chance stirs the ranking of swaps after the first try, in spreads of what they gain


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSwapTraining:
    """Each text is followed by its adversary: the swaps for synonyms that raise the loss most, to first order.

    Of each text a share of the words is swapped, drawn anew each time from nothing up to `share`, in `steps` rounds;
    each round ranks all swaps by one backward pass at the text as it is then, and makes the best one of each of the
    best words. With several `tries` a round makes as many texts, the first by that ranking and the others with chance
    stirred into it and into the number of words; the one with the largest loss is taken, which costs a forward pass
    each. Synonyms are the `count` nearest words in counter-fitted space with a cosine of at least `cosine` and a
    part of speech in common, and with `wordnet` those that share a synset: what TextFooler and PWWS choose from. Stop
    words stay. After HotFlip's training (Ebrahimi et al. 2018) and A2T (Yoo and Qi 2021), neither to the letter.
    """

    share: float = 0.5
    steps: int = 1
    count: int = 50
    cosine: float = 0.5
    wordnet: bool = True
    tries: int = 1
    kind: ClassVar[str] = "swaps"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or min(self.steps, self.count, self.tries) < 1:
            raise SettingError(
                f"{self.kind} needs 0 < share <= 1, steps, count and tries of at least 1, got {self.share}, "
                f"{self.steps}, {self.count} and {self.tries}"
            )

    def __str__(self) -> str:
        return f"each text followed by one with up to {self.share:.0%} of its words swapped where the loss rises most"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        return Hooks(batch=swap_words(job, data, self))


def swap_words(job: TrainingJob, data: Splits, how: WordSwapTraining, rejected: int | None = None) -> SwappedBatch:
    """Return the hook that appends swapped texts to a batch; `rejected` is the label of rejecting a text."""
    gradients = token_gradients(rank_by_model_in_training(job))
    if gradients is None:
        raise CapabilityError(
            f"harden {how.kind} ranks words by gradients, and this model's word vectors depend on the words around "
            "them; use augment, which asks the model alone"
        )
    return SwappedBatch(job=job, data=data, how=how, gradients=gradients, rejected=rejected)


class SwapChoices(NamedTuple):
    """A training text, each synonym of each of its words, and the tokens of both."""

    variants: Variants
    cut: CutVariants
    starts: Ints  # where the synonyms of each word begin, for words that have some


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SwappedBatch:
    """A batch hook that appends the swapped texts; a text that the model would reject does not count as a higher loss.

    What does not depend on the weights is computed once for each training text and kept, up to `_MOST` synonyms.
    """

    job: TrainingJob
    data: Splits
    how: WordSwapTraining
    gradients: TokenGradients
    rejected: int | None = None  # the label of rejecting a text, where the model has one
    _table: Words = field(default_factory=Words, init=False, repr=False)
    _kept: dict[int, SwapChoices] = field(default_factory=dict, init=False, repr=False)
    _room: list[int] = field(default_factory=lambda: [_MOST], init=False, repr=False)
    _synonyms: dict[int, Ints] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, batch: Batch) -> Batch:
        found = self.find_rows(batch)
        return append_rows(batch, found.rows, found.of, self.job.parts[0].pad) if len(found.of) else batch

    def find_rows(self, batch: Batch) -> AddedRows:
        """Return the swapped texts as token rows, each with its row of the batch."""
        rng = generator(int(torch.randint(1 << 62, ())))  # torch draws from the step's own seed here
        choices = self._find_choices(batch.rows.tolist())
        origins, labels = [one.variants.base for one in choices], batch.labels.tolist()
        wanted = [int(np.ceil(rng.random() * self.how.share * len(one.starts))) for one in choices]
        now = origins
        for step in range(self.how.steps):
            if step:
                choices = self._choose([self._vary(text, origin) for text, origin in zip(now, origins, strict=True)])
            most = [-(-many * (step + 1) // self.how.steps) for many in wanted]
            now = self._swap(choices, origins, labels, most, rng)
        changed = [at for at, (text, own) in enumerate(zip(now, origins, strict=True)) if text is not own]
        return AddedRows(self.job.rows([now[at].values() for at in changed]), np.asarray(changed, np.int64))

    def _find_choices(self, rows: Sequence[int]) -> list[SwapChoices]:
        """Return the choices of each row of the training data; those not cached are computed together."""
        fresh = [row for row in dict.fromkeys(rows) if row not in self._kept]
        texts = [self._read(row) for row in fresh]
        found = dict(zip(fresh, self._choose([self._vary(text, text) for text in texts]), strict=True))
        for row, one in found.items():
            if self._room[0] >= one.variants.count:
                self._room[0] -= one.variants.count
                self._kept[row] = one
        return [found[row] if row in found else self._kept[row] for row in rows]

    def _read(self, row: int) -> Text:
        fields = self.data.train[row].fields.values()
        return Text.of({str(i): v for i, v in enumerate(fields)}, self._table)

    def _choose(self, variants: Sequence[Variants]) -> list[SwapChoices]:
        cut = self.gradients.cut(variants)
        starts = (np.flatnonzero(np.diff(one.slots, prepend=-1)) for one in variants)
        return [SwapChoices(*made) for made in zip(variants, cut, starts, strict=True)]

    def _swap(
        self,
        choices: Sequence[SwapChoices],
        origins: Sequence[Text],
        labels: list[int],
        most: list[int],
        rng: np.random.Generator,
    ) -> list[Text]:
        """Return the texts with further words swapped, until each has `most` swapped words."""
        looks = [
            WordLook(variants=one.variants, aim=Aim(label=label, odds=True, beside=self.rejected))
            for one, label in zip(choices, labels, strict=True)
        ]
        seen = self.gradients.weigh_words(looks, [one.cut for one in choices])
        left = [
            many - len(one.variants.base.changed(origin))
            for one, many, origin in zip(choices, most, origins, strict=True)
        ]
        gains = [one.gains for one in seen]
        made = [make_best_swaps(choices, gains, left)]
        for _ in range(self.how.tries - 1):
            stirred = [one + _STIR * _spread(one) * rng.gumbel(size=len(one)).astype(np.float32) for one in gains]
            made.append(make_best_swaps(choices, stirred, [int(np.ceil(rng.random() * many)) for many in left]))
        return made[0] if len(made) == 1 else self._take_worst(made, labels)

    def _take_worst(self, made: Sequence[Sequence[Text]], labels: list[int]) -> list[Text]:
        """Return for each text the try with the highest loss, the first on a tie."""
        rows = self.job.rows([text.values() for texts in made for text in texts])
        model, device = self.job.model, self.gradients.device
        ids, lengths = pad_rows([np.asarray(row) for row in rows], self.job.parts[0].pad, device)
        was = model.training
        model.eval()
        with torch.no_grad(), torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.device.type == "cuda"):
            logits = model(ids, lengths).float()
        model.train(was)
        behind = log_odds(logits, torch.tensor(labels * len(made), device=device), self.rejected)
        worst = behind.reshape(len(made), -1).argmax(0).tolist()
        return [made[which][at] for at, which in enumerate(worst)]

    def _vary(self, text: Text, origin: Text) -> Variants:
        """Return the variants of a text: each synonym of each word that has not been swapped yet."""
        here = text.words.tolist()
        slots = [
            slot for slot in range(text.slots) if here[slot] == origin.words[slot] and len(self._words(here[slot]))
        ]
        return Variants.each(text, np.asarray(slots, np.int64), [self._words(here[slot]) for slot in slots])

    def _words(self, word: int) -> Ints:
        found = self._synonyms.get(word)
        if found is None:
            string = self._table.strings[word]
            found = self._synonyms[word] = self._table.ids(find_swaps(string, self.how))
        return found


def _spread(gains: Floats) -> float:
    """Return the standard deviation of the finite gains; swaps that may not be made have infinite ones."""
    fine = gains[np.isfinite(gains)]
    return float(fine.std()) if len(fine) else 0.0


def make_best_swaps(choices: Sequence[SwapChoices], gains: Sequence[Floats], many: Sequence[int]) -> list[Text]:
    """Return each text with the best swap of the `many` words that gain most; no swap lowers the loss.

    On a tie the first swap counts.
    """
    sizes = [len(one) for one in gains]
    begin = np.cumsum([0, *sizes])
    starts = np.concatenate([one.starts + at for one, at in zip(choices, begin[:-1], strict=True)])
    if not len(starts):
        return [one.variants.base for one in choices]
    flat = np.concatenate(gains)
    best = np.maximum.reduceat(flat, starts)
    word = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(flat)))
    tops = np.flatnonzero(flat == best[word])
    first = tops[np.diff(word[tops], prepend=-1) > 0]  # of each word
    out, edges = [], np.cumsum([0, *(len(one.starts) for one in choices)])
    for at, (one, most) in enumerate(zip(choices, many, strict=True)):
        text, mine = one.variants.base, slice(edges[at], edges[at + 1])
        ranked = np.argsort(-best[mine], kind="stable")[: max(0, most)]
        chosen = first[mine][ranked[best[mine][ranked] > 0]] - begin[at]
        if len(chosen):
            filled = text.words.copy()
            filled[one.variants.slots[chosen]] = one.variants.words[chosen]
            text = text.refilled(filled)
        out.append(text)
    return out


def find_swaps(word: str, how: WordSwapTraining) -> list[str]:
    """Return the synonyms that may replace a word, as word attacks choose them; empty for a stop word."""
    from malaprop.assets.lexicon import stop_words
    from malaprop.assets.vectors import open_neighbours
    from malaprop.assets.wordnet import open_wordnet

    low = word.lower()
    if low in stop_words() or not any(sign.isalpha() for sign in low):
        return []
    near, found = open_neighbours("counter-fitted"), set[str]()
    if (row := near.vectors.index.get(low, -1)) >= 0:
        others = near.table[row, : how.count]
        fine = (near.cosines[row, : how.count].astype(np.float32) >= how.cosine) & near.whole[others]
        fine &= (near.parts[others] & near.parts[row]) > 0
        found |= {near.vectors.words[other] for other in others[fine].tolist()}
    if how.wordnet:
        found |= {other for part in "nvar" for other in open_wordnet().synonyms(low, part)}
    return sorted({recase(other, word) for other in found} - {word})
