"""Training on noisy copies: what the hook puts in the place of a batch."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import toy

from malaprop.features.defending.lost_words import MaskedTraining, Masks
from malaprop.features.defending.safer import SwappedTraining
from malaprop.features.defending.smooth import NoisyTraining
from malaprop.models.tokens.vocab import UNK, Vocab
from malaprop.zoo.training import Batch, Rows

VOCAB = Vocab.build(["one two three four five six seven eight"])


@pytest.fixture
def job():
    return SimpleNamespace(rows=VOCAB.encode, parts=[Rows([], [], 0)])


def batch(texts):
    rows = VOCAB.encode([(text,) for text in texts])
    ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = torch.tensor(row)
    return Batch(ids, torch.tensor([len(r) for r in rows]), torch.arange(len(rows)) % 2, np.arange(len(rows)))


TEXTS = ["one two three four", "five six seven eight one two three four", "two"]


def noisy(job, seed):
    data = SimpleNamespace(train=toy.examples(TEXTS))
    torch.manual_seed(seed)
    return NoisyTraining(job=job, data=data, noise=Masks(keep=0.5))(batch(TEXTS))


def test_half_of_the_words_are_masked_and_labels_stay(job):
    before, after = batch(TEXTS), noisy(job, 0)
    assert after.lengths.tolist() == before.lengths.tolist()
    assert after.labels.tolist() == before.labels.tolist()
    assert (after.ids == UNK).sum(1).tolist() == [2, 4, 0]  # the text of one word keeps it
    kept = after.ids != UNK
    assert (after.ids[kept] == before.ids[kept]).all()


def test_each_step_draws_anew_and_the_same_step_the_same(job):
    assert (noisy(job, 0).ids == noisy(job, 0).ids).all()
    assert (noisy(job, 0).ids != noisy(job, 1).ids).any()


def test_epochs_are_judged_by_noisy_copies_of_other_texts(job):
    data = SimpleNamespace(train=[], held_out=toy.examples(TEXTS))
    rows = MaskedTraining(keep=0.5).hooks(job, data).held_out(Rows([], [1, 0, 1], 0))
    assert len(rows.tokens) == 5 * len(TEXTS)
    assert rows.labels == [1] * 5 + [0] * 5 + [1] * 5
    assert [sum(token == UNK for token in row) for row in rows.tokens[:10]] == [2] * 5 + [4] * 5
    assert len({tuple(row) for row in rows.tokens[5:10]}) > 1


def test_a_defence_says_what_it_did():
    assert "30%" in str(MaskedTraining())
    assert "cosine 0.8" in str(SwappedTraining())


def test_copies_with_synonyms(job, tiny_assets, monkeypatch):
    from malaprop.features.defending.safer import open_sets

    open_sets.cache_clear()
    data = SimpleNamespace(train=toy.examples(["good film"]))
    hooks = SwappedTraining(floor=0.5).hooks(job, data)
    seen = []
    monkeypatch.setattr(job, "rows", lambda texts: seen.extend(texts) or VOCAB.encode(texts))
    for seed in range(30):
        torch.manual_seed(seed)
        hooks.batch(batch(["one two"]))
    open_sets.cache_clear()
    first = {text[0].split()[0] for text in seen}
    assert "good" in first
    assert len(first) > 1
