"""harden reject: a label for texts whose words were swapped, learnt beside the others and no attack's success."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import toy
from hypothesis import example, given
from hypothesis import strategies as st
from killed import until_done
from test_fact import a_batch, data, job
from test_own_model import own_folder, write_rows
from torch.nn import functional

import malaprop as mp
from malaprop.attacks.goals.goal import Targeted, Untargeted
from malaprop.attacks.gradient.flips import odds
from malaprop.attacks.gradient.look import aim
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.example import Example
from malaprop.core.gradient import Aim, WordLook
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import REJECTED
from malaprop.features.hardening.attacked import ModelInTraining
from malaprop.features.hardening.reject import RejectTraining, find_shift, find_threshold
from malaprop.features.hardening.word_swaps import WordSwapTraining, swap_words
from malaprop.frame.runs.make_attack import make_attack
from malaprop.frame.study.training_methods import Hardening, parse_defence
from malaprop.models.gradients import log_odds
from malaprop.training import folder as unfinished
from malaprop.training.seeds import seeded
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.train import TrainingInput, _job

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own
LABELS = ("bad", "good", REJECTED)


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def wide_data():
    return data()._replace(labels=LABELS)


def wide_job(name="LSTM-W-Random-1"):
    return job(name, wide_data())


def test_a_label_beside_another_counts_as_right():
    logits, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    shares = logits.softmax(1)
    right = shares.gather(1, labels[:, None])[:, 0] + shares[:, 3]
    assert torch.allclose(log_odds(logits, labels, 3), ((1 - right) / right).log(), atol=1e-5)
    assert torch.allclose(log_odds(logits, labels, labels), log_odds(logits, labels), atol=1e-6)


def test_slopes_point_away_from_the_label_and_from_rejection():
    made = wide_job()
    victim = ModelInTraining(made, LABELS)
    text = Text.of({"text": "the good film"}, Words())
    variants = Variants.each(text, np.asarray([1]), [text.table.ids(["bad"])])
    alone, both = (
        victim.inside.gradients.words([WordLook(variants=variants, aim=Aim(label=1, odds=True, beside=beside))])[
            0
        ].gains
        for beside in (None, 2)
    )
    assert not np.allclose(alone, both)


def test_searches_by_gradients_move_away_from_rejection_and_towards_a_target():
    class Asked:
        example = Example("1", {"text": "a film"}, 1)

        def __init__(self, goal):
            self.attack = make_attack("a2t", {}).but(goal=goal).for_victim(LABELS)

    away, toward = aim(Asked(Untargeted()), odds=True), aim(Asked(Targeted(target=0)), odds=True)
    assert (away.label, away.beside, away.away) == (1, 2, True)
    assert (toward.label, toward.beside, toward.away) == (0, None, False)
    assert odds(Asked(Untargeted()), np.asarray([0.2, 0.5, 0.3])) == pytest.approx(np.log(0.2 / 0.8))


def test_only_adversaries_may_be_rejected():
    how = RejectTraining(insist=0.0, smoothing=0.0)
    batch = a_batch(wide_job(), range(2))
    batch = batch._replace(own=1, labels=torch.tensor([1, 1]))

    def weigh(*rows):
        return float(how.weigh_answers(lambda ids, lengths: torch.tensor(rows), batch))

    sure, rejecting, wrong = [0.0, 9.0, 0.0], [0.0, 0.0, 9.0], [9.0, 0.0, 0.0]
    assert weigh(sure, rejecting) < 0.01
    assert weigh(sure, sure) < 0.01
    assert weigh(rejecting, rejecting) > 4
    assert weigh(sure, wrong) > 3.5
    insisting = RejectTraining(insist=1.0, smoothing=0.0)
    value = insisting.weigh_answers(lambda ids, lengths: torch.tensor([sure, sure]), batch)
    assert float(value) > 4


def test_adversaries_stand_behind_the_batch_and_the_same_seed_gives_the_same():
    made = wide_job()
    hook = parse_defence("reject:tries=3:recipes=pwws:every=2").hooks(made, wide_data()).batch
    batch = a_batch(made, range(10))
    with seeded(3):
        found = hook(batch)
    with seeded(3):
        again = hook(batch)
    assert found.own == 10 < len(found.labels)
    assert torch.equal(found.ids, again.ids)
    assert torch.equal(found.ids[:10, : batch.ids.shape[1]], batch.ids)
    for row, label in zip(found.rows[10:].tolist(), found.labels[10:].tolist(), strict=True):
        assert data().train[row].label == label
    with seeded(3):
        assert len(hook(batch._replace(step=1)).labels) <= len(found.labels)


def test_more_tries_find_worse_texts():
    made = wide_job()
    batch, losses = a_batch(made, range(30)), []
    for tries in (1, 8):
        hook = swap_words(made, wide_data(), WordSwapTraining(tries=tries), 2)
        with seeded(1):
            found = hook(batch)
        made.model.eval()
        behind = log_odds(made.model(found.ids, found.lengths), found.labels, 2).detach()
        worst = {int(row): float(value) for row, value in zip(found.rows[30:], behind[30:], strict=True)}
        losses.append([worst.get(int(row), float(own)) for row, own in zip(batch.rows, behind[:30], strict=True)])
    assert np.mean(losses[1]) >= np.mean(losses[0])


@example(30, 1 / 30 - 1e-12, 0)
@given(st.integers(1, 60), st.floats(0, 0.4), st.integers(0, 1000))
def test_the_threshold_costs_no_more_than_it_may(many, cost, seed):
    rng = torch.Generator().manual_seed(seed)
    logits, labels = torch.randn(many, 3, generator=rng), torch.randint(2, (many,), generator=rng)
    was = int((logits[:, :2].argmax(1) == labels).sum())
    logits[:, 2] += find_shift(logits, labels, cost)
    assert was - int((logits.argmax(1) == labels).sum()) <= int(cost * many)


def test_the_head_that_gives_the_logits_is_moved():
    made = wide_job()
    bias = find_threshold(made.model, 3)
    batch = a_batch(made, range(4))
    made.model.eval()
    before = made.model(batch.ids, batch.lengths).detach()
    with torch.no_grad():
        bias[-1] += 2
    assert torch.allclose(made.model(batch.ids, batch.lengths)[:, 2], before[:, 2] + 2, atol=1e-5)


@pytest.mark.parametrize("name", ["CNN-W-Random-1", "BiLSTM-W-Random-2", "CNN-C-Random-1", "CharCNN-LSTM"])
def test_of_any_network_the_last_logit_alone_is_moved(name):
    spec, seed = zoo.parse(name)
    small = {"dim": 8} if "CharCNN" not in name else {}
    made = _job(spec, wide_data(), seed, TrainingInput(settings=small), 1)
    batch = a_batch(made, range(4))
    made.model.eval()
    before = made.model(batch.ids, batch.lengths).detach()
    with torch.no_grad():
        find_threshold(made.model, 3)[-1] += 2
    after = made.model(batch.ids, batch.lengths).detach()
    assert torch.allclose(after - before, torch.tensor([0.0, 0.0, 2.0]), atol=1e-5)


def test_a_model_whose_last_layer_has_no_bias_is_refused(tmp_path):
    folder = own_folder(tmp_path, "gpt2", ("positive", "negative"))
    rows = write_rows(tmp_path / "rows.csv")
    with pytest.raises(CapabilityError, match="this model has none; use harden swaps"):
        mp.harden("reject", model=str(folder), data=str(rows), out=str(tmp_path / "hard"), device="cpu")


def test_elmo_like_models_and_recipes_that_need_more_are_refused_before_training(monkeypatch):
    made = wide_job()
    with pytest.raises(CapabilityError, match="hotflip-char needs characters"):
        RejectTraining(recipes="pwws+hotflip-char").hooks(made, wide_data())
    monkeypatch.setattr("malaprop.zoo.victim.gradients_of", lambda *_: None)
    with pytest.raises(CapabilityError, match="harden reject ranks words by gradients"):
        RejectTraining().hooks(made, wide_data())


@pytest.mark.parametrize("kind", ["distilbert", "roberta"])
def test_a_users_own_model_gets_the_label_and_attacks_count_it(tmp_path, kind):
    folder = own_folder(tmp_path, kind, ("positive", "negative"))
    rows = write_rows(tmp_path / "rows.csv")
    out = tmp_path / "hard"
    card = mp.harden(
        "reject:tries=2:cost=0.2", model=str(folder), data=str(rows), out=str(out), device="cpu",
        settings={"epochs": 2, "rate": 5e-3, "batch": 32},
    ).card  # fmt: skip
    assert card.labels == ("positive", "negative", REJECTED)
    assert list(json.loads((out / "config.json").read_text())["id2label"].values()) == list(card.labels)
    victim = mp.victim(str(out), device="cpu")
    assert victim.predict(["the good film"]).shape == (1, 3)
    found = mp.attack("pwws", victim, [("the good film is a good story .", "positive")])
    assert found[0].status in ("success", "failed", "skipped")


@pytest.mark.parametrize("names", [("negative", "positive"), ("0", "1")])
def test_what_rejects_already_is_hardened_again(tmp_path, names):
    folder = own_folder(tmp_path, "distilbert", ("negative", "positive"))
    rows = write_rows(tmp_path / "rows.csv", names)
    for source, out in ((folder, tmp_path / "one"), (tmp_path / "one", tmp_path / "two")):
        card = mp.harden(
            "reject:tries=2", model=str(source), data=str(rows), out=str(out), device="cpu", settings={"epochs": 1}
        ).card
        assert card.labels == ("negative", "positive", REJECTED)


@pytest.mark.parametrize("method", ["reject:tries=2:recipes=pwws+deepwordbug", "swaps:tries=3", "augment:share=0.5"])
def test_killed_within_any_write_it_ends_with_the_same_bytes(tmp_path, monkeypatch, method):
    rows = write_rows(tmp_path / "rows.csv", count=60)
    small = {"epochs": 2, "batch": 16, "dim": 8, "hidden": 8}

    def work(out):
        mp.harden(method, model="LSTM-W-Random-1", data=str(rows), out=str(tmp_path / out), device="cpu", set=small)

    work("whole")
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    killed = until_done(lambda _: work("killed"), seed=3, most=25)
    assert killed > 2
    assert checkpoint.fingerprint(tmp_path / "killed") == checkpoint.fingerprint(tmp_path / "whole")


def test_a_wider_head_keeps_the_order_of_what_it_knew(tmp_path):
    from malaprop.zoo.finetune import _own

    folder = own_folder(tmp_path, "distilbert", ("negative", "positive"))
    (plain, tokenizer), (wide, _) = (_own(folder, names, 0) for names in (LABELS[:2], LABELS))
    batch = tokenizer(["the good film", "a dull story"], return_tensors="pt", padding=True)
    with torch.no_grad():
        old, new = plain.eval()(**batch).logits, wide.eval()(**batch).logits
    assert torch.allclose(old, new[:, :2], atol=1e-6)
    assert wide.config.num_labels == 3


def test_labels_are_added_once():
    hardening = Hardening.of("reject")
    once = hardening.add_labels(data())
    assert once.labels == LABELS
    assert hardening.add_labels(once).labels == LABELS
    assert Hardening.of("swaps").add_labels(data()).labels == LABELS[:2]


def test_the_model_in_training_answers_by_edits_as_by_whole_texts():
    made = wide_job()
    victim = ModelInTraining(made, LABELS)
    logits = made.model.eval()(*_padded(made, [("the good film",), ("a bad film .",)]))
    asked = victim.predict(["the good film", "a bad film ."])
    assert np.allclose(asked, functional.softmax(logits, 1).detach().numpy(), atol=1e-5)


def _padded(made, texts):
    rows = made.rows(texts)
    wide = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (wide - len(row))] for row in rows]), torch.tensor([len(row) for row in rows])


@pytest.mark.parametrize("wrong", ["reject:weight=0", "reject:insist=2", "reject:cost=1", "reject:tries=0",
                                   "reject:every=0", "reject:together=0", "reject:budget=0", "reject:least=1",
                                   "reject:recipes=pwvs", "reject:weight=nan", "reject:weight=inf",
                                   "reject:share=0", "reject:validity=vlaid", "swaps:tries=0"])  # fmt: skip
def test_settings_out_of_range_are_refused_in_one_line(wrong):
    with pytest.raises(SettingError) as said:
        parse_defence(wrong)
    assert "\n" not in str(said.value)
    assert wrong.partition(":")[0] in str(said.value) or "recipe" in str(said.value)


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_the_threshold_leaves_the_accuracy_that_is_asked_for(many, least, seed):
    rng = torch.Generator().manual_seed(seed)
    logits, labels = torch.randn(many, 3, generator=rng), torch.randint(2, (many,), generator=rng)
    right = (logits[:, :2].argmax(1) == labels).double().mean().item()
    model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    with torch.no_grad():
        model[0].weight.copy_(torch.eye(3))
        model[0].bias.zero_()
    how = RejectTraining(least=least)
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("malaprop.features.hardening.reject.answer", lambda *_: iter([(logits, labels)]))
        how.set_threshold(model, None)
    left = ((logits + model[0].bias).argmax(1) == labels).double().mean().item()
    assert left >= min(least, right) - 1e-9
    stricter = logits + model[0].bias + torch.tensor([0.0, 0.0, 2e-4])
    if right >= least and left < right:
        assert left - 1 / many < least + 1e-9 or (stricter.argmax(1) == labels).double().mean().item() < least


def test_recipes_keep_to_their_budget():
    assert [one.budget for one in RejectTraining(recipes="pwws+textfooler", budget=40).attacks] == [40, 40]


def test_attacks_in_the_training_keep_the_meaning_where_they_are_to():
    plain, valid = (RejectTraining(recipes="pwws+textfooler", validity=one) for one in ("paper", "valid"))
    assert [one.judge is not None for one in (*plain.attacks, *valid.attacks)] == [False, False, True, True]
    assert "without changing its meaning" in str(valid)
    assert "meaning" not in str(plain)
