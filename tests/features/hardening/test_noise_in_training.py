"""Miyato's noise: as long as each word allows, where the loss rises, and nowhere beyond a text."""

import pytest
import torch
from char_batches import batch, network
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.features.hardening.perturbed import Miyato, PerturbedReading
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.lstm import WordLSTM


def word_model():
    with seeded(0):
        return WordLSTM(40, 2, dim=6, hidden=5, dropout=0)


@pytest.fixture(params=["characters", "words"])
def pair(request):
    model = network(blanks=0.0)
    given = batch(model)
    return (model, given) if request.param == "characters" else (word_model(), given)


def test_noise_is_as_long_as_a_share_of_each_words_norm(pair):
    model, given = pair
    reading = PerturbedReading(model, given)
    loss = functional.cross_entropy(reading.clean, given.labels)
    noise = reading.scale(reading.gradient(loss), 0.3)
    norms = noise.flatten(2).norm(dim=2)
    inside = torch.arange(norms.shape[1]) < given.lengths[:, None]
    assert torch.allclose(norms[inside], 0.3 * reading.base.flatten(2).norm(dim=2)[inside], rtol=1e-4)
    assert not norms[~inside].any()


def test_it_raises_the_loss_more_than_random_noise(pair):
    model, given = pair
    reading = PerturbedReading(model, given)
    clean = functional.cross_entropy(reading.clean, given.labels)
    worst = reading.scale(reading.gradient(clean), 0.2)

    def loss(noise):
        return float(functional.cross_entropy(reading.moved(noise), given.labels).detach())

    with seeded(0):
        random = [loss(reading.scale(torch.randn_like(reading.base), 0.2)) for _ in range(20)]
    assert loss(worst) > max(random)


def test_virtual_noise_needs_no_label(pair):
    model, given = pair
    how = Miyato(virtual=True)
    with seeded(0):
        one = how._virtual(PerturbedReading(model, given))
    with seeded(0):
        other = how._virtual(PerturbedReading(model, given._replace(labels=1 - given.labels)))
    assert float(one.detach()) == float(other.detach()) > 0


@pytest.mark.parametrize("virtual", [False, True])
def test_every_weight_hears_of_it(pair, virtual):
    model, given = pair
    Miyato(virtual=virtual).loss(model.train(), given).backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_a_table_that_stays_can_be_moved():
    model = word_model()
    model.embedding.weight.requires_grad_(False)
    Miyato().loss(model, batch(network())).backward()
    assert model.head.weight.grad.any()


def test_noise_is_above_nothing():
    with pytest.raises(SettingError, match="--noise"):
        Miyato(size=0)
