"""A small world of sentences, a sentence model of it, and a victim of one line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import torch

from malaprop.core.score import Floats
from malaprop.models.tokens.vocab import Vocab
from malaprop.papers.natural.models.sentencemodel import SentenceModel
from malaprop.papers.natural.models.sentencenet import SentenceNet, SentenceShape
from malaprop.papers.natural.models.sentences import Codec
from malaprop.training.card import Card

WHO, DOES, WHAT = ("cat", "dog", "bird", "man"), ("sees", "likes", "eats"), ("fish", "tree", "house", "bread")
SENTENCES = tuple(f"the {a} {b} the {c}." for a, b, c in product(WHO, DOES, WHAT))
SMALL = {"filters": [16, 16, 16], "code": 32, "latent": 8, "hidden": 32, "dim": 16, "batch": 16, "least": 1}


def write_texts(folder: Path) -> Path:
    path = folder / "small.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path


class Lookup:
    """A sentence model that is exact: the first three numbers of a point say which words it writes."""

    dim = 4
    fingerprint = "lookup"

    def __init__(self) -> None:
        self.codec = Codec(Vocab.build(SENTENCES))
        self.sentences = SENTENCES

    def invert(self, items: Sequence[str]) -> Floats:
        rows = [item.rstrip(".").split() for item in items]
        found = [[WHO.index(r[1]), DOES.index(r[2]), WHAT.index(r[4]), 0] for r in rows]
        return np.asarray(found, np.float32)

    def refine(self, items: Sequence[str], z: Floats, *, steps: int) -> Floats:
        del items, steps
        return z

    def generate(self, z: Floats) -> list[str]:
        at = [np.clip(np.rint(z[:, i]).astype(int), 0, len(words) - 1) for i, words in enumerate((WHO, DOES, WHAT))]
        return [f"the {WHO[a]} {DOES[b]} the {WHAT[c]}." for a, b, c in zip(*at, strict=True)]


def blank_model() -> SentenceModel:
    """Fresh weights, small."""
    torch.manual_seed(0)
    shape = SentenceShape(filters=(8, 8, 8), code=16, latent=4, hidden=16, dim=8)
    codec = Codec(Vocab.build(SENTENCES))
    card = Card(role="sentence model", kind="arae", data="small", data_fingerprint="", seed=0, figures={})
    return SentenceModel(SentenceNet(len(codec.vocab), shape), codec, card)
