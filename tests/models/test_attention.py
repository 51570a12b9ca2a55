"""Attention between words: sums over a word's tokens, for hand-made weights and for networks that attend."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_hf import bert, tokenizer

from malaprop.core.capability import Capability
from malaprop.core.text import Text, Words
from malaprop.frame.runs.load_victim import wrap
from malaprop.models.gradients.layout import ByParts
from malaprop.models.inside import WordAttention
from malaprop.models.tokens.splice import Frame
from malaprop.zoo.blocks.lstm import bilstm_attention
from malaprop.zoo.blocks.selfattention import transformer

LETTERS = "abcdefgh"


def letters(strings):
    """One token a letter; gaps have none."""
    return [[LETTERS.index(c) + 2 for c in string if c in LETTERS] for string in strings]


def test_tokens_of_a_word_are_taken_together():
    """Tokens: head, a, b, c, tail. The words are `ab` and `c`."""
    given = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.0, 0.5, 0.3, 0.2, 0.0],
            [0.1, 0.1, 0.1, 0.7, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    seen = []

    def weigh(ids, lengths):
        seen.append((ids.tolist(), lengths.tolist()))
        return given[None, None, None]

    looks = WordAttention(layout=ByParts(cut=letters, frame=Frame(limit=9, head=(0,), tail=(1,))), weigh=weigh)
    found = looks.words(Text.of("ab c", Words()))
    assert seen == [([[0, 2, 3, 4, 1]], [5])]
    # ab to ab: the mean of 0.5 + 0.3 and 0.1 + 0.1; ab to c: the mean of 0.2 and 0.7
    np.testing.assert_allclose(found[0, 0], [[0.5, 0.45], [0.0, 1.0]], atol=1e-6)


def test_words_beyond_the_limit_get_nothing():
    looks = WordAttention(
        layout=ByParts(cut=letters, frame=Frame(limit=2)), weigh=lambda ids, _: torch.full((1, 1, 1, 1, 2), 0.5)
    )
    np.testing.assert_allclose(looks.words(Text.of("a b c", Words()))[0, 0], [[0.5, 0.5, 0.0]])


@pytest.mark.parametrize(("make", "queries"), [(transformer, 3), (bilstm_attention, 1)])
def test_networks_that_attend(make, queries):
    torch.manual_seed(0)
    model = make(12, 2, dim=12).eval()
    looks = WordAttention(layout=ByParts(cut=letters, frame=Frame(limit=9)), weigh=model.attention)
    found = looks.words(Text.of("a b c", Words()))
    assert found.shape[2:] == (queries, 3)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of the library's own
def test_transformers_show_their_attention(tmp_path):
    model = bert()
    victim = wrap(model, tokenizer(tmp_path))
    assert Capability.ATTENTION in victim.offers
    text = Text.of("the good film.", Words())
    before = victim.predict([("the good film.",)])
    found = victim.attention.words(text)
    assert found.shape == (2, 2, 3, 3)
    with torch.inference_mode():
        model.set_attn_implementation("eager")
        ids = torch.tensor([[2, *victim.cut(["the good film."])[0], 3]])
        whole = torch.stack(model(input_ids=ids, output_attentions=True).attentions)[:, 0].numpy()
    np.testing.assert_allclose(found, whole[:, :, 1:4, 1:4], atol=1e-6)
    np.testing.assert_allclose(victim.predict([("the good film.",)]), before, atol=1e-6)
