"""What is trained on is what was named; where nothing was, the kind of model decides."""

from __future__ import annotations

import sys

import pytest

from malaprop.cli.main import main
from malaprop.features.training.study import Train
from malaprop.frame.study.settings import build


@pytest.fixture
def type_in(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text,label\na good film,1\na bad film,0\n")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nmt-lstm", "--data", "rows.csv"), "needs source,target"),
        (("wgan", "--data", "mr"), "wgan reads images"),
        (("forest", "--data", "mr"), "forest reads images"),
        (("vae", "--start", "bert-base-uncased"), "--start is not an option of train vae"),
        (("nmt-lstm", "--label", "stars"), "--label-column is not an option of train nmt-lstm"),
        (
            ("LSTM-W-Random-1", "--seeds", "2"),
            "--seeds is not an option of train lstm-w-random-1; it belongs to train all63",
        ),
        (("arae", "--start", "here"), "--start is not an option of train arae"),
    ],
)
def test_what_does_not_fit_is_refused(type_in, words, said, tmp_path):
    code, err = type_in("train", *words, "--out", "model")
    assert code == 2
    assert said in err
    lines = [line for line in err.splitlines() if not line.startswith("fetching ")]  # as a new machine does first
    assert len(lines) == 1
    assert not (tmp_path / "model").exists()


def test_without_data_the_kind_decides():
    found = {spec: build(Train, {"spec": spec}).texts.data for spec in ("nmt-lstm", "arae", "mlp", "BERT", "all63")}
    assert found == {"nmt-lstm": "eng-fra", "arae": "mr", "mlp": "mnist", "BERT": "mr", "all63": "mr"}
