"""Trackers hear of a study when it ends; none of them can cost a result."""

from __future__ import annotations

import pytest
import toy

import malaprop as mp
from malaprop.core.errors import SettingError
from malaprop.features.audit.study import Audit
from malaprop.frame.study import tracking
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.events import TaskNote

ROWS = [("a good film", 1), ("a bad film", 0), ("great", 1), ("awful", 0)]


def audit(listen=(), **more):
    given = {"victim": ("toy:predict",), "attacks": "keyboard", "data": ROWS, "n": 0, "device": "cpu", "quiet": True}
    return conduct(build(Audit, {**given, "validity": "paper", **more}), listen=listen)


def test_figures_and_settings_by_names_that_trackers_take(monkeypatch):
    heard = []
    monkeypatch.setitem(tracking._SENDERS, "wandb", lambda *what: heard.append(what))
    monkeypatch.setattr(tracking, "find_spec", lambda name: name)
    found = audit(track=["wandb"], max_queries=10_000)
    ((result, figures, settings),) = heard
    assert result is found
    assert figures["toy_predict/keyboard/under_attack"] <= figures["toy_predict/keyboard/clean"] == 1.0
    assert figures["spent/queries"] == found.spent.queries
    assert settings["attack"] == "['keyboard']"
    assert "out" not in settings


def test_a_tracker_that_fails_is_told_of_and_costs_nothing(monkeypatch):
    def fail(*what):
        raise OSError("nobody there")

    heard: list[object] = []
    monkeypatch.setitem(tracking._SENDERS, "mlflow", fail)
    monkeypatch.setattr(tracking, "find_spec", lambda name: name)
    assert len(audit(track=["mlflow"], listen=[heard.append]).outcomes) == 4
    assert any("could not send this run to mlflow: OSError: nobody there" in str(one.text)
               for one in heard if isinstance(one, TaskNote))  # fmt: skip


def test_one_that_is_not_installed_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"--track wandb needs the package wandb; pip install 'malaprop\[track\]'"):
        mp.audit(toy.predict, ROWS, attacks=["keyboard"], track=["wandb"])
    with pytest.raises(SettingError, match="--track takes mlflow, wandb, tensorboard; got 'comet'"):
        mp.audit(toy.predict, ROWS, attacks=["keyboard"], track=["comet"])


def test_tensorboard_files_hold_the_figures(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    audit(track=["tensorboard"], out=tmp_path / "out")
    read = EventAccumulator(str(tmp_path / "out" / "tensorboard"))
    read.Reload()
    assert "toy_predict/keyboard/under_attack" in read.Tags()["scalars"]


def test_a_local_store_of_mlflow_holds_the_figures(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/store.db")
    audit(track=["mlflow"], out=tmp_path / "out")
    (run,) = mlflow.search_runs(experiment_names=["malaprop"], output_format="list")
    assert run.data.metrics["toy_predict/keyboard/clean"] == 1.0
    assert run.data.tags["state"] == "done"
