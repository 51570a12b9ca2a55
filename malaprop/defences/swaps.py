"""Training on swapped words: one backward pass ranks every synonym of every word, and the best swaps are made at once.

What HotFlip's training does to characters, on words: no search and no query, so every text of every batch can be
followed by its adversary at the cost of about two further passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.gradient import Aim, WordLook
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.defences.fact import append_rows, itself
from malaprop.models.gradients.sizes import token_gradients
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.splits import Splits
from malaprop.models.zoo.train import Job
from malaprop.models.zoo.training import Batch, Hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSwapTraining:
    """Each text is followed by its adversary: the swaps for synonyms that raise the loss most, to first order.

    Of each text a share of the words is swapped, drawn anew each time from nothing up to `share`, in `steps` rounds;
    each round ranks all swaps by one backward pass at the text as it is then, and makes the best one of each of the
    best words. Synonyms are the `count` nearest words in counter-fitted space with a cosine of at least `cosine` and a
    part of speech in common, and with `wordnet` those that share a synset: what TextFooler and PWWS choose from. Stop
    words stay. After HotFlip's training (Ebrahimi et al. 2018) and A2T (Yoo and Qi 2021), neither to the letter.
    """

    share: float = 0.5
    steps: int = 1
    count: int = 50
    cosine: float = 0.5
    wordnet: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.steps < 1 or self.count < 1:
            raise SettingError(
                f"swaps wants 0 < share <= 1, steps and count of at least 1, got {self.share}, {self.steps} and "
                f"{self.count}"
            )

    def __str__(self) -> str:
        return f"each text followed by one with up to {self.share:.0%} of its words swapped where the loss rises most"

    def hooks(self, job: Job, data: Splits) -> Hooks:
        gradients = token_gradients(itself(job))
        if gradients is None:
            raise CapabilityError(
                "harden swaps ranks words by gradients, and this model's word vectors depend on the words around them; "
                "use augment, which asks the model alone"
            )
        return Hooks(batch=SwappedBatch(job=job, data=data, how=self, gradients=gradients))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SwappedBatch:
    """Puts behind a batch the swapped texts of it."""

    job: Job
    data: Splits
    how: WordSwapTraining
    gradients: TokenGradients
    _table: Words = field(default_factory=Words, init=False, repr=False)
    _texts: dict[int, Text] = field(default_factory=dict, init=False, repr=False)
    _synonyms: dict[int, Ints] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, batch: Batch) -> Batch:
        rng = generator(int(torch.randint(1 << 62, ())))  # torch draws from the step's own seed here
        texts = [self._text(row) for row in batch.rows.tolist()]
        wanted = [self._count(text, rng) for text in texts]
        now = texts
        for step in range(self.how.steps):
            most = [-(-many * (step + 1) // self.how.steps) for many in wanted]
            now = self._swap(now, texts, batch.labels.tolist(), most)
        changed = [at for at, (text, own) in enumerate(zip(now, texts, strict=True)) if text is not own]
        if not changed:
            return batch
        rows = self.job.rows([now[at].values() for at in changed])
        return append_rows(batch, rows, np.asarray(changed, np.int64), self.job.parts[0].pad)

    def _text(self, row: int) -> Text:
        found = self._texts.get(row)
        if found is None:
            fields = self.data.train[row].fields.values()
            found = self._texts[row] = Text.of({str(i): v for i, v in enumerate(fields)}, self._table)
        return found

    def _count(self, text: Text, rng: np.random.Generator) -> int:
        """How many words of a text are swapped this time."""
        open_ = sum(bool(len(self._words(word))) for word in text.words.tolist())
        return int(np.ceil(rng.random() * self.how.share * open_))

    def _swap(self, now: Sequence[Text], origins: Sequence[Text], labels: list[int], most: list[int]) -> list[Text]:
        """The texts with further words swapped, until each has as many as it may have."""
        looks = [
            WordLook(variants=self._variants(text, origin), aim=Aim(label=label, odds=True))
            for text, origin, label in zip(now, origins, labels, strict=True)
        ]
        seen = self.gradients.words(looks)
        return [
            make_best_swaps(look.variants, one.gains, many - len(look.text.changed(origin)))
            for look, one, many, origin in zip(looks, seen, most, origins, strict=True)
        ]

    def _variants(self, text: Text, origin: Text) -> Variants:
        """Each synonym of each word that still stands."""
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


def make_best_swaps(variants: Variants, gains: Floats, many: int) -> Text:
    """The base with the best swap of each of the `many` words that gain most; no swap that would lower the loss."""
    text = variants.base
    if many < 1 or not len(gains):
        return text
    order = np.argsort(-gains, kind="stable")
    order = order[gains[order] > 0]
    _, first = np.unique(variants.slots[order], return_index=True)
    best = order[np.sort(first)[:many]]
    if not len(best):
        return text
    filled = text.words.copy()
    filled[variants.slots[best]] = variants.words[best]
    return text.refilled(filled)


def find_swaps(word: str, how: WordSwapTraining) -> list[str]:
    """What may stand for a word, as the attacks on words have it; nothing for a stop word."""
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
