"""Gradients at token embeddings: the first-order effect of word substitutions and of mixtures of words on the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, VictimError
from malaprop.core.gradient import Aim, CharLook, CharSeen, MixLook, MixSeen, SlotLook, SlotSeen, WordLook, WordSeen
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Ints
from malaprop.core.variants import Variants
from malaprop.models.gradients import below_mean, differentiable, log_odds
from malaprop.models.gradients.layout import Layout, TokenLayout
from malaprop.models.scorers.plain import Forward
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.pieces import runs
from malaprop.models.tokens.splice import ship

AnyLook = TypeVar("AnyLook", WordLook, SlotLook)
AnySeen = TypeVar("AnySeen", WordSeen, SlotSeen)
_NONE = np.empty(0, np.int64)
_PAIRS = 1 << 16  # of a token and another in its place, weighed at a time


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenGradients:
    """Takes gradients at the outputs of `embedding`, in one forward and one backward pass of `forward`.

    Replacing a word is the sum over its tokens. Where the numbers of tokens differ, tokens are set against each other
    from the left; old ones left over are taken away, and new ones left over are weighed by the slope at the last old
    one: a guess, so ask the victim before you trust it.
    """

    module: nn.Module  # all that `forward` runs
    forward: Forward
    embedding: nn.Module
    layout: Layout
    pad: int = 0
    masks: bool = True
    unknown: int | None = None  # the token of words that the model lacks
    device: torch.device | str = "cpu"
    bounds: Bounds | None = None
    offers: frozenset[Capability] = frozenset({Capability.GRADIENTS})

    def chars(self, looks: Sequence[CharLook]) -> list[CharSeen]:
        if looks:
            raise CapabilityError("this model does not read characters; use hotflip-word, or key* and deepwordbug")
        return []

    def words(self, looks: Sequence[WordLook]) -> list[WordSeen]:
        return self.weigh_words(looks, self.cut([look.variants for look in looks]))

    def slots(self, looks: Sequence[SlotLook]) -> list[SlotSeen]:
        return self._in_batches(looks, self.layout.lay([look.text for look in looks]), self._weigh)

    def cut(self, variants: Sequence[Variants]) -> list[CutVariants]:
        """Tokenize texts and the words that might replace theirs: all the work that does not depend on the weights."""
        return [
            CutVariants(laid, *self._cut_words(one))
            for laid, one in zip(self.layout.lay([one.base for one in variants]), variants, strict=True)
        ]

    def _cut_words(self, variants: Variants) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        assert variants.rows is None, "a look takes variants of one edit each"
        fresh = self.layout.tokens(variants.base, variants.slots, variants.words)
        many = np.fromiter(map(len, fresh), np.int32, len(fresh))
        return np.concatenate([*fresh, _NONE]).astype(np.int32), many

    def weigh_words(self, looks: Sequence[WordLook], cut: Sequence[CutVariants]) -> list[WordSeen]:
        """Return what `words` returns, for looks whose variants are tokenized already."""
        return self._in_batches(looks, [one.laid for one in cut], self._batch, cut)

    def mixes(self, looks: Sequence[MixLook]) -> list[MixSeen]:
        return [mix(self, look) for look in looks]

    def _in_batches(
        self,
        looks: Sequence[AnyLook],
        laid: Sequence[TokenLayout],
        work: Callable[[list[AnyLook], list[Any]], list[AnySeen]],
        cut: Sequence[CutVariants] | None = None,
    ) -> list[AnySeen]:
        """Apply `work` to the looks with their `cut`, or else `laid`, in batches of similar length, in their order."""
        given: Sequence[Any] = laid if cut is None else cut
        out: dict[int, AnySeen] = {}
        lengths = np.fromiter((len(one.row) for one in laid), np.int64, len(laid))
        bounds = self.bounds or bounds_for(torch.device(self.device), bytes_per_token=1 << 18)
        for part in batches(lengths, bounds, even=not self.masks):
            mine = part.tolist()
            out |= zip(mine, work([looks[i] for i in mine], [given[i] for i in mine]), strict=True)
        return [out[i] for i in range(len(looks))]

    def _weigh(self, looks: list[SlotLook], laid: list[TokenLayout]) -> list[SlotSeen]:
        ids, lengths = pad_rows([one.row for one in laid], self.pad, self.device)
        slopes, logits = self.slopes(ids, lengths, [look.aim for look in looks])
        answers = logits.float().softmax(-1).cpu().numpy()
        return [
            SlotSeen(answer=answer, weights=_norms(one, slope))
            for answer, one, slope in zip(answers, laid, slopes, strict=True)
        ]

    def _batch(self, looks: list[WordLook], cut: list[CutVariants]) -> list[WordSeen]:
        ids, lengths = pad_rows([one.laid.row for one in cut], self.pad, self.device)
        slopes, logits = self.slopes(ids, lengths, [look.aim for look in looks])
        answers = logits.float().softmax(-1).cpu().numpy()
        gains = self._gains(looks, cut, slopes)
        return [WordSeen(answer=answer, gains=gain) for answer, gain in zip(answers, gains, strict=True)]

    def slopes(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"], aims: Sequence[Aim]
    ) -> tuple[Float[Tensor, "batch token dim"], Float[Tensor, "batch label"]]:
        """Return the gradient of each text's loss by the vectors of its tokens, and the logits."""
        labels, signs, odds = aim_losses(aims, self.device)
        spread = torch.tensor([aim.spread for aim in aims], device=self.device)
        beside = _find_beside(aims, self.device)
        with differentiable(self.module), capture_embedding(self.embedding) as caught:
            logits = self.forward(ids, lengths)
            if not caught:
                raise VictimError(f"the embedding of {type(self.module).__name__} is not read in its forward pass")
            behind = torch.where(spread, below_mean(logits.float(), labels), log_odds(logits.float(), labels, beside))
            (slope,) = torch.autograd.grad(behind.sum(), caught[-1:])
        with torch.no_grad():
            weight = signs * torch.where(odds | spread, 1, behind.detach().sigmoid())
            return slope.float()[:, : ids.shape[1]] * weight[:, None, None], logits.detach()

    @torch.no_grad()
    def _gains(
        self, looks: list[WordLook], cut: list[CutVariants], slopes: Float[Tensor, "batch token dim"]
    ) -> list[Floats]:
        """Return the sums over tokens of slope times (new vector - old vector), as flat arrays over all looks."""
        pairs = self._pairs(looks, cut)
        met, at = find_distinct(np.concatenate([pairs.new, pairs.old]))
        vectors = self._vectors(met, slopes.device) if len(met) else None
        total = torch.zeros(len(pairs.barred), device=slopes.device)
        signs = torch.tensor([look.signs for look in looks], device=slopes.device)
        many = len(pairs.new)
        for begin in range(0, many, _PAIRS):
            assert vectors is not None
            arrays = (pairs.variant, pairs.look, pairs.place, at[:many], at[many:])
            v, r, p, n, o = ship(slopes.device, *(x[begin : begin + _PAIRS] for x in arrays))
            change, slope = vectors[n] - vectors[o], slopes[r, p]
            gains = (slope * change).sum(-1)
            if signs.any():
                gains = torch.where(signs[r], -(change.sign() - slope.sign()).abs().sum(-1), gains)
            total.index_add_(0, v, gains)
        flat: Floats = total.cpu().numpy()
        flat[pairs.barred] = -np.inf
        return np.split(flat, np.cumsum([len(one.many) for one in cut])[:-1])

    def _vectors(self, tokens: Ints, device: torch.device) -> Float[Tensor, "token dim"]:
        """Return the embeddings of these tokens; -1 has the zero vector."""
        made: Tensor = self.embedding(torch.from_numpy(np.maximum(tokens, 0)).to(device)[None])[0]
        return made.float() * torch.from_numpy(tokens >= 0).to(device)[:, None]

    def _pairs(self, looks: list[WordLook], cut: list[CutVariants]) -> _Pairs:
        """Pair each variant's new tokens with the old ones, from the left; all looks one after another."""
        many = np.concatenate([one.many for one in cut]).astype(np.int64)
        flat = np.concatenate([*(one.flat for one in cut), np.full(1, -1)])
        slots = [look.variants.slots for look in looks]
        had, start = (
            np.concatenate([getattr(one.laid, name)[mine] for one, mine in zip(cut, slots, strict=True)])
            for name in ("size", "start")
        )
        barred, first = had < 1, np.cumsum(many) - many
        if self.unknown is not None and any(look.known for look in looks):
            strict = np.repeat([look.known for look in looks], [len(mine) for mine in slots])
            lacks = many == 0
            lacks[np.repeat(np.arange(len(many)), many)[flat[:-1] == self.unknown]] = True
            barred |= strict & lacks
        size = np.where(barred, 0, np.maximum(many, had))
        variant, i = np.repeat(np.arange(len(size)), size), runs(np.zeros(len(size), np.int64), size)
        look = np.repeat(np.arange(len(cut)), [len(mine) for mine in slots])[variant]
        many, had = many[variant], had[variant]
        place = start[variant] + np.minimum(i, had - 1)
        rows = np.concatenate([one.laid.row for one in cut])
        behind = np.cumsum([0, *(len(one.laid.row) for one in cut[:-1])])
        new = np.where(i < many, flat[np.minimum(first[variant] + i, len(flat) - 1)], -1)
        return _Pairs(variant, look, place, new, np.where(i < had, rows[behind[look] + place], -1), barred)


