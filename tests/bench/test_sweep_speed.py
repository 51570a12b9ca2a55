"""The promise of the vocabulary sweep: at most 1.5 times what bare forward passes over the same texts take."""

from __future__ import annotations

from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from malaprop_bench import floor as floors
from malaprop_bench.recording import Recording

from malaprop.attacks.recipes.oneword import gs_gr
from malaprop.core.example import number_rows
from malaprop.frame.runs.local import run
from malaprop.models.tokens.vocab import UNKNOWN, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.training.seeds import seeded
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.victim import gradients_of, padding_of

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
WORDS = sorted({a + b + c for a in SYLLABLES for b in SYLLABLES for c in "nrst"})[:19_600]
TEXTS = 3


def victim(name: str) -> TokenVictim:
    """A network that never changes its mind, so that every word is tried."""
    vocab = Vocab.build([" ".join(WORDS)] * 2)
    with seeded(0):
        model = SPECIAL_MODELS[name].network(len(vocab), 2).eval().requires_grad_(False)
    with torch.no_grad():
        model.head.bias[1] = 50
    gradients = gradients_of(model, vocab, 512, "cpu")
    return TokenVictim(
        name=name, cut=vocab.cut, encode_whole=vocab.encode, forward=model, labels=2, limit=512, context_free=True,
        unknown=UNKNOWN, padding=padding_of(gradients, 2),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BiLSTM-Attention", "Transformer-3"])
def test_a_sweep_takes_little_more_than_its_forward_passes(name, monkeypatch):
    monkeypatch.setattr("malaprop.assets.vectors.open_vectors", lambda *_: SimpleNamespace(words=tuple(WORDS)))
    monkeypatch.setattr(floors, "perf_counter", process_time)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    rows = list(number_rows((({"text": " ".join(rng.choice(WORDS, 12))}, 1)) for _ in range(TEXTS)))
    seen = Recording(victim(name))
    try:
        began = process_time()
        outcomes = list(run(gs_gr(vocabulary=len(WORDS)), seen.victim, rows))
        took = process_time() - began
        alone = floors.floor(seen.inner, seen.texts(), sizes=(64, 256), seconds=3.0, repeats=2)
    finally:
        torch.set_num_threads(before)
    assert {o.status for o in outcomes} == {"failed"}
    assert sum(o.queries.forwarded for o in outcomes) > 0.99 * TEXTS * len(WORDS)
    assert took < 1.5 * alone.seconds, f"{took:.1f} s beside {alone.seconds:.1f} s"
