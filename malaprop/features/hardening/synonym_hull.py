"""Training in the hull of synonyms: ASCC and the Dirichlet neighbourhood ensemble.

A mixture of its own and its synonyms' vectors replaces a word's vector. Both use one table, which has for every token
that is a whole word the tokens of its neighbours in counter-fitted space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.text import Ints, Text, Words
from malaprop.features.hardening.perturbed import measure_shift
from malaprop.models.padded_rows import fill_empty_rows
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

_LEAD = "the"  # a word before each: tokens of many models contain the space before a word
_NO_WORD = "qzxvqj"
Vectors = Float[Tensor, "batch token dim"]
Synonyms = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class NearTokens:
    """A table [token, 1 + count]: each token, then those of its synonyms; `real` marks entries other than padding."""

    table: Int[Tensor, "token near"]
    real: Bool[Tensor, "token near"]

    def of(self, ids: Int[Tensor, "batch token"]) -> tuple[Int[Tensor, "batch token near"], Bool[Tensor, ...]]:
        """Return the tokens near each place and which are real; tokens newer than the table have no neighbours."""
        known = ids < len(self.table)
        safe = torch.where(known, ids, 0)
        near, real = self.table[safe], self.real[safe] & known[..., None]
        near = torch.where(real, near, ids[..., None])
        real = real.clone()
        real[..., 0] = True
        return near, real

    def mix(
        self, embedding: Any, ids: Int[Tensor, "batch token"], weights: Float[Tensor, "batch token near"]
    ) -> Vectors:
        """Return the mixtures of the vectors near each place."""
        near, _ = self.of(ids)
        total: Tensor | None = None
        for at in range(near.shape[-1]):  # one at a time: a network may make vectors in a way that wants [batch, token]
            part = embedding(near[..., at]) * weights[..., at, None]
            total = part if total is None else total + part
        assert total is not None
        return total

    @classmethod
    def make(cls, job: TrainingJob, texts: Sequence[Sequence[str]], synonyms: Synonyms, count: int) -> NearTokens:
        """Build the table for the words of the training texts, as the model of the job tokenizes them."""
        seen = Words()
        words = sorted({word for fields in texts for value in fields for word in Text.of(value, seen).strings})
        pairs = {word: list(synonyms(word))[:count] for word in words}
        wanted = sorted({*words, *(other for found in pairs.values() for other in found)})
        single = dict(zip(wanted, _whole_words(job, wanted), strict=True))
        tokens = [single[word] for word in words if single[word] >= 0]
        device = next(job.model.parameters()).device
        size = max(tokens, default=0) + 1
        table = np.repeat(np.arange(size)[:, None], 1 + count, 1)
        real = np.zeros((size, 1 + count), bool)
        real[:, 0] = True
        for word in words:
            row = single[word]
            others = [single[other] for other in pairs[word] if single[other] >= 0 and single[other] != row]
            if row >= 0 and others and not real[row, 1]:  # a token of two spellings keeps the first one's synonyms
                table[row, 1 : 1 + len(others)] = others
                real[row, 1 : 1 + len(others)] = True
        if not real[:, 1:].any():
            raise CapabilityError(
                "no word of the training texts is one token of this model and has a synonym that is one; harden it "
                "with freelb or a2t, which need no such words"
            )
        return cls(torch.from_numpy(table).to(device), torch.from_numpy(real).to(device))


def _whole_words(job: TrainingJob, words: Sequence[str]) -> Ints:
    """Return the token of each word, -1 where it has several or is unknown; each is tokenized after another word."""
    (empty, alone) = (list(row) for row in job.rows([("",), (_LEAD,)]))
    head = next((at for at in range(len(empty)) if alone[at] != empty[at]), len(empty))
    tail = len(empty) - head
    begin = len(alone) - tail

    def inside(row: Sequence[int]) -> Sequence[int]:
        return row[begin : len(row) - tail]

    unknown = list(inside(job.rows([(f"{_LEAD} {_NO_WORD}",)])[0]))
    out = np.full(len(words), -1, np.int64)
    for at, row in enumerate(job.rows([(f"{_LEAD} {word}",) for word in words])):
        found = list(inside(row))
        if len(found) == 1 and found != unknown:
            out[at] = found[0]
    return out


def find_synonyms(count: int, cosine: float) -> Synonyms:
    """Return a function from a word to its neighbours in counter-fitted space, nearest first, in the word's case."""
    from malaprop.assets.vectors import open_neighbours
    from malaprop.attacks.candidates.lookup import recase

    near = open_neighbours("counter-fitted")

    def synonyms(word: str) -> list[str]:
        others, cosines = near.of(word.lower())
        return [recase(other, word) for other, close in zip(others, cosines, strict=True) if close >= cosine][:count]

    return synonyms