class CutVariants(NamedTuple):
    """A text as the model reads it, and the tokens of each word that might stand in a slot, one word after another."""

    laid: TokenLayout
    flat: NDArray[np.int32]
    many: NDArray[np.int32]  # [variant] tokens


class _Pairs(NamedTuple):
    """New tokens paired with old ones at their places; -1 where there is none."""

    variant: Ints
    look: Ints
    place: Ints
    new: Ints
    old: Ints
    barred: Flags  # [variant]


def find_distinct(tokens: Ints) -> tuple[Ints, Ints]:
    """Return the distinct tokens in order, and the index of each: `np.unique` without sorting; -1 is the least."""
    if not len(tokens):
        return tokens, tokens
    here = np.zeros(int(tokens.max()) + 2, bool)
    here[tokens + 1] = True
    return np.flatnonzero(here) - 1, (np.cumsum(here) - 1)[tokens + 1]


def _norms(laid: TokenLayout, slopes: Float[Tensor, "token dim"]) -> Floats:
    """Return the L1 norm of the mean slope over the tokens of each slot; -1 for a slot that is not read."""
    read = laid.size > 0
    size = np.where(read, laid.size, 0)
    slot, token = ship(slopes.device, np.repeat(np.arange(len(size)), size), runs(laid.start, size))
    sums = torch.zeros(len(size), slopes.shape[1], device=slopes.device).index_add_(0, slot, slopes[token])
    norms = sums.abs().sum(-1).cpu().numpy() / np.maximum(size, 1)
    return np.where(read, norms, -1).astype(np.float32)


