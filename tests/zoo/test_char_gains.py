"""Derivatives of character edits: against finite differences, against their definition, and against the loss itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from malaprop.core.errors import CapabilityError
from malaprop.core.gradient import Aim
from malaprop.models.gradients import differentiable
from malaprop.models.tokens.vocab import BEGIN, BLANK, END, NOTHING, OTHER, Vocab
from malaprop.zoo.blocks.charwords import CharWords, charcnn_lstm
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.gradients.characters import char_slopes, flip_gains, make_flips, score_respelled, symbols, vectors

TEXTS = ("the good film", "a bad , dull thing", "it is 1 good one", "zebra ?", "don't overestimate me")


def made(kind: str = "special"):
    torch.manual_seed(0)
    vocab = Vocab.build([*TEXTS, "abcdefghijklmnopqrstuvwxyz"])
    shape = {"char_dim": 4, "filters": 6, "highways": 1, "symbols": 40, "most": 12, "blanks": 0.0}
    if kind == "special":
        model = charcnn_lstm(len(vocab), 3, width=4, hidden=5, depth=2, dropout=0.3, **shape)
    else:
        words = CharWords(dim=7, widths=(2, 3), **shape)
        network = WordCNN if kind == "cnn" else WordLSTM
        more = {"widths": (2, 3), "filters": 5} if kind == "cnn" else {"hidden": 5}
        model = network(len(vocab), 3, dim=7, embedding=words, **more)
    opened = model.embedding.open_to(vocab)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return (model.double() if kind == "cnn" else model).eval(), opened  # an LSTM of the zoo keeps to 32 bits


def rows(opened, texts=TEXTS):
    numbers = opened.encode([(text,) for text in texts])
    lengths = torch.tensor([len(n) for n in numbers])
    ids = torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
    for row, line in zip(numbers, ids, strict=True):
        line[: len(row)] = torch.tensor(row)
    return ids, lengths, torch.arange(len(texts)) % 3


@torch.no_grad()
def loss_now(model, embedded, signs, ids, lengths, labels):
    return loss_at(model, embedded, signs, ids, lengths, labels)


def loss_at(model, embedded, signs, ids, lengths, labels):
    logits = model.from_vectors(model.embedding.compose(embedded, signs), ids, lengths)
    return functional.cross_entropy(logits, labels, reduction="none")


def exact(model, signs, ids, lengths, label):
    return functional.cross_entropy(score_respelled(model, signs, ids, lengths), label, reduction="none")


@pytest.mark.parametrize("kind", ["special", "cnn", "lstm"])
def test_slopes_are_those_of_the_whole_network(kind):
    model, opened = made(kind)
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        slopes = char_slopes(model, ids, lengths, labels)
    signs = model.embedding.signs(ids)[..., : slopes.signs.shape[-1]]
    assert torch.equal(signs, slopes.signs)
    embedded = model.embedding.embedding(signs).detach().requires_grad_()
    loss = loss_at(model, embedded, signs, ids, lengths, labels)
    (wanted,) = torch.autograd.grad(loss.sum(), embedded)
    inside = (signs != NOTHING)[..., None]
    near = 1e-12 if kind == "cnn" else 1e-6
    assert torch.allclose(slopes.by_vector * inside, wanted, atol=near)
    assert torch.allclose(slopes.logits, model(ids, lengths), atol=near)
    assert wanted.abs().max() > 0.01


def test_flips_and_deletions_agree_with_finite_differences():
    model, opened = made("cnn")
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        found = flip_gains(model, ids, lengths, labels)
    signs, table, step = found.signs, vectors(model.embedding), 1e-6
    embedded = table[signs]
    here = loss_now(model, embedded, signs, ids, lengths, labels)
    picked = found.flips.isfinite().nonzero()[::37]
    assert len(picked) > 20
    for b, t, c, s in picked.tolist():
        moved = embedded.clone()
        moved[b, t, c] += step * (table[s] - table[signs[b, t, c]])
        slope = (loss_now(model, moved, signs, ids, lengths, labels)[b] - here[b]) / step
        assert float(slope) / 2**0.5 == pytest.approx(float(found.flips[b, t, c, s]), abs=1e-5)
    for b, t, c in found.deletes.isfinite().nonzero().tolist():
        after = torch.cat([signs[b, t, :c], signs[b, t, c + 1 :], signs.new_zeros(1)])
        moved = embedded.clone()
        moved[b, t] += step * (table[after] - table[signs[b, t]])
        slope = (loss_now(model, moved, signs, ids, lengths, labels)[b] - here[b]) / step
        length = (2 * (after != signs[b, t]).sum()) ** 0.5
        assert float(slope / length) == pytest.approx(float(found.deletes[b, t, c]), abs=1e-5)


def test_insertions_are_chains_of_shifted_flips():
    model, opened = made()
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        found, slopes = (f(model, ids, lengths, labels) for f in (flip_gains, char_slopes))
    table = vectors(model.embedding)
    every, signs = slopes.by_vector @ table.T, found.signs
    picked = found.inserts.isfinite().nonzero()[::41]
    assert len(picked) > 20
    for b, t, c, s in picked.tolist():
        word = signs[b, t].tolist()
        after = [*word[:c], s, *word[c:-1]]
        assert after.index(END) == word.index(END) + 1
        chain = [(at, old, new) for at, (old, new) in enumerate(zip(word, after, strict=True)) if old != new]
        total = sum(float(every[b, t, at, new] - every[b, t, at, old]) for at, old, new in chain)
        assert total / (2 * len(chain)) ** 0.5 == pytest.approx(float(found.inserts[b, t, c, s]), abs=1e-6)


def test_what_is_barred():
    model, opened = made()
    ids, lengths, labels = rows(opened, (*TEXTS, "unk ☃ ☃x abcdefghijklmnop"))
    with differentiable(model):
        found = flip_gains(model, ids, lengths, labels)
    usable = symbols(opened)
    assert {opened.alphabet[i] for i in usable.nonzero()[:, 0].tolist()} == set("abcdefghijklmnopqrstuvwxyz1")
    able = found.flips.isfinite().flatten(2).any(-1)
    words = [[opened.words[i] for i in row] for row in ids.tolist()]
    for b, row in enumerate(words):
        for t, word in enumerate(row):
            if "☃" in word:
                continue  # what the alphabet lacks may be a letter
            plain = word.isalnum() and t < int(lengths[b])
            assert bool(able[b, t]) == (plain and int(ids[b, t]) > 2), word
    b = len(TEXTS)
    assert not able[b, 0], "the unknown word has no characters"
    long = words[b].index("abcdefghijklmnop")
    assert able[b, long]
    assert not found.deletes[b, long].isfinite().any(), "what would move in behind the cut is not known"
    assert not found.inserts[b, long].isfinite().any()
    single = words[1].index("a")
    assert not found.deletes[1, single].isfinite().any(), "a word keeps a character"
    own = found.flips.gather(3, found.signs[..., None])
    assert not own.isfinite().any(), "a flip changes something"
    assert not found.flips[..., :1, :].isfinite().any()
    assert found.signs[b, 0, :3].tolist() == [BEGIN, BLANK, END]


def test_characters_outside_the_alphabet_can_be_flipped_away():
    model, opened = made()
    ids, lengths, labels = rows(opened, ("Ωmega film",))
    with differentiable(model):
        found = flip_gains(model, ids, lengths, labels)
    assert int(found.signs[0, 0, 1]) == OTHER
    assert found.flips[0, 0, 1].isfinite().sum() == 27
    assert not found.flips[..., OTHER].isfinite().any()


def test_operations_and_words_can_be_left_out():
    model, opened = made()
    ids, lengths, labels = rows(opened)
    first = torch.zeros_like(ids, dtype=torch.bool)
    first[:, 0] = True
    with differentiable(model):
        found = flip_gains(model, ids, lengths, labels, opened=first, operations=("delete",))
    assert found.flips.numel() == found.inserts.numel() == 0
    assert found.deletes[0, 0].isfinite().any()
    assert not found.deletes[:, 1:].isfinite().any()


def test_targets_and_odds_keep_the_order_of_a_text():
    model, opened = made()
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        away, odds = (flip_gains(model, ids, lengths, labels, aim=Aim(label=0, odds=o)).flips for o in (False, True))
        toward = flip_gains(model, ids, lengths, labels, aim=Aim(label=0, away=False)).flips
    wrong = 1 - model(ids, lengths).softmax(-1).gather(1, labels[:, None])[:, 0]
    fine = away.isfinite()
    assert torch.allclose(away[fine], (odds * wrong[:, None, None, None])[fine], atol=1e-6)
    assert torch.allclose(away[fine], -toward[fine])


def test_away_from_two_of_three_labels_is_towards_the_third():
    model, opened = made()
    ids, lengths, _ = rows(opened)
    zeros, both, third = torch.zeros(len(ids), dtype=torch.long), Aim(label=0, beside=2, odds=True), Aim(label=1)
    with differentiable(model):
        away = flip_gains(model, ids, lengths, zeros, aim=both).flips
        toward = flip_gains(model, ids, lengths, zeros + 1, aim=replace(third, away=False, odds=True)).flips
    fine = away.isfinite()
    assert torch.allclose(away[fine], toward[fine], atol=1e-6)


def test_padding_and_neighbours_change_nothing():
    model, opened = made()
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        together = flip_gains(model, ids, lengths, labels)
        for b, length in enumerate(lengths.tolist()):
            alone = flip_gains(model, ids[b : b + 1, :length], lengths[b : b + 1], labels[b : b + 1])
            many = alone.flips.shape[2]
            assert torch.allclose(alone.flips[0], together.flips[b, :length, :many], atol=1e-6)
            assert torch.allclose(alone.deletes[0], together.deletes[b, :length, :many], atol=1e-6)


def test_a_flip_of_a_whole_training_batch_at_once():
    model, opened = made()
    ids, lengths, labels = rows(opened)
    with differentiable(model):
        found = flip_gains(model, ids, lengths, labels, operations=("flip",))
    counts = torch.tensor([2, 3, 0, 1, 100])
    after = make_flips(found, counts)
    changed = (after != found.signs).flatten(1).sum(1).tolist()
    letters = found.flips.isfinite().any(-1).flatten(1).sum(1).tolist()
    assert changed[:4] == [2, 3, 0, 1]
    assert changed[4] == letters[4]
    before = exact(model, found.signs, ids, lengths, labels)
    assert torch.allclose(before, functional.cross_entropy(model(ids, lengths), labels, reduction="none"))
    assert exact(model, after, ids, lengths, labels)[[0, 1]].gt(before[[0, 1]]).all()
    assert all(p.grad is None for p in model.parameters())


def test_modes_are_given_back_and_other_networks_refused():
    model, _ = made()
    model.train()
    with differentiable(model):
        assert not model.training
        assert model.encoder.lstms[0].training
    assert model.training
    assert model.encoder.dropout.training
    with pytest.raises(CapabilityError, match="does not read characters"):
        flip_gains(WordCNN(9, 2), torch.ones(1, 2).long(), torch.tensor([2]), torch.tensor([0]))
