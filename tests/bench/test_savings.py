import pytest
import torch
from malaprop_bench import savings
from malaprop_bench.arithmetic import count
from torch import nn
from torch.nn import functional

from malaprop.core.example import Example
from malaprop.models.padded_rows import recur
from malaprop.training.splits import Splits

X = torch.ones(3, 7, 10)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: nn.Linear(10, 4)(X), 3 * 7 * 10 * 4),
        (lambda: nn.Conv1d(10, 4, 3)(X.transpose(1, 2)), 3 * 5 * 3 * 10 * 4),
        (lambda: torch.zeros(2, 3).addmm_(torch.ones(2, 4), torch.ones(4, 3)), 2 * 4 * 3),  # in place counts as well
        (lambda: functional.embedding_bag(torch.tensor([[1, 2], [3, 4]]), torch.ones(9, 5), mode="sum"), 4 * 5),
        (lambda: functional.scaled_dot_product_attention(*[torch.ones(2, 3, 7, 8)] * 3), 2 * 2 * 3 * 7 * 7 * 8),
        (lambda: X + X, 210),
        (lambda: X[0], 0),
    ],
)
def test_arithmetic_is_counted_as_by_hand(work, expected):
    with torch.inference_mode():
        assert count(work) == expected


def test_an_lstm_is_counted_by_its_products():
    lstm = nn.LSTM(10, 20, batch_first=True)
    with torch.inference_mode():
        found = count(lambda: recur(lstm, X, torch.tensor([7, 5, 3])))
    products = 15 * 4 * 20 * (10 + 20)
    assert products <= found < 1.1 * products  # and a few sums


@pytest.fixture
def data(monkeypatch):
    rows = [
        Example(str(i), {"text": f"a good warm film with a fine cast and {i} dull jokes"}, i % 2) for i in range(20)
    ]
    made = Splits("toy", rows, rows, rows, ("bad", "good"), "f", True)
    monkeypatch.setattr("malaprop.training.splits.splits", lambda read, spec: made)


def test_incremental_scorers_save_and_agree(data):
    models = {"CNN": "CNN-W-Random-1", "LSTM": "LSTM-W-Random-1", "deep": "CNN-W-Random-2"}
    held = savings.measure(rounds=savings.Rounds(texts=4, slots=5, words=4), models=models)
    assert [row["model"] for row in held["rows"]] == ["CNN", "LSTM"]  # the deep one has no scorer of its own
    for row in held["rows"]:
        assert row["variants"] == 4 * 5 * 4
        assert row["difference"] < 1e-5
        assert row["incremental"]["multiply_adds"] < 0.6 * row["plain"]["multiply_adds"]
    (line, _) = savings.rows(held)
    assert len(line) == len(savings.HEAD)
    assert line[1] == "CnnEdits"
