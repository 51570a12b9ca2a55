"""Mixtures: the loss of a text whose words are each a mixture of several, and its slope by their shares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from malaprop.core.gradient import MixLook, MixSeen
from malaprop.core.score import Flags
from malaprop.core.text import Ints
from malaprop.models.gradients.backward import differentiable, log_odds
from malaprop.models.gradients.layout import Laid

if TYPE_CHECKING:
    from malaprop.models.gradients.tokens import TokenGradients


def mix(gradients: TokenGradients, look: MixLook) -> MixSeen:
    """One forward and one backward pass over all samples of a look."""
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


def _fitting(gradients: TokenGradients, look: MixLook, laid: Laid, place: int) -> tuple[Ints, Ints]:
    """The words of a slot that have as many tokens as its own word, and their tokens [word, token]."""
    slot, words, size = look.slots[place], look.words[place], int(laid.size[look.slots[place]])
    found = gradients.layout.tokens(look.text, np.full(len(words), slot), words)
    rows = [i for i, tokens in enumerate(found) if len(tokens) == size > 0]
    return np.asarray(rows, np.int64), np.stack([found[i] for i in rows]) if rows else np.empty((0, 0), np.int64)


def _bar(many: int, rows: Ints) -> Flags:
    barred = np.ones(many, np.bool_)
    barred[rows] = False
    return barred


def _mixtures(
    gradients: TokenGradients, laid: Laid, look: MixLook, shares: Tensor, fits: list[tuple[Ints, Ints]]
) -> tuple[Ints, Tensor | None]:
    """The places among the tokens that are mixed, and what stands there: [sample, place, dim]."""
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
    """The embedding gives these vectors at these places inside."""

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
