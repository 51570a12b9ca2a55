"""Hidden states by word: means over a word's tokens, for hand-made states and for models of both kinds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_attentive import saved
from test_hf import bert, tokenizer

from malaprop.core.capability import Capability
from malaprop.core.text import Text, Words
from malaprop.frame.runs.load_victim import load, wrap
from malaprop.models.gradients.layout import ByParts
from malaprop.models.inside import WordStates
from malaprop.models.tokens.splice import Frame

LETTERS = "abcdefgh"


def letters(strings):
    """One token a letter; gaps have none."""
    return [[LETTERS.index(c) + 2 for c in string if c in LETTERS] for string in strings]


def counted(ids, lengths):
    """Two layers whose state of a token is its id, and ten times that."""
    rows = ids[..., None].float()
    return torch.zeros_like(rows), rows, 10 * rows


def test_a_word_is_the_mean_of_its_tokens_and_what_is_cut_is_nan():
    states = WordStates(layout=ByParts(cut=letters, frame=Frame(limit=5, head=(0,), tail=(1,))), read=counted, below=1)
    first, second = states.words(Text.of("ab c d", Words()))
    np.testing.assert_allclose(first, [[2.5], [4.0], [np.nan]])  # d is beyond the limit
    np.testing.assert_allclose(second, [[25.0], [40.0], [np.nan]])


@pytest.mark.parametrize(
    ("name", "layers", "first"), [("Transformer-3", 4, True), ("BiLSTM-Attention", 2, False), ("Pair-LSTM", 2, False)]
)
def test_models_of_the_zoo(tmp_path, name, layers, first):
    victim = load(saved(tmp_path / "m", name))
    assert Capability.STATES in victim.offers
    source = {"premise": "a dog runs", "hypothesis": "an animal moves"} if "Pair" in name else "a good film and a dog"
    text = Text.of(source, Words())
    found = victim.states.words(text)
    assert [layer.shape[0] for layer in found] == [text.slots] * layers
    assert (victim.states.first is not None) == first
    other = victim.states.words(text.put(1, "one"))
    moved = np.abs(other[0] - found[0]).max(1) > 0
    assert moved.tolist() == [slot == 1 for slot in range(text.slots)]  # below the first layer a word is for itself


def test_the_first_layer_makes_the_scores_that_attention_comes_from(tmp_path):
    """Softmax over the scores of the matrices is the attention that the network shows, head by head."""
    victim = load(saved(tmp_path / "m", "Transformer-3"))
    text = Text.of("a good film and a dog", Words())
    first, x = victim.states.first(), victim.states.words(text)[0].astype(np.float64)
    asks = np.einsum("id,hde->ihe", x, first.query) + first.offset
    scores = np.einsum("ihe,jhe->hij", asks, np.einsum("jd,hde->jhe", x, first.key))
    weights = np.exp(first.scale * scores)
    np.testing.assert_allclose(weights / weights.sum(-1, keepdims=True), victim.attention.words(text)[0], atol=1e-5)
    spectral = [np.linalg.svd(q)[1][0] * np.linalg.svd(k)[1][0] for q, k in zip(first.query, first.key, strict=True)]
    np.testing.assert_allclose(first.norms(), spectral)


@pytest.mark.filterwarnings("ignore")  # of the library's own
def test_transformers_show_their_states(tmp_path):
    model = bert()
    victim = wrap(model, tokenizer(tmp_path))
    text = Text.of("the good film.", Words())
    found = victim.states.words(text)
    with torch.inference_mode():
        ids = torch.tensor([[2, *victim.cut(["the good film."])[0], 3]])
        whole = model(input_ids=ids, output_hidden_states=True).hidden_states
    assert len(found) == len(whole) == 3
    for mine, theirs in zip(found, whole, strict=True):
        np.testing.assert_allclose(mine, theirs[0, 1:4].numpy(), atol=1e-6)
    first = victim.states.first()
    assert first.query.shape == first.key.shape
    np.testing.assert_allclose(
        np.concatenate(list(first.query), 1).T,
        model.bert.encoder.layer[0].attention.self.query.weight.detach().numpy(),
        atol=1e-6,
    )
