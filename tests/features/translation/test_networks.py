"""Networks: padding and neighbours change nothing, steps give what whole rows give, blanks are zero vectors."""

from __future__ import annotations

import pytest
import torch

from malaprop.core.errors import SettingError
from malaprop.features.translation.models import lstm, transformer
from malaprop.features.translation.models.checkpoint import network
from malaprop.features.translation.models.decoding import beam_search
from malaprop.features.translation.models.subwords import BOS, EOS, PAD

SHAPES = {
    "nmt-lstm": {"dim": 8, "units": 12, "limit": 20},
    "nmt-transformer": {"dim": 8, "heads": 2, "inner": 16, "layers": 2, "limit": 20},
}
IDS = torch.tensor([[5, 6, 7, 8, EOS], [9, 4, EOS, PAD, PAD]])
LENGTHS = torch.tensor([5, 3])
BEFORE = torch.tensor([[BOS, 4, 5, 6], [BOS, 9, 8, 7]])


@pytest.fixture(params=SHAPES)
def model(request):
    torch.manual_seed(3)
    made = network(request.param, 12, SHAPES[request.param]).eval()
    for parameter in made.parameters():
        parameter.data *= 3  # far from even, so that a beam has something to choose
    return made


@torch.no_grad()
def test_padding_changes_nothing(model):
    both = model.decode(model.encode(IDS, LENGTHS), BEFORE)
    alone = model.decode(model.encode(IDS[1:, :3], LENGTHS[1:]), BEFORE[1:])
    torch.testing.assert_close(both[1:], alone, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_steps_give_what_whole_rows_give(model):
    memory = model.encode(IDS, LENGTHS)
    whole = model.decode(memory, BEFORE)
    state = model.start(memory)
    for at in range(BEFORE.shape[1]):
        logits, state = model.step(state, BEFORE[:, at])
        torch.testing.assert_close(logits, whole[:, at], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_what_comes_later_changes_nothing_before(model):
    memory = model.encode(IDS, LENGTHS)
    other = BEFORE.clone()
    other[:, 3] = 10
    torch.testing.assert_close(model.decode(memory, BEFORE)[:, :3], model.decode(memory, other)[:, :3])


@torch.no_grad()
def test_attention_is_on_the_source_alone(model):
    both = model.attention(model.encode(IDS, LENGTHS), BEFORE)
    torch.testing.assert_close(both.sum(-1), torch.ones(2, 4))
    assert not both[1, :, 3:].any()
    alone = model.attention(model.encode(IDS[1:, :3], LENGTHS[1:]), BEFORE[1:])
    torch.testing.assert_close(both[1:, :, :3], alone, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_blank_hides_which_piece_stood_there(model):
    other = IDS.clone()
    other[0, 1] = 10
    blank = torch.zeros_like(IDS, dtype=torch.bool)
    blank[0, 1] = True
    torch.testing.assert_close(model.encode(IDS, LENGTHS, blank).states, model.encode(other, LENGTHS, blank).states)
    assert not torch.allclose(model.encode(IDS, LENGTHS).states, model.encode(IDS, LENGTHS, blank).states)


@pytest.mark.parametrize("width", [1, 3])
def test_neighbours_change_no_translation(model, width):
    both = beam_search(model, IDS, LENGTHS, width=width, limit=20)
    alone = [beam_search(model, IDS[i : i + 1, :n], LENGTHS[i : i + 1], width=width)[0] for i, n in ((0, 5), (1, 3))]
    assert both == alone


@torch.no_grad()
def test_a_wide_beam_finds_no_less_than_a_greedy_one(model):
    def mean(row):
        wanted = torch.tensor([[*row, EOS]])
        before = torch.cat([torch.tensor([[BOS]]), wanted[:, :-1]], 1)
        gains = model.decode(model.encode(IDS[:1], LENGTHS[:1]), before).log_softmax(-1)
        return float(gains.gather(2, wanted[..., None]).mean())

    greedy, wide = (beam_search(model, IDS[:1], LENGTHS[:1], width=w, limit=12)[0] for w in (1, 12))
    assert mean(wide) >= mean(greedy) - 1e-4


def test_rows_end_at_their_own_bound(model):
    found = beam_search(model, IDS, LENGTHS, width=2, limit=6)
    assert all(len(row) < 6 for row in found)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: transformer.TransformerShape(dim=10, heads=4),
        lambda: transformer.TransformerShape(layers=0),
        lambda: lstm.LstmShape(units=7),
        lambda: lstm.LstmShape(dropout=1.0),
        lambda: network("nmt-lstm", 10, {"layers": 2}),
    ],
)
def test_shapes_that_cannot_be(wrong):
    with pytest.raises(SettingError):
        wrong()