def pad_rows(
    rows: Sequence[Ints], pad: int, device: torch.device | str
) -> tuple[Int[Tensor, "batch token"], Int[Tensor, " batch"]]:
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = np.full((len(rows), max(1, int(lengths.max()))), pad, np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)


def aim_losses(aims: Sequence[Aim], device: torch.device | str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the labels, signs and scales of a batch's losses."""
    labels = torch.tensor([aim.label for aim in aims], device=device)
    signs = torch.tensor([1.0 if aim.away else -1.0 for aim in aims], device=device)
    return labels, signs, torch.tensor([aim.odds for aim in aims], device=device)


def _find_beside(aims: Sequence[Aim], device: torch.device | str) -> Int[Tensor, " batch"] | None:
    """Return the labels that count as right beside each aim's own (its own again where it has no other), or None."""
    if all(aim.beside is None for aim in aims):
        return None
    return torch.tensor([aim.label if aim.beside is None else aim.beside for aim in aims], device=device)


@contextmanager
def capture_embedding(embedding: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the outputs of the embedding, as tensors to differentiate by."""
    caught: list[Tensor] = []

    def catch(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        caught.append(output.detach().requires_grad_())
        return caught[-1]

    hook = embedding.register_forward_hook(catch)
    try:
        yield caught
    finally:
        hook.remove()


def mix(gradients: TokenGradients, look: MixLook) -> MixSeen:
    """Return scores, losses and slopes of a look's mixtures, by one forward and one backward pass over its samples."""
    (laid,) = gradients.layout.lay([look.text])
    many = len(look.shares)
    ids = torch.from_numpy(np.repeat(laid.row[None], many, 0)).to(gradients.device)
    lengths = torch.full((many,), ids.shape[1], device=gradients.device)
    shares = torch.from_numpy(np.asarray(look.shares, np.float32)).to(gradients.device)
    fits = [_fitting(gradients, look, laid, place) for place in range(len(look.slots))]
    with differentiable(gradients.module):
        shares.requires_grad_()
        mixed = _mixtures(gradients, laid, look, shares, fits)
        with _put_in(gradients.embedding, *mixed):
            logits = gradients.forward(ids, lengths).float()
        odds = log_odds(logits, torch.full((many,), look.aim.label, device=logits.device), look.aim.beside)
        odds = odds if look.aim.away else -odds
        (slopes,) = torch.autograd.grad(odds.sum(), shares)
    barred = np.concatenate([_bar(len(words), rows) for words, (rows, _) in zip(look.words, fits, strict=True)])
    return MixSeen(
        answer=logits.detach().softmax(-1).mean(0).cpu().numpy(),
        odds=odds.detach().cpu().numpy(),
        slopes=slopes.cpu().numpy(),
        barred=barred,
    )


def _fitting(gradients: TokenGradients, look: MixLook, laid: TokenLayout, place: int) -> tuple[Ints, Ints]:
    """Return which words of a slot have as many tokens as its own word, and their tokens [word, token]."""
    slot, words, size = look.slots[place], look.words[place], int(laid.size[look.slots[place]])
    found = gradients.layout.tokens(look.text, np.full(len(words), slot), words)
    rows = [i for i, tokens in enumerate(found) if len(tokens) == size > 0]
    return np.asarray(rows, np.int64), np.stack([found[i] for i in rows]) if rows else np.empty((0, 0), np.int64)


def _bar(many: int, rows: Ints) -> Flags:
    barred = np.ones(many, np.bool_)
    barred[rows] = False
    return barred


def _mixtures(
    gradients: TokenGradients, laid: TokenLayout, look: MixLook, shares: Tensor, fits: list[tuple[Ints, Ints]]
) -> tuple[Ints, Tensor | None]:
    """Return the token places that are mixed, and the mixed embeddings there: [sample, place, dim]."""
    first = np.cumsum([0, *map(len, look.words)])
    places: list[int] = []
    parts: list[Tensor] = []
    for number, (rows, tokens) in enumerate(fits):
        if not len(rows):
            continue
        mine = shares[:, torch.from_numpy(first[number] + rows).to(shares.device)]
        mine = mine / mine.sum(1, keepdim=True).clamp_min(1e-9)
        with torch.no_grad():
            vectors = gradients.embedding(torch.from_numpy(tokens).to(shares.device)).float()  # [word, token, dim]
        parts.append(torch.einsum("sw,wtd->std", mine, vectors))
        start = int(laid.start[look.slots[number]])
        places += range(start, start + tokens.shape[1])
    return np.asarray(places, np.int64), torch.cat(parts, 1) if parts else None


@contextmanager
def _put_in(embedding: nn.Module, places: Ints, mixed: Tensor | None) -> Iterator[None]:
    """Make the embedding return these vectors at these places."""

    def put(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        made = output.detach().clone()
        if mixed is None:
            return made
        made[:, torch.from_numpy(places).to(made.device)] = mixed.to(made.dtype)
        return made

    hook = embedding.register_forward_hook(put)
    try:
        yield
    finally:
        hook.remove()
