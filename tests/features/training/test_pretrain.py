"""malaprop pretrain: what the user types, sees and gets."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from malaprop.cli.main import app
from malaprop.core.errors import MalapropError
from malaprop.training.card import read_card

TINY = ("dim=8", "hidden=12", "char_dim=4", "filters=[[1, 4], [2, 4]]", "length=8", "batch=4")


def run(*args: str, **options):
    return CliRunner().invoke(app, ["pretrain", *map(str, args)], **options)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "made.txt"
    path.write_text("\n".join(f"the cat saw bird number {n % 7} and bird {n}" for n in range(40)), encoding="utf-8")
    return path


def test_a_table_an_encoder_and_a_last_line_for_machines(text, tmp_path):
    settings = [part for setting in TINY for part in ("--set", setting)]
    done = run("elmo", "--data", text, "--steps", 2, "--out", tmp_path / "out", "--device", "cpu", "--json", *settings)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["kind"] == "elmo"
    assert summary["steps"] == 2
    assert summary["perplexity_forward"] > 1
    assert (tmp_path / "out" / "model.safetensors").is_file()
    assert "perplexity forward" in done.stdout.splitlines()[0]


def test_the_cache_gives_way_to_a_newer_one_and_a_folder_does_not(text, own_cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [part for setting in TINY for part in ("--set", setting)]
    for steps in (1, 2):
        done = run("elmo", "--data", text, "--steps", steps, "--device", "cpu", "--json", "--quiet", *settings)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout.splitlines()[-1])["out"] == str(own_cache / "pretrained" / "elmo")
        assert read_card(own_cache / "pretrained" / "elmo", "encoder").figures["steps"] == steps
        for said in (0, 1):  # the second time it is there
            done = run("elmo", "--data", text, "--steps", steps, "--device", "cpu", "--out", "one", *settings)
            assert (done.exit_code == 0) == (steps == 1), (said, done.output)
    assert "steps = 1, and here it is 2" in str(done.exception)
    assert read_card(tmp_path / "one", "encoder").figures["steps"] == 1


def test_quiet_prints_nothing(text, tmp_path):
    settings = [part for setting in TINY for part in ("--set", setting)]
    done = run("elmo", "--data", text, "--steps", 1, "--out", tmp_path / "out", "--quiet", *settings)
    assert done.exit_code == 0, done.output
    assert not done.output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("bert",), "did you mean albert or roberta"),
        (("elmo", "--set", "layers"), "written name=value"),
        (("elmo", "--set", "layer=2"), "no setting of elmo is called 'layer'"),
        (("elmo", "--data", "nowhere.txt"), "no such file: nowhere.txt"),
        (("elmo", "--data", "rm"), "no dataset is called 'rm'"),
        (("elmo", "--device", "tpu"), "--device must be cpu, cuda or auto, got 'tpu'"),
        (("elmo", "--minutes", "0"), "must be above 0"),
    ],
)
def test_bad_input_is_one_clear_line(args, says, text, tmp_path):
    data = () if "--data" in args else ("--data", text)
    done = run(*args, *data, "--out", tmp_path / "out")
    assert isinstance(done.exception, MalapropError), done.output
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_help_says_what_is_made():
    done = run("--help")
    assert done.exit_code == 0
    for word in ("elmo", "--minutes", "--start", "--set", "--half"):
        assert word in done.stdout
