import numpy as np
import pytest
import torch
from malaprop_bench.floor import floor, in_threads

from malaprop.models.victims.tokens import TokenVictim


class Strings:
    """A victim of strings; keeps the batches it was asked."""

    def __init__(self):
        self.batches = []

    def predict(self, texts):
        self.batches.append([text for (text,) in texts])
        return np.full((len(texts), 2), 0.5, np.float32)


def test_each_distinct_text_is_passed_once_a_pass_sorted_by_length():
    victim = Strings()
    least = floor(victim, ["ccc", "a", "bb", "a"], sizes=(2,), repeats=1)
    assert victim.batches[-2:] == [["a", "bb"], ["ccc"]]
    assert (least.texts, least.measured, least.batch, least.tokens) == (3, 3, 2, False)
    assert least.seconds > 0
    assert least.processor_s > 0


def test_a_slow_victim_is_sampled_and_the_rest_follows():
    victim = Strings()
    texts = [f"{n:04d}" for n in range(1000)]
    least = floor(victim, texts, sizes=(64,), seconds=1e-9, repeats=1)
    assert (least.texts, least.measured) == (1000, 63)  # every sixteenth


def test_nothing_takes_nothing():
    assert floor(Strings(), []).seconds == 0


def cut(strings):
    return [[ord(c) % 7 + 1 for c in s if c.isalpha()] for s in strings]


@pytest.mark.parametrize("masks", [True, False])
def test_tokens_lie_ready_before_the_clock_starts(masks):
    seen = []

    def forward(ids, lengths):
        seen.append((tuple(ids.shape), lengths.tolist()))
        return torch.zeros(len(ids), 2)

    victim = TokenVictim(
        name="toy", cut=cut, forward=forward, labels=2, limit=5, head=(8,), tail=(9,), masks=masks, context_free=True
    )
    least = floor(victim, ["ab", "abc", "abcdefgh"], sizes=(8,), repeats=1)
    assert least.tokens
    last = seen[-1:] if masks else seen[-2:]  # a batch for each length
    lengths = sorted(n for _, part in last for n in part)
    assert lengths == [4, 5, 5]  # with both ends, cut at the limit
    if not masks:
        assert all(len(set(part)) == 1 for _, part in seen)


def test_threads_are_set_back():
    before = torch.get_num_threads()
    restore = in_threads(before + 1)
    assert torch.get_num_threads() == before + 1
    restore()
    assert torch.get_num_threads() == before
