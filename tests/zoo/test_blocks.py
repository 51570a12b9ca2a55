"""The zoo's networks: a text's score is its own, whatever stands beside it in the batch."""

import pytest
import torch

from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM

MAKERS = {
    "cnn": lambda: WordCNN(20, 3, dim=6, filters=5),
    "cnn, 3 deep": lambda: WordCNN(20, 3, dim=6, filters=5, depth=3),
    "lstm": lambda: WordLSTM(20, 3, dim=6, hidden=5),
    "bilstm, 2 deep": lambda: WordLSTM(20, 3, dim=6, hidden=5, depth=2, both=True),
}


@pytest.fixture(params=MAKERS)
def model(request):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return MAKERS[request.param]().eval()


@torch.inference_mode()
def test_neighbours_do_not_change_a_score(model):
    texts = [[5], [], [3, 4, 7, 8, 9, 10, 11, 12], [6, 7], [1, 1, 1, 2, 5]]
    width = 10
    ids = torch.tensor([t + [0] * (width - len(t)) for t in texts])
    together = model(ids, torch.tensor([len(t) for t in texts]))
    for text, row in zip(texts, together, strict=True):
        alone = model(torch.tensor([text], dtype=torch.int64).reshape(1, -1), torch.tensor([len(text)]))
        assert torch.allclose(alone[0], row, atol=1e-6)


@torch.inference_mode()
def test_what_lies_beyond_the_length_is_not_read(model):
    lengths = torch.tensor([6])
    one, other = torch.tensor([[3, 4, 5, 6, 7, 8, 0, 0]]), torch.tensor([[3, 4, 5, 6, 7, 8, 9, 9]])
    assert torch.allclose(model(one, lengths), model(other, lengths), atol=1e-6)
    assert not torch.allclose(model(one, lengths), model(one, lengths - 5), atol=1e-6)


@torch.inference_mode()
def test_an_empty_text_is_one_unknown_word_for_the_lstm():
    model = MAKERS["lstm"]().eval()
    empty = model(torch.zeros(1, 0, dtype=torch.int64), torch.tensor([0]))
    assert torch.allclose(empty, model(torch.tensor([[1]]), torch.tensor([1])), atol=1e-6)


@torch.inference_mode()
def test_the_cnn_by_hand():
    """One filter that adds up three one-dimensional words: the strongest window of 1 2 3 1 is 6."""
    model = WordCNN(4, 1, dim=1, filters=1, widths=(3,)).eval()
    model.embedding.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [3.0]]))
    for layer in (model.convs[0], model.head):
        torch.nn.init.ones_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    assert model(torch.tensor([[1, 2, 3, 1]]), torch.tensor([4])).item() == 6
    assert model(torch.tensor([[1, 2, 3, 3]]), torch.tensor([2])).item() == 3  # 1 2 and one padding word
