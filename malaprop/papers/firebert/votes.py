"""The defences that vote (Mein et al. 2021, sections 2.1.4 and 2.1.5).

FIVE votes over Gaussian noise on the vectors of the most important words, FuSE over SWITCH's other wordings of a text.

The noise depends on a text and the seed alone, so answers are the same in any batch, order, or device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.core.errors import CapabilityError, SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text
from malaprop.core.victim import Victim
from malaprop.features.defending.smooth import Vote, add_own, check_samples, check_vote, poll
from malaprop.frame.runs.defended import Counters
from malaprop.models.gradients.tokens import TokenGradients, pad_rows
from malaprop.models.precision import full_precision
from malaprop.models.scorers.bert import BertScorer
from malaprop.models.tokens.batches import batches, bounds_for
from malaprop.models.tokens.pieces import runs
from malaprop.models.victims.tokens import TokenVictim
from malaprop.papers.firebert.important import Side, WeighedWords, weigh
from malaprop.papers.firebert.switch import Switch, SwitchChoice
from malaprop.zoo.gradients.word_sizes import token_gradients

_STEP, _FIRST, _SECOND = (
    -0x61C8864680B583EB,
    -0x40A7B892E31B1A47,
    -0x6B2FB644ECCEEE15,
)  # splitmix64's, as signed numbers


def gaussian(keys: Int[Tensor, " key"], dim: int) -> Float[Tensor, "key dim"]:
    """Return `dim` standard normal numbers for each key, by the Box-Muller transform from splitmix64.

    They depend on the keys alone: the same in any batch, on any device, in any order.
    """
    half = (dim + 1) // 2
    bits = _mix(_mix(keys)[:, None] + torch.arange(1, half + 1, device=keys.device) * _STEP)
    one = (((bits >> 40) & 0xFFFFFF).float() + 0.5) / (1 << 24)
    two = ((bits >> 8) & 0xFFFFFF).float() / (1 << 24)
    length, turn = torch.sqrt(-2 * torch.log(one)), 2 * math.pi * two
    return torch.cat([length * torch.cos(turn), length * torch.sin(turn)], 1)[:, :dim]


def _mix(x: Int[Tensor, " *n"]) -> Int[Tensor, " *n"]:
    """Apply the finalizer of splitmix64; shifts of signed numbers are masked to act like unsigned ones."""
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND
    return x ^ ((x >> 31) & ((1 << 33) - 1))


_SPREAD = np.int64(0x5851F42D4C957F2D)  # odd, parts the keys of samples; from Knuth's generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Five:
    """A defence whose answer is the vote of the victim's answers with noise on the vectors of all chosen words at once.

    `noise` is the standard deviation of each number of a vector, in the units of the victim's own word vectors.
    Defaults are the paper's for MNLI: 1 word, noise of 8.14, 8 samples, mean of logits. Differs: the authors' code
    perturbs only the last chosen token; any word but a stop word may be chosen, also one without a counter-fitted
    vector. `own`: the text itself votes too.
    """

    words: int = 1
    noise: float = 8.14
    samples: int = 8
    vote: Vote = "logits"
    side: Side = "last"
    own: bool = False
    kind: ClassVar[str] = "five"

    def __post_init__(self) -> None:
        check_samples(self.samples, "five: samples")
        check_vote(self.vote, "five: vote")
        if not isinstance(self.words, int) or self.words < 1:
            raise SettingError(f"five: words must be a whole number of at least 1, got {self.words!r}")
        if not isinstance(self.noise, (int, float)) or not 0 <= self.noise < 1e6:
            raise SettingError(f"five: noise is a standard deviation, 0 or more, got {self.noise!r}")
        if self.side not in ("last", "all"):
            raise SettingError(f"five: side must be last or all, got {self.side!r}")

    @property
    def discrete(self) -> bool:
        return self.vote == "majority"

    def check(self, victim: Victim) -> None:
        if token_gradients(victim) is None:
            raise CapabilityError(
                f"five moves the vectors of words, and {victim.name} shows none; use fuse, or a model of the zoo"
            )

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> list[WeighedWords]:
        return weigh(victim, texts, counters, side=self.side)

    def answers(
        self, victim: Victim, prepared: list[WeighedWords], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        out = np.stack([one.answer for one in prepared])
        voted = [number for number, one in enumerate(prepared) if len(one.slots)]
        counters.fallbacks += len(prepared) - len(voted)
        if not voted:
            return out
        counters.inner += len(voted) * self.samples
        gradients = token_gradients(victim)
        assert gradients is not None
        scorer = victim.scorer if isinstance(victim, TokenVictim) else None
        reader = FiveReader(
            gradients=gradients, scorer=scorer if isinstance(scorer, BertScorer) and not exact else None
        )
        try:
            scores = reader.scores(
                [self._prepare_noise(prepared[i], seeds[i]) for i in voted], self.samples, self.noise
            )
        except torch.OutOfMemoryError:
            raise VictimError(
                f"{self.samples} noisy copies of these texts do not fit in the memory of {gradients.device}; take "
                "fewer samples, or ask for fewer texts at a time (--width)"
            ) from None
        of = np.repeat(np.arange(len(voted)), self.samples)
        if self.own:
            scores, of = add_own(scores, of, out[voted])
        out[voted] = poll(scores, of, len(voted), self.vote)
        return out

    def _prepare_noise(self, one: WeighedWords, seed: int) -> Noisy:
        assert one.laid is not None
        chosen = one.slots[: self.words]
        places = runs(one.laid.start[chosen], one.laid.size[chosen])
        return Noisy(one.laid.row, places, text_key(seed, one.text))


class Noisy(NamedTuple):
    """A row of tokens, the places in it that get noise, and the key of its noise."""

    row: Ints
    places: Ints
    key: int


def text_key(seed: int, text: Text) -> int:
    """Hash the seed and the text's strings to 63 bits."""
    whole = "\x1f".join((str(seed), *text.values())).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(whole, digest_size=8).digest(), "little") >> 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FiveReader:
    """Runs a network on rows of tokens with noise on some vectors: by its scorer, or by the plain forward (None)."""

    gradients: TokenGradients
    scorer: BertScorer | None = None
    _where: torch.device = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_where", torch.device(self.gradients.device))

    @torch.inference_mode()
    def scores(self, texts: Sequence[Noisy], samples: int, noise: float) -> Floats:
        """Return probabilities [text * sample, label], the samples of a text side by side."""
        lengths = np.repeat(np.fromiter((len(text.row) for text in texts), np.int64, len(texts)), samples)
        bounds = self.gradients.bounds or bounds_for(self._where, rows=32)
        even = not self.gradients.masks or (self.scorer is not None and self.scorer.half)
        parts = list(batches(lengths, bounds, even=even))
        with full_precision(self._where):
            answers = [self._batch(texts, part, samples, noise) for part in parts]
        back = np.argsort(np.concatenate(parts))
        found: Floats = torch.cat(answers).float().softmax(-1).cpu().numpy()[back]
        return found

    def _batch(self, texts: Sequence[Noisy], part: Ints, samples: int, noise: float) -> Float[Tensor, "batch label"]:
        own = [texts[i] for i in (part // samples).tolist()]
        ids, lengths = pad_rows([text.row for text in own], self.gradients.pad, self._where)
        sizes = np.fromiter((len(text.places) for text in own), np.int64, len(own))
        row = np.repeat(np.arange(len(own)), sizes)
        place = np.concatenate([text.places for text in own])
        with np.errstate(over="ignore"):
            keys = np.fromiter((text.key for text in own), np.int64, len(own)) + (part % samples + 1) * _SPREAD
            keys = keys[row] + place * (_SPREAD >> np.int64(7))
        rows, places, drawn = (torch.from_numpy(x).to(self._where) for x in (row, place, keys))
        dim = self._dim()
        shift = gaussian(drawn, dim) * noise
        if self.scorer is not None:
            full = int(lengths.min()) == ids.shape[1]
            return self.scorer.shifted(ids, None if full else lengths, (rows, places), shift)
        with shift_embedding(self.gradients.embedding, (rows, places), shift):
            return self.gradients.forward(ids, lengths)

    def _dim(self) -> int:
        made: Tensor = self.gradients.embedding(torch.zeros(1, 1, dtype=torch.long, device=self._where))
        return int(made.shape[-1])


@contextmanager
def shift_embedding(
    embedding: nn.Module, at: tuple[Int[Tensor, " shift"], Int[Tensor, " shift"]], by: Float[Tensor, "shift dim"]
) -> Iterator[None]:
    """While the context is open, add these vectors to the embedding's output at (row, place)."""

    def move(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        if output.ndim != 3 or output.shape[-1] != by.shape[-1]:
            raise VictimError(f"vectors of shape {tuple(output.shape)} cannot be moved word by word; use fuse")
        return output.index_put(at, by.to(output.dtype), accumulate=True)

    hook = embedding.register_forward_hook(move)
    try:
        yield
    finally:
        hook.remove()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """A defence that takes a vote of the victim's answers for other wordings; with `own` the text itself votes too.

    Defaults are the paper's for MNLI: 2 words, 10 candidates, 14 alternatives, 14 drawn, mean of logits. Differs: alike
    alternatives are not compared with the text unless asked for (`similarity=filter`): it costs as much again, and with
    MiniLM hardly any alternative has a negative similarity.
    """

    switch: Switch = Switch(words=2, alternatives=14, multiplier=1, similarity="off")  # noqa: RUF009 - it is frozen
    vote: Vote = "logits"
    own: bool = False
    kind: ClassVar[str] = "fuse"

    def __post_init__(self) -> None:
        check_samples(self.switch.alternatives, "fuse: samples (SWITCH's alternatives)")
        check_vote(self.vote, "fuse: vote")

    @property
    def samples(self) -> int:
        return self.switch.count

    @property
    def discrete(self) -> bool:
        return self.vote == "majority"

    def check(self, victim: Victim) -> None:
        """Accept any victim: without gradients, words are ranked by leaving each out."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> list[SwitchChoice]:
        return self.switch.choices(victim, texts, counters)

    def answers(
        self, victim: Victim, prepared: list[SwitchChoice], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        out = np.stack([choice.weighed.answer for choice in prepared])
        drawn = self.switch.draw(prepared, seeds, device=victim.device)
        voted = [number for number, variants in enumerate(drawn) if variants.count]
        counters.fallbacks += len(drawn) - len(voted)
        if not voted:
            return out
        pool = Pool([drawn[number] for number in voted])
        _, first, back = np.unique(pool.keys(), return_index=True, return_inverse=True)
        counters.inner += len(first)
        if exact:
            scores = victim.predict([text.values() for text in pool.texts(first)])
        else:
            scores = victim.finish(victim.begin(pool, first))
        of = np.repeat(np.arange(len(voted)), pool.counts)
        answers = scores[back]
        if self.own:
            answers, of = add_own(answers, of, out[voted])
        out[voted] = poll(answers, of, len(voted), self.vote)
        return out
