import numpy as np
import pytest
import small_victims
import torch
from malaprop_bench.metered import Meter, Plain
from malaprop_bench.slopes import token_slopes, word_slopes

from malaprop.core.errors import CapabilityError


def log_probability(victim, text, label):
    return float(np.log(victim.predict([(text,)])[0, label]))


def test_a_row_for_each_word_in_the_direction_of_the_loss():
    victim = small_victims.words()
    words, slopes = word_slopes(victim, "the good film, unheard", 1)
    assert words == ["the", "good", "film", "unheard"]
    table = victim.gradients.embedding.weight
    number = small_victims.VOCAB.index["good"]
    before = log_probability(victim, "the good film, unheard", 1)
    with torch.no_grad():
        table[number] += 1e-2 * torch.from_numpy(slopes[1])
    assert log_probability(victim, "the good film, unheard", 1) < before  # the loss rises along it


def test_tokens_and_words_agree_but_for_the_sign():
    victim = small_victims.words()
    tokens = ["the", "good", "film", ","]
    slopes = token_slopes(victim, tokens, 1)
    assert np.allclose(slopes[:3], -word_slopes(victim, "the good film ,", 1)[1], atol=1e-6)
    assert not token_slopes(small_victims.words(limit=2), tokens, 1)[2:].any()  # it reads two


def test_a_look_counts_as_one_text():
    plain = Plain.__new__(Plain)
    plain.model = small_victims.words()
    meter = Meter(plain)
    seen = meter.get_grad("the good film")
    assert seen["gradient"].shape[0] == len(meter.tokenize(["the good film"])[0])
    assert meter.sent == 1


def test_a_victim_without_gradients_is_said():
    with pytest.raises(CapabilityError, match="black box has no gradients"):
        word_slopes(type("Box", (), {"name": "black box"})(), "a", 0)
