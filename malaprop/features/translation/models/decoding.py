"""Translates with our own networks: their interface, batches by tokens, beam search, and attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.features.translation.models.subwords import BOS, EOS, PAD, UNK, SubWords


class SourceMemory(NamedTuple):
    """The encoder's states of a batch of sources; `inside` is true where there is a piece and no padding."""

    states: Float[Tensor, "batch slot dim"]
    inside: Bool[Tensor, "batch slot"]

    def repeated(self, times: int) -> SourceMemory:
        """Return each source `times` times, one after the other."""
        return SourceMemory(self.states.repeat_interleave(times, 0), self.inside.repeat_interleave(times, 0))

    def picked(self, rows: Int[Tensor, " row"]) -> SourceMemory:
        return SourceMemory(self.states[rows], self.inside[rows])


class TranslationNetwork(Protocol):
    """An encoder and a decoder; padding after a row's length does not change its result."""

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory:
        """Return the encoder's states; `lengths` lie on the CPU, and a piece's vector is zero where `blank` is true."""

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]:
        """Return the logits of each next piece, given the pieces before it."""

    def start(self, memory: SourceMemory) -> Any:
        """Return the decoder's state before the first piece."""

    def step(self, state: Any, last: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocab"], Any]: ...

    def reorder(self, state: Any, rows: Int[Tensor, " batch"]) -> Any:
        """Return the state of these rows; a row may only replace another row of the same source."""


BATCH = {"cpu": 4096, "cuda": 65_536}  # pieces of sources decoded together, beams included


def translate(
    model: nn.Module, subwords: SubWords, sources: Sequence[str], *, width: int = 5, batch: int | None = None
) -> list[str]:
    """Translate each source by beam search; a source longer than the model's limit is cut."""
    device, limit = device_of(model), limit_of(model)
    rows = [cut_pieces(subwords.ids(source), limit) for source in sources]
    out: list[list[int]] = [[] for _ in rows]
    for part in batches([len(row) for row in rows], (batch or BATCH.get(device.type, 4096)) // width):
        ids, lengths = side_by_side([rows[i] for i in part])
        found = beam_search(model, ids.to(device), lengths, width=width, limit=limit)  # type: ignore[arg-type]
        for i, row in zip(part, found, strict=True):
            out[i] = row
    return subwords.text(out)


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def limit_of(model: nn.Module) -> int:
    return int(model.shape.limit)  # type: ignore[union-attr, arg-type]


def cut_pieces(ids: list[int], limit: int) -> list[int]:
    """Cut a source to at most `limit` pieces and keep its end mark."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def batches(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the numbers of rows of similar length that fit in `most` pieces with padding, or a long one alone."""
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    part: list[int] = []
    for i in order:
        if part and sizes[i] * (len(part) + 1) > most:
            yield part
            part = []
        part.append(i)
    if part:
        yield part


def side_by_side(rows: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, " batch"]]:
    """Return the rows padded to the longest, and their lengths."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = np.full((len(rows), int(lengths.max())), PAD)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64, lengths.sum())
    return torch.from_numpy(ids), torch.from_numpy(lengths)


@torch.inference_mode()
def beam_search(
    model: TranslationNetwork,
    ids: Int[Tensor, "batch slot"],
    lengths: Int[Tensor, " batch"],
    *,
    width: int = 5,
    limit: int = 200,
) -> list[list[int]]:
    """Return the pieces of each source's best translation, without the end mark; sources do not affect each other.

    A translation has at most twice its source's pieces and ten more, or `limit`. Finished and unfinished beams compete
    by the sum of log-probabilities; at the end the mean over pieces decides.
    """
    batch, device = len(ids), ids.device
    most = (2 * lengths + 10).clamp(max=limit).to(device)[:, None]
    state = model.start(model.encode(ids, lengths).repeated(width))
    last = torch.full((batch * width,), BOS, device=device)
    sums = torch.full((batch, width), -torch.inf, device=device)
    sums[:, 0] = 0.0  # all beams begin alike: only one may branch
    tokens = torch.empty(batch, width, 0, dtype=torch.int64, device=device)
    ended = torch.zeros(batch, width, dtype=torch.bool, device=device)
    offset = torch.arange(batch, device=device)[:, None] * width
    for step in range(1, int(most.max()) + 1):
        logits, state = model.step(state, last)
        gains = logits.float().log_softmax(-1).view(batch, width, -1)
        gains[..., [PAD, BOS, UNK]] = -torch.inf
        forced = (step >= most) & ~ended
        gains = gains.masked_fill(forced[..., None] & (torch.arange(gains.shape[-1], device=device) != EOS), -torch.inf)
        gains = gains.masked_fill(ended[..., None], -torch.inf)
        gains[..., PAD].masked_fill_(ended, 0.0)
        sums, place = (sums[..., None] + gains).flatten(1).topk(width)
        origin, token = place // gains.shape[-1], place % gains.shape[-1]
        tokens = torch.cat([tokens.gather(1, origin[..., None].expand_as(tokens)), token[..., None]], -1)
        ended = ended.gather(1, origin) | (token == EOS)
        if bool(ended.all()):
            break
        state = model.reorder(state, (offset + origin).flatten())
        last = token.flatten()
    winner = (sums / (tokens != PAD).sum(-1)).argmax(1)
    rows = tokens[torch.arange(batch, device=device), winner].tolist()
    return [[i for i in row if i not in (PAD, EOS)] for row in rows]


class Look(NamedTuple):
    """Attention of a translation: a row an output word, a column a source word, without the source's end mark."""

    source: tuple[str, ...]
    output: tuple[str, ...]
    weights: NDArray[np.float32]


@torch.inference_mode()
def look(model: nn.Module, subwords: SubWords, source: str, output: str) -> Look:
    """Return the attention by words: summed over the sub-words of a source word, averaged over an output word's."""
    device, limit = device_of(model), limit_of(model)
    ids = cut_pieces(subwords.ids(source), limit)
    before = [BOS, *subwords.ids(output)[:-2]][:limit]
    memory = model.encode(torch.tensor([ids], device=device), torch.tensor([len(ids)]))  # type: ignore[operator]
    found = model.attention(memory, torch.tensor([before], device=device))[0].float().cpu().numpy()  # type: ignore[operator]
    rows, columns = (_ends(subwords.counts(text), most) for text, most in ((output, len(before)), (source, len(ids))))
    summed = np.stack([found[:, a:b].sum(1) for a, b in columns], 1) if columns else found[:, :0]
    mean = [summed[a:b].mean(0) for a, b in rows]
    return Look(
        tuple(source.split()[: len(columns)]),
        tuple(output.split()[: len(rows)]),
        np.stack(mean) if mean else np.zeros((0, len(columns)), np.float32),
    )


def _ends(counts: list[int], most: int) -> list[tuple[int, int]]:
    """Return the first and last piece of each word, as far as the network read them."""
    cuts = pairwise([0, *accumulate(counts)])
    return [(a, min(b, most)) for a, b in cuts if a < min(b, most)]
