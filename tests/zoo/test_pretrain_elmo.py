"""ELMo: three layers a word, no word without a spelling, nothing seen from the wrong side, padding without effect."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from malaprop.models.tokens.vocab import tokens
from malaprop.zoo.blocks.elmo import CHARS, CharCNN, Elmo, ScalarMix, spell
from malaprop.zoo.pretrain.elmo import _Types

FILTERS = ((1, 4), (3, 8))


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Elmo(dim=6, hidden=10, char_dim=4, filters=FILTERS, highways=1).eval()


def spelled(*texts: str) -> tuple[torch.Tensor, torch.Tensor]:
    rows = [text.split() for text in texts]
    width = max(map(len, rows))
    out = np.zeros((len(rows), width, CHARS), np.int64)
    for line, row in zip(out, rows, strict=True):
        line[: len(row)] = spell(row)
    return torch.from_numpy(out), torch.tensor([len(row) for row in rows])


def test_a_word_is_its_bytes_between_two_marks():
    [row] = spell(["aé"]).tolist()
    assert row[:5] == [257, ord("a") + 1, 0xC3 + 1, 0xA9 + 1, 258]
    assert set(row[5:]) == {0}


@given(st.lists(st.text(max_size=12), unique=True, max_size=8))
def test_different_short_words_are_spelled_differently(words):
    assert len({row.tobytes() for row in spell(words)}) == len(words)


def test_a_long_word_keeps_its_end_mark():
    [row] = spell(["x" * 300]).tolist()
    assert len(row) == CHARS
    assert row[0] == 257
    assert row[-1] == 258


def test_three_layers_of_both_directions(elmo):
    layers = elmo(*spelled("a good film", "bad"))
    assert layers.shape == (3, 2, 3, 12)
    assert torch.equal(layers[0, ..., :6], layers[0, ..., 6:])
    assert not layers[:, 1, 1:].any()


def test_neighbours_and_padding_never_matter(elmo):
    texts = ["a good film", "bad", "one two three four five six seven", "an uncharacteristically long word"]
    together = elmo(*spelled(*texts))
    for at, text in enumerate(texts):
        alone = elmo(*spelled(text))[:, 0]
        assert torch.allclose(together[:, at, : alone.shape[1]], alone, atol=1e-5)


def test_the_width_of_a_spelling_never_matters(elmo):
    chars = torch.from_numpy(spell(["film", "a"])).long()
    assert torch.allclose(elmo.embed(chars), elmo.embed(chars[:, :6]), atol=1e-6)


def test_rows_behind_the_end_may_hold_anything(elmo):
    chars, lengths = spelled("a good film", "bad")
    vectors = elmo.embed(chars.flatten(0, 1)).view(2, 3, -1).detach()
    other = vectors.clone()
    other[1, 1:] = 100.0
    assert torch.allclose(elmo.layers(vectors, lengths), elmo.layers(other, lengths), atol=1e-5)


def test_a_direction_sees_its_own_side_alone(elmo):
    one, two = elmo(*spelled("a good old film")), elmo(*spelled("a good bad film"))
    ahead, back = slice(0, 6), slice(6, 12)
    for layer in (1, 2):
        assert torch.allclose(one[layer, 0, :2, ahead], two[layer, 0, :2, ahead], atol=1e-6)
        assert not torch.allclose(one[layer, 0, 3, ahead], two[layer, 0, 3, ahead], atol=1e-4)
        assert torch.allclose(one[layer, 0, 3, back], two[layer, 0, 3, back], atol=1e-6)
        assert not torch.allclose(one[layer, 0, 1, back], two[layer, 0, 1, back], atol=1e-4)


def test_a_text_without_a_word_is_all_zeros(elmo):
    assert not elmo(torch.zeros(1, 2, CHARS, dtype=torch.long), torch.tensor([0])).any()
    assert elmo(torch.zeros(1, 0, CHARS, dtype=torch.long), torch.tensor([0])).shape == (3, 1, 0, 12)


def test_gradients_reach_the_words_in_evaluation_mode(elmo):
    chars, lengths = spelled("a good film")
    vectors = elmo.embed(chars[0])[None].detach().requires_grad_()
    elmo.layers(vectors, lengths)[2, 0, 1].sum().backward()
    assert (vectors.grad.abs().sum(-1) > 0).all()
    assert all(lstm.training for lstm in (*elmo.ahead, *elmo.back))
    assert not elmo.chars.training


def test_a_character_filter_by_hand():
    cnn = CharCNN(dim=1, char_dim=1, filters=((2, 1),), highways=0)
    with torch.no_grad():
        cnn.embedding.weight.copy_(torch.arange(260.0)[:, None])
        cnn.convolutions[0].weight.fill_(1.0)
        cnn.convolutions[0].bias.zero_()
        cnn.projection.weight.fill_(1.0)
        cnn.projection.bias.zero_()
    cnn.norm = torch.nn.Identity()
    # begin, a, end: the greatest sum of two neighbours is a + end
    assert cnn(torch.from_numpy(spell(["a"])).long()).item() == (ord("a") + 1) + 258


def test_no_window_lies_behind_the_word():
    cnn = CharCNN(dim=1, char_dim=1, filters=((1, 1),), highways=0)
    with torch.no_grad():
        cnn.embedding.weight.copy_(torch.arange(260.0)[:, None])
        cnn.convolutions[0].weight.fill_(-1.0)
        cnn.convolutions[0].bias.fill_(600.0)
        cnn.projection.weight.fill_(1.0)
        cnn.projection.bias.zero_()
    cnn.norm = torch.nn.Identity()
    # a window of padding would give 600, the most of all
    assert cnn(torch.from_numpy(spell(["a"])).long()).item() == 600 - (ord("a") + 1)


def test_scalar_mix_by_hand():
    mix = ScalarMix(2)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, np.log(3.0)]))
        mix.gamma.fill_(2.0)
    layers = torch.tensor([[[[4.0]]], [[[8.0]]]])
    assert mix(layers).item() == pytest.approx(2 * (4 / 4 + 3 * 8 / 4))


@given(st.lists(st.text(max_size=20), max_size=4))
def test_a_stream_holds_the_tokens_of_the_zoo(texts):
    lines = [" ".join(text.split()) for text in texts]
    types = _Types()
    stream = types.stream(lines).tolist()
    assert [types.words[i] for i in stream] == ["", *(word for line in lines for word in (*tokens(line), ""))]
