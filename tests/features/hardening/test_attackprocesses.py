"""Training texts attacked by several processes: what comes of it is what one process finds."""

from __future__ import annotations

import os

import pytest
import toy
from test_own_model import own_folder, write_rows

import malaprop as mp
from malaprop.core.errors import SettingError, VictimError
from malaprop.features.hardening.attacked import AttackTraining
from malaprop.frame.tasks.workers.processes import Helpers
from malaprop.zoo import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def harden(tmp_path, folder, method, out, jobs):
    rows = write_rows(tmp_path / "rows.csv", count=36)
    mp.harden(
        method, model=str(folder), data=str(rows), out=str(tmp_path / out), device="cpu", jobs=jobs,
        settings={"epochs": 1, "batch": 8},
    )  # fmt: skip
    return checkpoint.fingerprint(tmp_path / out)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("distilbert", "reject:tries=2:recipes=deepwordbug:every=1:together=3"),
        pytest.param("roberta", "augment:recipe=deepwordbug", marks=pytest.mark.slow),
    ],
)
def test_a_training_ends_with_the_same_bytes_whoever_attacks(tmp_path, kind, method, monkeypatch):
    folder, asked = own_folder(tmp_path, kind, ("negative", "positive")), []
    answer = Helpers.ask
    monkeypatch.setattr(Helpers, "ask", lambda self, questions: asked.append(questions) or answer(self, questions))
    alone = harden(tmp_path, folder, method, "alone", 1)
    assert not asked
    assert harden(tmp_path, folder, method, "shared", 2) == alone
    assert all(len(questions) == 2 for questions in asked)
    assert asked


def test_models_of_the_zoo_are_attacked_where_they_learn(tmp_path, monkeypatch):
    monkeypatch.setattr(Helpers, "__init__", lambda *_: pytest.fail("no process is needed"))
    rows = write_rows(tmp_path / "rows.csv", count=60)
    small = {"epochs": 1, "batch": 16, "dim": 8, "hidden": 8}
    mp.harden(
        "augment:recipe=deepwordbug", model="LSTM-W-Random-1", data=str(rows), out=str(tmp_path / "hard"), device="cpu",
        jobs=2, set=small,
    )  # fmt: skip
    assert checkpoint.is_checkpoint(tmp_path / "hard")


def make_divider():
    return divide


def divide(number):
    if number < 0:
        raise SettingError("no number below 0")
    if number > 9:
        os._exit(3)
    return 6 // number


def test_helpers_answer_in_order_and_one_line_says_what_failed():
    helpers = Helpers(2, make_divider)
    try:
        assert helpers.ask([3, 2]) == [2, 3]
        assert helpers.ask([6]) == [1]
        with pytest.raises(VictimError, match="no number below 0"):
            helpers.ask([1, -1])
        with pytest.raises(VictimError, match=r"helps with this task failed.*zero"):
            helpers.ask([0, 1])
        assert helpers.ask([1, 2]) == [6, 3]
        with pytest.raises(VictimError, match="died"):
            helpers.ask([1, 10])
    finally:
        helpers.close()


def test_attacks_can_be_sent_to_a_process():
    import pickle

    attack = AttackTraining(recipe="pwws").attack
    assert pickle.loads(pickle.dumps(attack)) == attack
