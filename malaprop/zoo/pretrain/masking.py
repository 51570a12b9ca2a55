"""Masked language modelling on packed rows: the choice of hidden tokens, the loss, figures on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from malaprop.zoo.pretrain.texts import Blocks, blocks

_HEADS = {"bert": "cls", "roberta": "lm_head", "albert": "predictions"}  # by transformers' model_type
_IGNORED = -100
MOST_JUDGED = 512  # rows held out


class Symbols(NamedTuple):
    """The special tokens a row is made with, and all tokens that are never hidden nor drawn."""

    begin: int
    end: int
    mask: int
    special: tuple[int, ...]


class Hidden(NamedTuple):
    """Rows with some tokens hidden, the places of those, and the tokens that stood there."""

    inputs: Int[Tensor, "batch token"]
    places: Int[Tensor, "batch hidden"]
    wanted: Int[Tensor, "batch hidden"]


def pack_texts(pieces: Sequence[Sequence[int]], symbols: Symbols, length: int, *, name: str) -> Blocks:
    """Join texts with an end between them, and cut rows that begin and end with special tokens."""
    stream = np.concatenate([np.asarray([*row, symbols.end], np.int32) for row in pieces])
    rows = blocks(stream, length - 2, name=name, least=4)
    edges = (np.full((len(rows), 1), symbol, np.int32) for symbol in (symbols.begin, symbols.end))
    begin, end = edges
    return np.concatenate([begin, rows, end], 1)


class Masking:
    """Hides the same number of tokens in every row, so that no shape depends on chance.

    Of the tokens chosen 80% become the mask, 10% another token and 10% stay (Devlin et al. 2019); what is chosen is
    drawn anew each time (dynamic masking, Liu et al. 2019).
    """

    def __init__(self, symbols: Symbols, vocab: int, share: float, device: torch.device) -> None:
        self.mask, self.share = symbols.mask, share
        self.special: Bool[Tensor, " vocab"] = torch.zeros(vocab, dtype=torch.bool)
        self.special[list(symbols.special)] = True
        self.ordinary: Int[Tensor, " ordinary"] = (~self.special).nonzero()[:, 0].to(device)
        self.special = self.special.to(device)

    def hide(self, ids: Int[Tensor, "batch token"], draw: torch.Generator | None = None) -> Hidden:
        count = max(1, round(self.share * (ids.shape[1] - 2)))
        chance = _rand(ids.shape, ids.device, draw).masked_fill(self.special[ids], -1.0)
        places = chance.topk(count, 1).indices
        there = ids.gather(1, places)
        dice = _rand(there.shape, ids.device, draw)
        other = self.ordinary[(_rand(there.shape, ids.device, draw) * len(self.ordinary)).long()]
        put = torch.where(dice < 0.8, self.mask, torch.where(dice < 0.9, other, there))
        return Hidden(ids.scatter(1, places, put), places, there.masked_fill(self.special[there], _IGNORED))


def _rand(shape: torch.Size, device: torch.device, draw: torch.Generator | None) -> Float[Tensor, ...]:
    return torch.rand(shape, device=device) if draw is None else torch.rand(shape, generator=draw).to(device)


def surprise(model: Any, body: Any, hidden: Hidden) -> Float[Tensor, ""]:
    """Return the mean negative log-likelihood of the hidden tokens; the head reads those places alone."""
    return functional.cross_entropy(_guesses(model, body, hidden), hidden.wanted.flatten(), ignore_index=_IGNORED)


def _guesses(model: Any, body: Any, hidden: Hidden) -> Float[Tensor, "guess vocab"]:
    states = body(input_ids=hidden.inputs).last_hidden_state
    chosen = states.gather(1, hidden.places[..., None].expand(-1, -1, states.shape[2]))
    logits: Tensor = getattr(model, _HEADS[model.config.model_type])(chosen.flatten(0, 1))
    return logits


@torch.no_grad()
def evaluate_masked(model: Any, rows: Blocks, masking: Masking, *, batch: int = 32) -> dict[str, float]:
    """Return masked perplexity and how often the hidden token is the first guess or among five; masks are fixed."""
    model.eval()
    device = next(model.parameters()).device
    draw = torch.Generator().manual_seed(0)
    loss = torch.zeros((), device=device, dtype=torch.float64)
    first, five, count = (torch.zeros((), device=device, dtype=torch.long) for _ in range(3))
    for begin in range(0, min(len(rows), MOST_JUDGED), batch):
        hidden = masking.hide(torch.from_numpy(rows[begin : begin + batch]).long().to(device), draw)
        wanted = hidden.wanted.flatten()
        logits = _guesses(model, model.base_model, hidden).float()
        loss += functional.cross_entropy(logits, wanted, ignore_index=_IGNORED, reduction="sum")
        best = logits.topk(5, 1).indices == wanted[:, None]
        first, five, count = first + best[:, 0].sum(), five + best.sum(), count + (wanted != _IGNORED).sum()
    seen = max(1, int(count))
    return {
        "masked_perplexity": round(math.exp(min(50.0, float(loss) / seen)), 2),
        "masked_accuracy_at_1": round(int(first) / seen, 4),
        "masked_accuracy_at_5": round(int(five) / seen, 4),
    }


def unigram(train: Blocks, held_out: Blocks, symbols: Symbols, vocab: int) -> float:
    """Return the perplexity of ordinary tokens by training frequency; one never seen counts as seen once."""
    counts: NDArray[np.int64] = np.bincount(train.ravel(), minlength=vocab)
    counts[list(symbols.special)] = 0
    kept = held_out[~np.isin(held_out, symbols.special)]
    return float(np.exp(np.mean(np.log(counts.sum() / np.maximum(1, counts[kept]))))) if kept.size else 1.0
