"""Train on HotFlip's flips: those that would raise the loss most, all at once, on every text of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from malaprop.features.hardening.character_batches import (
    CharIds,
    Spelling,
    char_gradients,
    check_share,
    counts,
    reads_characters,
    spelling,
    usable_in,
)
from malaprop.models.padded_rows import fill_empty_rows
from malaprop.training.splits import Splits
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.gradients.characters import Slopes, gains, make_flips, plain_words, score_respelled, vectors
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipTraining:
    """Training on flips (Ebrahimi et al. 2018, section 4.1): one backward pass ranks them, the best are all applied.

    Half of the loss is on the texts as they are, half on the flipped ones. A flip leaves a word one word, as it does in
    the attack.
    """

    r: float = 0.1  # share of a text's characters to flip; the paper flips 0.2 and sets no limit per word
    once: bool = True  # flip at most one character of a word, as the attack does

    def __post_init__(self) -> None:
        check_share(self.r)

    def __str__(self) -> str:
        flips = f"the best {self.r:.0%} of their characters flipped"
        apart = ", one a word at most" if self.once else ""
        return f"half of the loss on texts with {flips}{apart} (HotFlip)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        usable = usable_in(reads_characters(job.model))
        return Hooks(loss=lambda model, batch: loss_with_flips(model, batch, self, usable))


def loss_with_flips(
    model: Any, batch: Batch, how: HotFlipTraining, usable: Bool[Tensor, " symbol"]
) -> Float[Tensor, ""]:
    """Return the mean of the losses on the texts and on the flipped texts.

    The first backward pass runs here: it gives the gradients of the weights and says which flips are best.
    """
    words: CharWords = model.embedding
    ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
    usable = usable.to(ids.device)
    spelled = spelling(words, ids)
    read = spelled.vectors(words)
    read.retain_grad()
    clean = functional.cross_entropy(model.from_vectors(read, ids, lengths).float(), batch.labels) / 2
    clean.backward()  # type: ignore[no-untyped-call]
    assert read.grad is not None
    changed = best_flips(words, spelled, read.grad, how.r, usable, how.once)
    flips = functional.cross_entropy(score_respelled(model, changed, ids, lengths).float(), batch.labels) / 2
    return clean.detach() + flips


@torch.no_grad()
def best_flips(
    words: CharWords,
    spelled: Spelling,
    gradients: Float[Tensor, "batch token dim"],
    r: float,
    usable: Bool[Tensor, " symbol"],
    once: bool = False,
) -> CharIds:
    """Flip the share `r` of each text's characters whose flips raise the loss most; at least one if any can be flipped.

    `gradients` are those of the loss by the words' vectors.
    """
    slopes = Slopes(char_gradients(words, spelled, gradients), torch.empty(0), spelled.everywhere)
    open_ = plain_words(slopes.signs, usable)
    found = gains(slopes, vectors(words), usable, open_, ("flip",))
    return make_flips(found, counts(slopes.signs, open_, r), once=once)
