"""Slopes of real networks: what the gradient miner rests on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from malaprop.core.example import number_rows
from malaprop.models.gradients import below_mean, log_odds
from malaprop.models.gradients.layout import ByParts
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.vocab import UNK, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.papers.universal.rules.agree import agreement
from malaprop.papers.universal.rules.mine import Miner, mine
from malaprop.papers.universal.rules.swaps import ListedSwaps
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM

WORDS = ["good", "bad", "fine", "dull", "film", "plot", "one", "two", "red", "blue", "old", "new"]
VOCAB = Vocab.build([" ".join(WORDS)])


def victim(kind, labels: int, seed: int) -> TokenVictim:
    torch.manual_seed(seed)
    model = kind(len(VOCAB), labels, dim=6).eval().requires_grad_(False)
    layout = ByParts(cut=VOCAB.cut, frame=Frame(limit=30))
    gradients = TokenGradients(module=model, forward=model, embedding=model.embedding, layout=layout, unknown=UNK)
    return TokenVictim(
        name=f"{kind.__name__}-{seed}",
        cut=VOCAB.cut,
        encode_whole=VOCAB.encode,
        forward=model,
        labels=labels,
        limit=30,
        context_free=True,
        gradients=gradients,
    )


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_gradient_ranks_rules_as_the_exact_miner_does(labels):
    rng = np.random.default_rng(0)
    rows = [({"text": " ".join(rng.choice(WORDS, 8))}, int(rng.integers(labels))) for _ in range(30)]
    swaps = ListedSwaps(table={word: tuple(w for w in WORDS if w != word) for word in WORDS})
    victims = (victim(WordCNN, labels, 0), victim(WordLSTM, labels, 1))
    exact, slopes = (
        mine(Miner(victims=victims, method=method, swaps=swaps), number_rows(rows)) for method in ("exact", "gradient")
    )
    agreed = agreement(exact, slopes)
    assert agreed.rules == len(exact.sums.keys) > 200
    assert agreed.rank > 0.7
    assert not np.allclose(exact.sums.mean, slopes.sums.mean, atol=1e-6)  # to first order, no further


def test_with_two_labels_the_spread_is_the_log_odds():
    logits, labels = torch.randn(5, 2), torch.tensor([0, 1, 0, 1, 1])
    assert torch.allclose(below_mean(logits, labels), log_odds(logits, labels), atol=1e-6)


def test_with_three_labels_the_spread_does_not_mind_a_shift():
    logits, labels = torch.randn(5, 3), torch.tensor([0, 1, 2, 1, 0])
    shifted = logits + torch.randn(5, 1)
    assert torch.allclose(below_mean(logits, labels), below_mean(shifted, labels), atol=1e-5)
    rows = logits - logits.mean(1, keepdim=True)
    own = rows.gather(1, labels[:, None])[:, 0]
    assert torch.allclose(below_mean(logits, labels), rows.sum(1) - 2 * own, atol=1e-5)
