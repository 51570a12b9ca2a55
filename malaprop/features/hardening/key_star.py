"""Key* in training: random characters in the place of random characters, asking the model nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import CapabilityError
from malaprop.core.seeds import generator
from malaprop.core.text import word_pattern
from malaprop.core.victim import Fields
from malaprop.features.hardening.character_batches import CharIds, check_share, counts, spelling, usable_in
from malaprop.models.padded_rows import Ragged, fill_empty_rows
from malaprop.models.tokens.vocab import BETWEEN, OTHER, OpenVocab
from malaprop.training.splits import Splits
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.gradients.characters import plain_words, score_respelled
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStar:
    """Half of the loss is on the texts as they are, half on texts with a share `r` of their characters changed to any.

    After the black-box baseline of Ebrahimi et al. 2018. Differs: the changes are drawn, not the best of several drawn
    ones, so that training asks for no further passes.
    """

    r: float = 0.2  # of the characters of a text

    def __post_init__(self) -> None:
        check_share(self.r)

    def __str__(self) -> str:
        return f"half of the loss on texts with {self.r:.0%} of their characters changed at random (Key*)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        embedding = getattr(job.model, "embedding", None)
        if isinstance(embedding, CharWords):
            usable = usable_in(embedding)
            return Hooks(loss=lambda model, batch: _spelled_loss(model, batch, self.r, usable))
        if isinstance(getattr(embedding, "vocab", None), OpenVocab):
            raise CapabilityError(
                "harden blackbox would give this model new words without end; name one that reads words alone "
                "(LSTM-W-GloVe-1 ...) or characters alone (CharCNN-LSTM ...)"
            )
        return Hooks(batch=Typed(job=job, data=data, r=self.r))


def _spelled_loss(model: Any, batch: Batch, r: float, usable: Bool[Tensor, " symbol"]) -> Float[Tensor, ""]:
    words: CharWords = model.embedding
    ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
    spelled = spelling(words, ids)
    clean = model.from_vectors(spelled.vectors(words), ids, lengths)
    noisy = score_respelled(model, draw_signs(spelled.everywhere, r, usable.to(ids.device)), ids, lengths)
    return functional.cross_entropy(torch.cat([clean, noisy]).float(), batch.labels.repeat(2))


def draw_signs(signs: CharIds, r: float, usable: Bool[Tensor, " symbol"]) -> CharIds:
    """Return the texts with a share `r` of their characters changed to usable ones, all drawn at random."""
    letters = torch.nonzero(usable).flatten()
    put = letters[torch.randint(len(letters), signs.shape, device=signs.device)]
    open_ = plain_words(signs, usable)
    place = torch.rand(signs.shape, device=signs.device)
    place = place.masked_fill(~(open_[..., None] & ((signs > BETWEEN) | (signs == OTHER))), -1)
    rank = place.flatten(1).argsort(dim=1, descending=True).argsort(1).reshape(signs.shape)
    chosen = (rank < counts(signs, open_, r)[:, None, None]) & (place >= 0)
    return torch.where(chosen, put, signs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Typed:
    """A batch hook that appends the texts with changed characters, for models that read words or pieces of them."""

    job: TrainingJob
    data: Splits
    r: float

    def __call__(self, batch: Batch) -> Batch:
        seed = int(torch.randint(1 << 62, ()))
        texts = [tuple(self.data.train[row].fields.values()) for row in batch.rows.tolist()]
        rows = self.job.rows([mistype(text, self.r, generator(seed, str(i))) for i, text in enumerate(texts)])
        ragged, pad = Ragged.of(rows), self.job.parts[0].pad
        width = max(batch.ids.shape[1], int(ragged.size.max()))
        more = np.full((len(rows), width), pad)
        for line, row in zip(more, rows, strict=True):
            line[: len(row)] = row
        device = batch.ids.device
        ids = functional.pad(batch.ids, (0, width - batch.ids.shape[1]), value=pad)
        return Batch(
            torch.cat([ids, torch.from_numpy(more).to(device)]),
            torch.cat([batch.lengths, torch.from_numpy(ragged.size).to(device)]),
            batch.labels.repeat(2),
            np.concatenate([batch.rows, batch.rows]),
        )


def mistype(text: Fields, r: float, rng: np.random.Generator) -> Fields:
    """Return the fields with a share `r` of the characters of their words changed to random letters or digits."""
    return tuple(_mistype_word(field, r, rng) for field in text)


def _mistype_word(string: str, r: float, rng: np.random.Generator) -> str:
    places = [i for found in word_pattern().finditer(string) for i in range(*found.span()) if string[i].isalnum()]
    if not places:
        return string
    out = list(string)
    for i in rng.choice(places, max(1, int(len(places) * r)), replace=False).tolist():
        out[i] = _LETTERS[int(rng.integers(len(_LETTERS)))]
    return "".join(out)