@dataclass(frozen=True, slots=True, kw_only=True)
class Ascc:
    """Adversarial sparse convex combination (Dong et al. 2021): the worst point in the hull of each word's synonyms.

    The weights of a word's synonyms are found by gradients of the loss, `steps` of them, each `rate` long before the
    softmax, which so comes near to single words (the paper's sparsity). The loss is that of the texts as they are plus
    `weight` times the divergence of the answers at that point. Differs: neighbours in counter-fitted space of at least
    `cosine`, `count` of them; one step where the paper takes ten, which `steps` gives; a word of several tokens stays.
    """

    count: int = 8
    cosine: float = 0.5
    steps: int = 1
    rate: float = 10.0
    weight: float = 4.0

    def __post_init__(self) -> None:
        if self.count < 1 or self.steps < 1 or self.rate <= 0 or self.weight <= 0:
            raise SettingError(f"ascc needs count and steps >= 1, rate and weight > 0, got {self}")

    def __str__(self) -> str:
        return f"the worst mixture of each word's {self.count} nearest synonyms, {self.steps} step(s) of ascent (ASCC)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        near = make_table(job, data, self.count, self.cosine)
        return Hooks(loss=lambda model, batch: self.loss(model, batch, near))

    def loss(self, model: Any, batch: Batch, near: NearTokens) -> Float[Tensor, ""]:
        ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
        settled_batch = batch._replace(ids=ids, lengths=lengths)
        clean = model.from_vectors(model.embedding(ids), ids, lengths).float()
        mixed = near.mix(model.embedding, ids, self.find_worst(model, settled_batch, near))
        moved = model.from_vectors(mixed, ids, lengths).float()
        apart = measure_shift(moved, clean.detach().log_softmax(1))
        return functional.cross_entropy(clean, batch.labels) + self.weight * apart

    def find_worst(self, model: Any, batch: Batch, near: NearTokens) -> Float[Tensor, "batch token near"]:
        """Return the weights of the mixtures with the highest loss that `steps` gradient steps find."""
        _, real = near.of(batch.ids)
        closed = torch.where(real, 0.0, -torch.inf)
        logits = torch.zeros_like(closed)
        for _ in range(self.steps):
            logits.requires_grad_()
            mixed = near.mix(model.embedding, batch.ids, (logits + closed).softmax(-1))
            moved = model.from_vectors(mixed, batch.ids, batch.lengths)
            worse = functional.cross_entropy(moved.float(), batch.labels, reduction="sum")
            (up,) = torch.autograd.grad(worse, logits)
            logits = logits.detach() + self.rate * up / up.norm(dim=-1, keepdim=True).clamp(min=1e-12)
        return (logits + closed).softmax(-1).detach()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dne:
    """Dirichlet neighbourhood ensemble (Zhou et al. 2021): in training each word is a random mixture of its synonyms.

    The weights come from a Dirichlet distribution: a small `alpha` gives mixtures that are nearly one word. Differs:
    the paper also climbs the loss from there and votes over mixtures when the model is asked; here the model learns
    from the mixtures alone, and is asked as any other.
    """

    count: int = 8
    cosine: float = 0.5
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if self.count < 1 or self.alpha <= 0:
            raise SettingError(f"dne needs count >= 1 and alpha > 0, got {self.count} and {self.alpha}")

    def __str__(self) -> str:
        return f"random mixtures of each word and its {self.count} nearest synonyms, alpha {self.alpha:g} (DNE)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        near, model = make_table(job, data, self.count, self.cosine), job.model
        return Hooks(embedded=lambda vectors, batch: self.mix(vectors, batch, model, near))

    def mix(self, vectors: Vectors, batch: Batch, model: Any, near: NearTokens) -> Vectors:
        ids, _ = fill_empty_rows(batch.ids, batch.lengths)
        _, real = near.of(ids)
        shape = torch.full(real.shape, self.alpha, device=vectors.device)
        drawn = torch._standard_gamma(shape).clamp(min=1e-8) * real  # scaled to one, they are a Dirichlet draw
        return near.mix(model.embedding, ids, drawn / drawn.sum(-1, keepdim=True)).to(vectors.dtype)


def make_table(job: TrainingJob, data: Splits, count: int, cosine: float) -> NearTokens:
    """Build the table of synonyms for a model and its training texts."""
    if not hasattr(job.model, "from_vectors"):
        raise CapabilityError("this model does not show the vectors that it reads; harden it with a2t or augment")
    texts = [tuple(example.fields.values()) for example in data.train]
    return NearTokens.make(job, texts, find_synonyms(count, cosine), count)
