"""The loop of pre-training: the order of rows, budgets, and going on after a kill to the very same weights."""

from __future__ import annotations

import itertools
import time

import pytest
import torch
from safetensors.torch import load_file
from tiny_pretraining import PLANS, no_dataset, tiny_bert, write

from malaprop.core.errors import SettingError
from malaprop.training.folder import TrainingFolder
from malaprop.training.schedule import follow_budget, inverse_root
from malaprop.training.seeds import RowOrder
from malaprop.training.task import Stage, TrainingStep
from malaprop.zoo.pretrain import job

KINDS = ("elmo", "roberta", "albert", "mlm-head")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr("malaprop.zoo.pretrain.masked.store.locate", lambda name: tiny_bert(tmp_path / "bert"))
    yield
    torch.set_num_threads(before)


class Killed(BaseException):
    """Ends the process as a signal would, as far as the files can tell."""


def go(kind, tmp_path, out, **changes):
    settings = PLANS[kind] | changes.pop("settings", {})
    options = {"steps": 12, "settings": settings, "device": "cpu", "quiet": True} | changes
    return job.pretrain(kind, data=write(tmp_path), read=no_dataset, folder=tmp_path / out, **options)


def weights(folder):
    return {path.name: load_file(path) for path in folder.glob("*.safetensors")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_pretraining_goes_on_to_the_same_weights(kind, tmp_path, monkeypatch):
    go(kind, tmp_path, "whole")
    keep = TrainingFolder.keep

    def keep_then_die(self, state):
        keep(self, state)
        (self.folder / "fresh").mkdir()  # what a kill in the middle of the next state leaves
        raise Killed

    monkeypatch.setattr(TrainingFolder, "keep", keep_then_die)
    with pytest.raises(Killed):
        go(kind, tmp_path, "killed")
    assert not (tmp_path / "killed").exists()
    monkeypatch.setattr(TrainingFolder, "keep", keep)
    with monkeypatch.context() as patch:  # the steps before the kill are not done again
        done = []
        patch.setattr(RowOrder, "rows_of", _counted(done))
        go(kind, tmp_path, "killed")
    assert done == list(range(5, 12))
    one, two = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].keys() == two[name].keys()
        assert all(torch.equal(one[name][key], two[name][key]) for key in one[name])
    assert not list(tmp_path.glob(".*"))


def _counted(done):
    plain = RowOrder.rows_of

    def rows_of(self, step):
        done.append(step)
        return plain(self, step)

    return rows_of


def test_the_seed_decides(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        go("elmo", tmp_path, name, steps=3, seed=seed)
    a, b, c = (weights(tmp_path / name)["output.safetensors"]["weight"] for name in "abc")
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_a_state_of_other_settings_is_refused(tmp_path, monkeypatch):
    keep = TrainingFolder.keep

    def keep_then_die(self, state):
        keep(self, state)
        raise Killed

    monkeypatch.setattr(TrainingFolder, "keep", keep_then_die)
    with pytest.raises(Killed):
        go("elmo", tmp_path, "out")
    with pytest.raises(SettingError, match="unfinished training with other seed, steps") as found:
        go("elmo", tmp_path, "out", steps=50, seed=3)
    assert "\n" not in str(found.value)


def test_a_damaged_state_is_said(tmp_path):
    (tmp_path / ".out.unfinished" / "5").mkdir(parents=True)
    with pytest.raises(SettingError, match=r"5 is damaged .* remove .*unfinished to begin anew"):
        go("elmo", tmp_path, "out")


def test_every_pass_reads_every_row_once():
    order = RowOrder(12, 4, seed=1)
    passes = [[order.rows_of(p * 3 + s).tolist() for s in range(3)] for p in range(2)]
    flat = [sorted(itertools.chain(*one)) for one in passes]
    assert flat == [list(range(12))] * 2
    assert passes[0] != passes[1]
    assert RowOrder(12, 4, seed=1).rows_of(4).tolist() == passes[1][1]


def test_minutes_end_the_work_and_the_rate_follows_them(tmp_path):
    began = time.perf_counter()
    _, card = go("roberta", tmp_path, "out", steps=None, minutes=0.02)
    assert 1.2 <= card.figures["seconds"] < 10
    assert time.perf_counter() - began < 30
    assert card.figures["steps"] > 1


def moment(step, steps):
    stage = Stage(losses=iter, steps=steps)
    return TrainingStep(stage, step, stage.spent(step, 0.0), 0.0)


def test_the_rate_rises_then_falls():
    slopes = [follow_budget(0.1)(moment(step, 100)) for step in range(101)]
    assert slopes[0] < 0.02
    assert max(slopes) > 0.98
    assert slopes.index(max(slopes)) == 10
    assert slopes[-1] == 0
    assert slopes[10:] == sorted(slopes[10:], reverse=True)
    assert [round(inverse_root(10)(moment(step, 100)), 3) for step in (0, 9, 39)] == [0.1, 1.0, 0.5]


def test_a_budget_is_spent_by_the_first_of_both():
    assert Stage(losses=iter, steps=10, minutes=1).spent(5, 45) == 0.75
    assert Stage(losses=iter, steps=10).spent(5, 1e9) == 0.5
    with pytest.raises(SettingError, match="needs a budget"):
        Stage(losses=iter)


def test_a_rate_too_great_is_said(tmp_path):
    with pytest.raises(SettingError, match=r"the loss became (nan|inf); use a learning rate below 1e\+30"):
        go("elmo", tmp_path, "out", steps=20, settings={"rate": 1e30, "clip": 1e30})
