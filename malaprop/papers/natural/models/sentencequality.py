"""Measure a sentence model: reconstruction, fluency of samples, and coverage of the data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from malaprop.models.tokens.vocab import tokens
from malaprop.papers.natural.models.sentencemodel import NGrams
from malaprop.papers.natural.models.sentencenet import SentenceNet
from malaprop.papers.natural.models.sentences import PAD, Codec

_BATCH = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The figures of a sentence model on held-out sentences, the end of each counted as a word.

    `shown` is the share of words right when the words before are given; `written` when the writer goes on from its own
    words; `through_z` the same on the way that a search begins on, through the dense space. Perplexities are by an
    n-gram model of the training sentences: of sentences held out, of what comes back of them through the dense
    space, and of what random points give.
    """

    sentences: int
    words: int
    unknown_share: float
    shown: float
    written: float
    through_z: float
    whole: float  # share of sentences that come back word for word through z
    bleu: float
    bleu_through_z: float
    perplexity_real: float
    perplexity_back: float
    perplexity_samples: float
    distinct: float  # share of different sentences among samples
    distinct_pairs: float  # share of different word pairs among all of as many samples as sentences
    distinct_pairs_real: float
    coverage: float  # share of the words of sentences held out that samples use

    def figures(self) -> dict[str, float]:
        return {name: round(float(getattr(self, name)), 4) for name in self.__dataclass_fields__}


@torch.inference_mode()
def judge(
    net: SentenceNet, codec: Codec, held_out: Sequence[str], yardstick: NGrams, *, direct: bool = True, seed: int = 0
) -> Quality:
    """Measure the model on sentences that it never saw, and on as many samples, at least 200.

    A model that is not `direct`, as a VAE, never learnt to write from codes: for it all ways lead through z.
    """
    net.eval()
    device = net.bias.device
    rows = torch.from_numpy(codec.rows(held_out)).to(device)
    written, through, shown = _ways(net, rows, direct)
    inside = rows != PAD
    many = max(200, len(held_out))
    z = torch.randn(many, net.shape.latent, generator=torch.Generator().manual_seed(seed)).to(device)
    samples = codec.strings(torch.cat([net.write(net.out(part)) for part in torch.split(z, _BATCH)]).cpu())
    back = codec.strings(through.cpu())
    known = codec.strings(rows.cpu())  # unknown words count as one
    return Quality(
        sentences=len(held_out),
        words=int(inside.sum()),
        unknown_share=float((rows == 1).sum() / inside.sum()),
        shown=shown,
        written=_share((written == rows) & inside, inside),
        through_z=_share((through == rows) & inside, inside),
        whole=float((through == rows).all(1).float().mean()),
        bleu=bleu(codec.strings(written.cpu()), known),
        bleu_through_z=bleu(back, known),
        perplexity_real=yardstick.perplexity(held_out),
        perplexity_back=yardstick.perplexity(back),
        perplexity_samples=yardstick.perplexity(samples),
        distinct=len(set(samples)) / len(samples),
        distinct_pairs=_distinct_pairs(samples[: len(held_out)]),
        distinct_pairs_real=_distinct_pairs(held_out),
        coverage=_coverage(samples, held_out),
    )


def _ways(
    net: SentenceNet, rows: Int[Tensor, "batch slot"], direct: bool
) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, "batch slot"], float]:
    """Return the rows written from codes, those written from points, and the share right given the words before."""
    written, through, right = [], [], 0
    for part in torch.split(rows, _BATCH):
        code = net.encode(part)
        back = net.out(net.invert(code))
        code = code if direct else back
        written.append(net.write(code))
        through.append(net.write(back))
        right += int(((net.logits(code, part).argmax(-1) == part) & (part != PAD)).sum())
    return torch.cat(written), torch.cat(through), right / int((rows != PAD).sum())


def _share(hits: Tensor, of: Tensor) -> float:
    return float(hits.sum() / of.sum())


def _distinct_pairs(sentences: Sequence[str]) -> float:
    pairs = [pair for sentence in sentences for pair in pairwise(tokens(sentence))]
    return len(set(pairs)) / len(pairs) if pairs else 0.0


def _coverage(samples: Sequence[str], real: Sequence[str]) -> float:
    used = {word for sentence in samples for word in tokens(sentence)}
    wanted = [word for sentence in real for word in tokens(sentence)]
    return sum(word in used for word in wanted) / max(1, len(wanted))


def bleu(made: Sequence[str], real: Sequence[str]) -> float:
    """Compute corpus BLEU with four-word grams, from 0 to 100; one reference each, in our tokens, not smoothed."""
    hits, totals, ours, theirs = [0] * 4, [0] * 4, 0, 0
    for one, other in zip(made, real, strict=True):
        a, b = tokens(one), tokens(other)
        ours, theirs = ours + len(a), theirs + len(b)
        for size in range(1, 5):
            grams = [Counter(tuple(row[i : i + size]) for i in range(len(row) - size + 1)) for row in (a, b)]
            hits[size - 1] += sum((grams[0] & grams[1]).values())
            totals[size - 1] += sum(grams[0].values())
    if min(hits) == 0:
        return 0.0
    short = min(0.0, 1 - theirs / ours)
    return 100 * math.exp(short + sum(math.log(h / t) for h, t in zip(hits, totals, strict=True)) / 4)
