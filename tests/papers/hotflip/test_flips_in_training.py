"""HotFlip and Key* in training: what is changed, how much of it, and what the weights are told."""

import pytest
import torch
from char_batches import LABELS, batch, network
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.seeds import generator
from malaprop.features.hardening.character_batches import char_gradients, counts, reads_characters, spelling, usable_in
from malaprop.features.hardening.key_star import KeyStar, draw_signs, mistype
from malaprop.models.tokens.vocab import BETWEEN, OTHER
from malaprop.papers.hotflip.training import HotFlipTraining, best_flips, loss_with_flips
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.gradients.characters import plain_words, score_respelled
from malaprop.zoo.training import Hooks, Rows, Training, evaluate, fit


def letters(signs):
    return (signs > BETWEEN) | (signs == OTHER)


@pytest.mark.parametrize("highways", [0, 2])
def test_the_way_back_to_characters_is_that_of_autograd(highways):
    model = network(highways=highways).eval()
    words, given = model.embedding, batch(model)
    spelled = spelling(words, given.ids)
    embedded = words.embedding(spelled.everywhere)
    vectors = words.compose(embedded, spelled.everywhere)
    loss = functional.cross_entropy(model.from_vectors(vectors, given.ids, given.lengths), given.labels)
    expected, towards = torch.autograd.grad(loss, [embedded, vectors])
    found = char_gradients(words, spelled, towards)
    assert torch.allclose(found, expected, atol=1e-7)
    assert found.abs().max() > 1e-4


def test_the_best_flips_raise_the_loss_more_than_random_ones():
    model = network().eval()
    words, given = model.embedding, batch(model)
    usable, spelled = usable_in(words), spelling(words, given.ids)
    vectors = spelled.vectors(words)
    clean = functional.cross_entropy(model.from_vectors(vectors, given.ids, given.lengths), given.labels)
    (towards,) = torch.autograd.grad(clean, vectors)

    @torch.no_grad()
    def loss(signs):
        logits = score_respelled(model, signs, given.ids, given.lengths)
        return float(functional.cross_entropy(logits, given.labels))

    flipped = loss(best_flips(words, spelled, towards, 0.2, usable))
    with seeded(1):
        random = [loss(draw_signs(spelled.everywhere, 0.2, usable)) for _ in range(20)]
    assert flipped > max(random)
    assert flipped > float(clean.detach())


@pytest.mark.parametrize("r", [0.01, 0.2, 0.5, 1.0])
def test_as_many_characters_change_as_the_share_says(r):
    model = network().eval()
    words, given = model.embedding, batch(model)
    usable, spelled = usable_in(words), spelling(words, given.ids)
    before = spelled.everywhere
    open_ = plain_words(before, usable)
    allowed = counts(before, open_, r)
    for changed in (
        best_flips(words, spelled, torch.randn(*before.shape[:2], words.dim), r, usable),
        draw_signs(before, r, usable),
    ):
        differs = changed != before
        assert not (differs & ~letters(before)).any()
        assert usable[changed[differs]].all()
        assert (differs.flatten(1).sum(1) <= allowed).all()
    best = best_flips(words, spelled, torch.randn(*before.shape[:2], words.dim), r, usable)
    assert ((best != before).flatten(1).sum(1) == allowed).all()
    assert allowed[1] == max(1, int(3 * r))  # "bad" has three characters


@pytest.mark.parametrize("half", [False, True])
def test_both_halves_of_the_loss_reach_the_weights(half):
    """The clean half is walked back inside; what adds up must be the gradient of the mean of both."""
    model = network(blanks=0.0).train()
    words, given = model.embedding, batch(model)
    usable = usable_in(words)
    spelled = spelling(words, given.ids)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        vectors = spelled.vectors(words)
        clean = functional.cross_entropy(model.from_vectors(vectors, given.ids, given.lengths).float(), given.labels)
        (towards,) = torch.autograd.grad(clean, vectors, retain_graph=True)
        changed = best_flips(words, spelled, towards / 2, 0.2, usable)
        noisy = functional.cross_entropy(
            score_respelled(model, changed, given.ids, given.lengths).float(), given.labels
        )
    ((clean + noisy) / 2).backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        value = loss_with_flips(model, given, HotFlipTraining(r=0.2, once=False), usable)
    value.backward()
    assert float(value.detach()) == pytest.approx(float((clean + noisy).detach()) / 2, rel=1e-3 if half else 1e-6)
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, expected[name], atol=3e-3 if half else 1e-7), name
        assert parameter.grad.any(), name


@pytest.mark.parametrize("once", [True, False])
def test_it_learns_and_repeats_itself(once):
    def trained():
        model = network()
        given = batch(model)
        rows = Rows([ids[:n].tolist() for ids, n in zip(given.ids, given.lengths.tolist(), strict=True)], LABELS)
        usable = usable_in(model.embedding)
        hooks = Hooks(loss=lambda m, b: loss_with_flips(m, b, HotFlipTraining(once=once), usable))
        fit(model, rows, rows, Training(epochs=40, batch=4, rate=1e-2, patience=40), hooks=hooks)
        return model, evaluate(model, rows)[0]

    (one, right), (two, _) = trained(), trained()
    assert right == 1.0
    for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_a_word_is_flipped_once_at_most():
    model = network().eval()
    words, given = model.embedding, batch(model)
    usable, spelled = usable_in(words), spelling(words, given.ids)
    before = spelled.everywhere
    towards = torch.randn(*before.shape[:2], words.dim)
    changed = best_flips(words, spelled, towards, 1.0, usable, once=True)
    differs = (changed != before).sum(-1)
    assert (differs == plain_words(before, usable)).all()  # a share of all characters: each word that may, and once


@pytest.mark.parametrize("make", [WordCNN, WordLSTM])
def test_models_that_read_words_are_refused(make):
    with pytest.raises(CapabilityError, match="CharCNN-LSTM"):
        reads_characters(make(9, 2))


@pytest.mark.parametrize("r", [0, -0.1, 1.5])
@pytest.mark.parametrize("make", [HotFlipTraining, KeyStar])
def test_a_share_is_above_nothing_and_at_most_all(make, r):
    with pytest.raises(SettingError, match="--r"):
        make(r=r)


@given(st.text(max_size=40), st.floats(0.01, 1))
def test_mistyped_texts_keep_their_length_and_their_marks(text, r):
    (found,) = mistype((text,), r, generator(0, text))
    assert len(found) == len(text)
    assert [c for c in found if not c.isalnum()] == [c for c in text if not c.isalnum()]
    differs = sum(a != b for a, b in zip(found, text, strict=True))
    assert differs <= max(1, int(sum(c.isalnum() for c in text) * r))
