"""Every way of training against attacks takes a step on a word model, a character model and transformers, and helps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import toy
from test_fact import a_batch, data, job
from torch.nn import functional

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.features.hardening.attacked import AttackTraining, ModelInTraining, train_a2t
from malaprop.features.hardening.informed import Dsrm, InfoBert
from malaprop.features.hardening.perturbed import Flooding, FreeLb, PerturbedReading, Smart
from malaprop.features.hardening.synonym_hull import Ascc, Dne, NearTokens
from malaprop.features.hardening.word_swaps import WordSwapTraining
from malaprop.frame.study.training_methods import DEFENCES, parse_defence
from malaprop.training.folder import TrainingFolder
from malaprop.training.seeds import seeded
from malaprop.zoo.training import Training, fit

SYNONYMS = {"good": ["great", "fine"], "bad": ["awful"], "film": ["movie"]}
LOSSES = ("freelb", "smart", "flooding", "infobert", "dsrm")


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def table(made) -> NearTokens:
    texts = [tuple(example.fields.values()) for example in data().train]
    return NearTokens.make(made, texts, lambda word: SYNONYMS.get(word, []), 2)


@pytest.mark.parametrize("name", ["LSTM-W-Random-1", "CNN-C-Random-1"])
@pytest.mark.parametrize("method", LOSSES)
def test_every_weight_hears_of_the_loss(name, method):
    made = job(name)
    loss = parse_defence(method).hooks(made, data()).loss
    with seeded(0):
        value = loss(made.model.train(), a_batch(made))
        value.backward()
    assert torch.isfinite(value)
    moved = [p.grad is not None and bool(p.grad.any()) for p in made.model.parameters()]
    assert sum(moved) >= len(moved) - 1  # the vector of padding may hear nothing


def test_steps_up_the_loss_end_higher_than_they_begin():
    made = job()
    batch = a_batch(made, range(20))
    reading = PerturbedReading.of(made.model, batch)
    clean = functional.cross_entropy(reading.clean, batch.labels)
    far = FreeLb(steps=6, rate=0.5, start=0.01).loss(made.model, batch)
    assert float(far.detach()) > float(clean.detach())


def test_flooding_turns_round_below_its_level():
    made = job()
    batch = a_batch(made)
    made.model.eval()
    plain = functional.cross_entropy(made.model(batch.ids, batch.lengths), batch.labels)
    assert torch.allclose(Flooding(level=1e-3).loss(made.model, batch), plain)
    gradients = [
        torch.autograd.grad(Flooding(level=level).loss(made.model, batch), made.model.head.weight)[0]
        for level in (1e-3, 100.0)
    ]
    assert torch.allclose(gradients[0], -gradients[1])


def test_a_text_that_the_others_speak_against_weighs_more():
    logits = torch.tensor([[2.0, -2.0], [2.0, -2.0], [2.0, -2.0], [2.0, -2.0]])
    labels = torch.tensor([0, 0, 0, 1])  # the last one pulls the other way
    weights = Dsrm().weigh(logits, torch.ones(4, 3), labels)
    assert weights.argmax() == 3
    assert torch.isclose(weights.mean(), torch.ones(()))


def test_tokens_of_synonyms_are_found_as_the_model_reads_them():
    made = job()
    near = table(made)
    words = made.vocab.words
    rows = {
        words[i]: {words[t] for t, r in zip(near.table[i], near.real[i], strict=True) if r}
        for i in range(len(near.table))
    }
    assert rows["film"] == {"film", "movie"}
    assert rows["the"] == {"the"}
    assert rows["good"] == {"good", "fine"}  # great is no word of the training texts, and so unknown
    with pytest.raises(CapabilityError, match="freelb or a2t"):
        NearTokens.make(made, [("the film",)], lambda _: [], 2)


def test_a_mixture_of_one_word_is_the_word():
    made = job()
    near, batch = table(made), a_batch(made)
    _, real = near.of(batch.ids)
    alone = torch.zeros(real.shape)
    alone[..., 0] = 1
    assert torch.allclose(near.mix(made.model.embedding, batch.ids, alone), made.model.embedding(batch.ids))
    with seeded(0):
        mixed = Dne().mix(made.model.embedding(batch.ids), batch, made.model, near)
    same = torch.isclose(mixed, made.model.embedding(batch.ids), atol=1e-6).all(-1)
    several = real.sum(-1) > 1
    assert several.any()
    assert same[~several].all()
    assert not same[several].any()


def test_the_worst_mixture_is_worse_than_an_even_one():
    made = job()
    near, batch = table(made), a_batch(made, range(12))
    with torch.no_grad():
        made.model.embedding.weight.mul_(3)
    made.model.eval()
    _, real = near.of(batch.ids)
    losses = []
    for weights in (real / real.sum(-1, keepdim=True), Ascc().find_worst(made.model, batch, near)):
        moved = made.model.from_vectors(near.mix(made.model.embedding, batch.ids, weights), batch.ids, batch.lengths)
        losses.append(float(functional.cross_entropy(moved, batch.labels).detach()))
        assert torch.allclose(weights.sum(-1), torch.ones(()))
        assert not weights[~real].any()
    assert losses[1] > losses[0]
    value = Ascc().loss(made.model.train(), batch, near)
    value.backward()
    assert made.model.head.weight.grad.any()


@pytest.mark.parametrize("name", ["LSTM-W-Random-1", "CNN-C-Random-1"])
def test_swapped_words_raise_the_loss(name, monkeypatch):
    monkeypatch.setattr("malaprop.features.hardening.word_swaps.find_swaps", lambda word, _: SYNONYMS.get(word, []))
    made = job(name)
    batch = a_batch(made, range(20))
    hook = WordSwapTraining(share=1.0, steps=2).hooks(made, data()).batch
    with seeded(1):
        found = hook(batch)
    with seeded(1):
        again = hook(batch)
    assert torch.equal(found.ids, again.ids)
    monkeypatch.setattr("malaprop.features.hardening.word_swaps._MOST", 0)  # nothing is kept from one batch to the next
    forgetful = WordSwapTraining(share=1.0, steps=2).hooks(made, data()).batch
    for _ in range(2):
        with seeded(1):
            assert torch.equal(found.ids, forgetful(batch).ids)
    monkeypatch.setattr(
        "malaprop.features.hardening.word_swaps.find_swaps", None
    )  # what was found once is not asked for again
    with seeded(1):
        assert torch.equal(found.ids, hook(batch).ids)
    assert torch.equal(found.ids[:20, : batch.ids.shape[1]], batch.ids)
    behind = slice(20, None)
    assert len(found.rows[behind])
    for row, label in zip(found.rows[behind].tolist(), found.labels[behind].tolist(), strict=True):
        assert data().train[row].label == label
    made.model.eval()
    losses = functional.cross_entropy(made.model(found.ids, found.lengths), found.labels, reduction="none")
    own = [batch.rows.tolist().index(row) for row in found.rows[behind].tolist()]
    assert float((losses[behind] - losses[own]).mean().detach()) > 0


def test_attacked_texts_stand_behind_the_batch_with_the_true_labels():
    made = job()
    batch = a_batch(made, range(10))
    hook = AttackTraining(recipe="deepwordbug", share=0.5, every=1).hooks(made, data()).batch
    with seeded(1):
        found = hook(batch)
    with seeded(1):
        again = hook(batch)
    assert 10 < len(found.labels) <= 15
    assert torch.equal(found.ids, again.ids)
    assert torch.equal(found.ids[:10, : batch.ids.shape[1]], batch.ids)
    assert found.own == 10
    for row, label in zip(found.rows[10:].tolist(), found.labels[10:].tolist(), strict=True):
        assert data().train[row].label == label
    assert made.model.training


def test_texts_for_several_steps_are_attacked_in_the_first_and_handed_out_evenly(monkeypatch):
    from malaprop.frame.runs import local

    made, searches, run = job(), [], local.run
    monkeypatch.setattr(local, "run", lambda *given, **more: searches.append(len(given[2])) or run(*given, **more))
    batch = a_batch(made, range(10))
    hook = AttackTraining(recipe="deepwordbug", share=0.3, every=4).hooks(made, data()).batch
    with seeded(1):
        added = [hook(batch._replace(step=step)).rows[10:].tolist() for step in range(8)]
    assert searches == [12, 12]
    for part in (added[:4], added[4:]):
        sizes = [len(rows) for rows in part]
        assert 1 <= min(sizes) <= max(sizes) <= min(sizes) + 1  # texts that the model has wrong are not attacked
        texts = [row for rows in part for row in rows]
        assert len(set(texts)) == len(texts)  # none twice in one search
    assert added[:4] != added[4:]


@pytest.mark.parametrize("at", [2, 5, 6, 9])
def test_a_training_that_was_killed_between_two_searches_goes_on_to_the_same_weights(at, tmp_path):
    kept = {"folder": tmp_path / "state", "recipe": {"a": 1}, "every": 0.0}

    def fit_attacked(die_at: int = 0, **unfinished):
        made = job()
        hooks = AttackTraining(recipe="deepwordbug", share=0.3, every=4).hooks(made, data())

        def dying(batch):
            if batch.step + 1 == die_at:
                raise KeyboardInterrupt
            return hooks.batch(batch)

        rows, how = made.parts[0], Training(epochs=3, batch=20, rate=1e-2)
        fit(made.model, rows, rows, how, hooks=replace(hooks, batch=dying), **unfinished)
        return torch.cat([weight.detach().flatten() for weight in made.model.parameters()])

    whole = fit_attacked()
    with pytest.raises(KeyboardInterrupt):
        fit_attacked(at, unfinished=TrainingFolder(**kept))
    assert torch.equal(fit_attacked(unfinished=TrainingFolder(**kept)), whole)


def test_a2t_asks_for_gradients_and_elmo_like_models_are_refused():
    made = job()
    assert train_a2t().hooks(made, data()).batch is not None
    victim = ModelInTraining(made, ("negative", "positive"))
    assert victim.predict(["the good film"]).shape == (1, 2)
    made.reader = None
    with pytest.raises(CapabilityError, match="gradients"):
        train_a2t().hooks(made, data())


@pytest.mark.parametrize("wrong", ["freelb:steps=0", "swaps:share=0",
                                   "smart:size=0", "flooding:level=0", "ascc:steps=0", "dne:alpha=0",
                                   "infobert:heat=0", "dsrm:shift=2", "augment:share=0", "a2t:share=2"])  # fmt: skip
def test_settings_out_of_range_are_refused_in_one_line(wrong):
    with pytest.raises(SettingError) as said:
        parse_defence(wrong).hooks(job(), data()) if wrong.startswith("a2t") else parse_defence(wrong)
    assert "\n" not in str(said.value)


def test_a_recipe_that_is_none_is_refused_before_anything_is_read():
    with pytest.raises(SettingError, match="did you mean deepwordbug"):
        parse_defence("augment:recipe=deepwordbgu")


def test_every_method_says_what_it_did():
    for name in DEFENCES:
        assert len(str(parse_defence(name))) > 10


def test_the_smooth_model_moves_less_under_noise():
    made, plain = job(), job()
    batch = a_batch(made, range(40))
    for model, loss in ((made.model, Smart(weight=5.0, size=0.5).loss), (plain.model, Flooding(level=1e-6).loss)):
        model.load_state_dict(plain.model.state_dict()) if model is made.model else None
        descent = torch.optim.Adam(model.parameters(), 0.01)
        with seeded(0):
            for _ in range(40):
                descent.zero_grad()
                loss(model, batch).backward()
                descent.step()
    shifts = []
    for model in (made.model, plain.model):
        reading = PerturbedReading.of(model.eval(), batch)
        clean = functional.cross_entropy(reading.clean, batch.labels)
        noise = reading.scale(reading.gradient(clean), 0.5)
        shifts.append(float((reading.moved(noise).softmax(1) - reading.clean.softmax(1)).abs().mean().detach()))
    assert shifts[0] < shifts[1]


def test_infobert_holds_down_what_a_vector_says_of_its_word():
    same = torch.nn.functional.normalize(torch.randn(8, 4, generator=torch.Generator().manual_seed(0)), dim=-1)
    other = torch.nn.functional.normalize(torch.randn(8, 4, generator=torch.Generator().manual_seed(1)), dim=-1)
    assert InfoBert()._shared(same, same) > InfoBert()._shared(same, other)


@pytest.mark.parametrize("method", [*LOSSES, "ascc", "dne"])
def test_transformers_take_them_too(method):
    from test_noise_on_transformers import batch, network

    model, given = network("roberta").train(), batch(1)
    near = NearTokens(torch.arange(30)[:, None].repeat(1, 3), torch.tensor([[True, False, False]]).repeat(30, 1))
    near.table[7, 1:], near.real[7] = torch.tensor([8, 9]), True
    made = parse_defence(method)
    with seeded(0):
        if method == "ascc":
            value = made.loss(model, given, near)
        elif method == "dne":
            value = model.from_vectors(
                made.mix(model.embedding(given.ids), given, model, near), given.ids, given.lengths
            ).sum()
        else:
            value = made.loss(model, given)
        value.backward()
    assert torch.isfinite(value)
    assert model.model.classifier.out_proj.weight.grad.any()
