"""Looks beside swaps of words: how steep the loss is at each slot, signs, mixtures, and the way to the border."""

from __future__ import annotations

import numpy as np
import pytest
import small_victims
import torch

from malaprop.core.capability import Capability
from malaprop.core.gradient import Aim, MixLook, SlotLook, WordLook
from malaprop.core.insight import Toward
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants

VICTIMS = {"lstm": small_victims.words, "bert": small_victims.bert}
TEXT = "the good film"


@pytest.fixture(params=VICTIMS)
def victim(request):
    return VICTIMS[request.param]()


def gradients(victim):
    return victim.parts[Capability.GRADIENTS]


def odds(victim, string, label):
    """log((1 - p) / p) of a label, from the victim's plain answer."""
    own = float(victim.predict([string])[0][label])
    return np.log((1 - own) / own)


def by_hand(victim, text):
    """Slopes of the log loss at the vectors of the tokens, and where each slot begins: one token a word but `great`."""
    found = gradients(victim)
    (laid,) = found.layout.lay([text])
    slopes, _ = found.slopes(torch.tensor(laid.row)[None], torch.tensor([len(laid.row)]), [Aim(label=1)])
    return laid, slopes[0].numpy()


def test_a_slot_weighs_what_the_mean_slope_over_its_tokens_comes_to(victim):
    text = Text.of("the great film", Words())
    laid, slopes = by_hand(victim, text)
    wanted = [
        np.abs(slopes[start : start + size].mean(0)).sum() for start, size in zip(laid.start, laid.size, strict=True)
    ]
    (seen,) = gradients(victim).slots([SlotLook(text=text, aim=Aim(label=1))])
    np.testing.assert_allclose(seen.weights, wanted, rtol=1e-4)
    assert seen.answer == pytest.approx(victim.predict([str(text)])[0], abs=1e-5)


def test_a_slot_that_is_cut_off_weighs_less_than_any():
    text = Text.of(" ".join(["good"] * 25), Words())
    (seen,) = gradients(small_victims.words(limit=20)).slots([SlotLook(text=text, aim=Aim(label=1))])
    assert (seen.weights[20:] == -1).all()
    assert (seen.weights[:20] >= 0).all()


def test_signs_count_the_numbers_that_point_the_other_way():
    victim = small_victims.words()
    table = Words()
    text = Text.of(TEXT, table)
    words = table.ids(["bad", "fine", "nice"])
    looks = [WordLook(variants=Variants.at(text, 1, words), aim=Aim(label=1), signs=signs) for signs in (True, False)]
    signed, plain = gradients(victim).words(looks)
    _, slopes = by_hand(victim, text)
    vectors = gradients(victim).embedding.weight.numpy()
    index = small_victims.VOCAB.index
    changes = [vectors[index[word]] - vectors[index["good"]] for word in ("bad", "fine", "nice")]
    np.testing.assert_allclose(signed.gains, [-np.abs(np.sign(c) - np.sign(slopes[1])).sum() for c in changes])
    np.testing.assert_allclose(plain.gains, [slopes[1] @ c for c in changes], atol=1e-4)


def mixed(victim, shares, words=("good", "bad", "fine"), string=TEXT):
    table = Words()
    text = Text.of(string, table)
    look = MixLook(
        text=text, aim=Aim(label=1), slots=np.asarray([1]), words=[table.ids(words)],
        shares=np.asarray(shares, np.float32),
    )  # fmt: skip
    (seen,) = gradients(victim).mixes([look])
    return seen


def test_a_mixture_of_one_word_is_that_word(victim):
    seen = mixed(victim, np.eye(3))
    wanted = [odds(victim, f"the {word} film", 1) for word in ("good", "bad", "fine")]
    np.testing.assert_allclose(seen.odds, wanted, atol=1e-3)
    assert not seen.barred.any()


def test_slopes_of_a_mixture_are_those_of_its_odds(victim):
    step, at = 1e-3, np.asarray([0.5, 0.3, 0.2])
    way = np.asarray([-1.0, 1.0, 0.0])  # shares go on summing to one
    seen = mixed(victim, [at - step * way, at, at + step * way])
    assert (seen.odds[2] - seen.odds[0]) / (2 * step) == pytest.approx(float(seen.slopes[1] @ way), abs=2e-2)


def test_a_mixture_may_move_away_from_two_labels(victim):
    text = Text.of(TEXT, table := Words())
    seen = [
        gradients(victim).mixes([MixLook(text=text, aim=aim, slots=np.asarray([1]), words=[table.ids(["good", "bad"])],
                                         shares=np.full((1, 2), 0.5, np.float32))])[0].odds
        for aim in (Aim(label=1), Aim(label=1, beside=0))
    ]  # fmt: skip
    assert np.isfinite(seen[0]).all()
    assert (seen[1] == -np.inf).all()  # of two labels nothing is left


def test_words_of_another_number_of_tokens_are_barred():
    seen = mixed(small_victims.bert(), [[0.5, 0.5], [1.0, 0.0]], words=("good", "great"))
    assert seen.barred.tolist() == [False, True]
    assert seen.odds[0] == pytest.approx(seen.odds[1], abs=1e-5)  # the share of what is barred goes to the others


def test_the_way_to_the_border_is_how_the_classifier_turns():
    victim = small_victims.bert()
    table = Words()
    text = Text.of(TEXT, table)
    variants = Variants.at(text, 1, table.ids(["bad", "awful", "good"]))
    (moves,) = victim.parts[Capability.EMBEDDINGS].toward([Toward(origin=text, variants=variants, label=1)])
    weight = victim.readout.weight.detach().numpy()
    size = np.linalg.norm(weight[0] - weight[1])
    wanted = [(odds(victim, f"the {w} film", 1) - odds(victim, TEXT, 1)) / size for w in ("bad", "awful", "good")]
    np.testing.assert_allclose(moves, wanted, atol=1e-4)
    assert victim.parts[Capability.EMBEDDINGS].toward([]) == []
