"""Beam search over many sources at a time; a source's translation does not depend on its neighbours."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from malaprop.features.translation.models.network import TranslationNetwork
from malaprop.features.translation.models.subwords import BOS, EOS, PAD, UNK


@torch.inference_mode()
def beam_search(
    model: TranslationNetwork,
    ids: Int[Tensor, "batch slot"],
    lengths: Int[Tensor, " batch"],
    *,
    width: int = 5,
    limit: int = 200,
) -> list[list[int]]:
    """The pieces of the best translation of each source, end mark left out.

    A row ends at twice its source and ten pieces more, or at the limit. What has ended competes with what goes on by
    the plain sum of log-probabilities; at the end the mean a piece decides.
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
