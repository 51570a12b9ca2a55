"""Which examples are taken, of files and datasets, with victims that were trained on them and others."""

from __future__ import annotations

import gzip
import json

import pytest

from malaprop.core.errors import DataError, SettingError
from malaprop.data.base import load
from malaprop.data.stream import Stream
from malaprop.frame.study.selection import Selection, trained_on


@pytest.fixture
def file(tmp_path):
    rows = [f"the {('good', 'bad')[i % 2]} film {i},{('pos', 'neg')[i % 2]}" for i in range(200)]
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def model(folder, fingerprint: str) -> str:
    folder.mkdir()
    (folder / "model.json").write_text(json.dumps({"data_fingerprint": fingerprint}))
    return str(folder)


def ids(examples) -> set[str]:
    return {e.id for e in examples}


def test_of_a_file_that_a_victim_was_trained_on_the_test_part_is_taken(file, tmp_path):
    texts = Selection(data=str(file), n=0)
    own, other = model(tmp_path / "own", load(file).fingerprint), model(tmp_path / "other", "0" * 16)
    parts = texts.splits()
    for victims in (
        [own],
        [other, own],
        [f"five({own})"],
        [f"ensemble:{other}+{own}"],
        ["toy:predict", f"a:b=1({own})"],
    ):
        found = texts.examples(victims)
        assert ids(found) == ids(parts.test)
        assert (found.name, found.part) == ("reviews.csv:test", "test")
        assert (
            f"{len(parts.test)} of 200 rows are taken, its test part, for {own} was trained on the rest"
            in found.notes[-1]
        )
    for victims in ([], [other], ["toy:predict"], [str(tmp_path / "nowhere")]):
        found = texts.examples(victims)
        assert (len(found), found.name, found.part, found.notes) == (200, "reviews.csv", "all", ())


def test_parts_that_are_asked_for_are_those_that_train_cuts(file, tmp_path):
    own = model(tmp_path / "own", load(file).fingerprint)
    parts = Selection(data=str(file)).splits()
    for split, rows in (("train", parts.train), ("validation", parts.held_out), ("test", parts.test)):
        assert ids(Selection(data=str(file), split=split, n=0).examples([own])) == ids(rows)
    assert len(Selection(data=str(file), split="all", n=0).examples([own])) == 200
    assert ids(Selection(data=str(file), n=0).examples(trains=True)) == ids(parts.test)


def test_the_mark_is_of_the_file_whatever_else_is_asked_for(file, tmp_path):
    own = model(tmp_path / "own", load(file).fingerprint)
    found = Selection(data=str(file), n=5, labels=("pos", "neg")).examples([own])
    assert (found.part, found.labels, len(found)) == ("test", ("pos", "neg"), 5)
    truth = {e.id: e.fields["text"] for e in load(file)}
    assert all(e.label == int(" bad " in truth[e.id]) for e in found)


def test_a_dataset_gives_its_own_parts():
    name = "entailment-synthetic"
    assert Selection(data=name, n=3).examples().name == f"{name}:test"
    assert Selection(data=name, n=3, split="train").examples().name == f"{name}:train"
    whole = Selection(data=name, n=0, split="all").examples()
    assert (whole.name, whole.part) == (name, "all")
    assert len(whole) == sum(len(load(name, split=split)) for split in ("train", "validation", "test"))


def test_a_sample_of_a_large_file_is_that_of_a_small_one(file, monkeypatch):
    small = Selection(data=str(file), n=7, seed=3).examples()
    monkeypatch.setattr("malaprop.data.stream.LARGE", 1)
    large = Selection(data=str(file), n=7, seed=3).examples()
    assert list(large) == list(small)
    assert large.fingerprint == small.fingerprint


def test_a_large_file_is_not_held_to_see_that_a_victim_was_trained_on_another(file, tmp_path, monkeypatch):
    monkeypatch.setattr("malaprop.data.stream.LARGE", 1)
    own, other = tmp_path / "own", tmp_path / "other"
    for folder, mark, rows in ((own, load(file).fingerprint, 160), (other, "0" * 16, 6782)):
        model(folder, mark)
        (folder / "model.json").write_text(json.dumps({"data_fingerprint": mark, "figures": {"train_rows": rows}}))
    assert isinstance(Selection(data=str(file), n=0).examples([str(other)]), Stream)
    assert Selection(data=str(file), n=0).examples([str(other), str(own)]).part == "test"


def test_a_file_of_translations_is_cut_by_its_sources(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("source,target\n" + "".join(f"a cat {i // 2},un chat {i}\n" for i in range(200)))
    parts = [Selection(data=str(path), split=split, n=0).pairs() for split in ("train", "validation", "test")]
    sources = [{e.fields["source"] for e in part} for part in parts]
    assert sum(map(len, parts)) == 200
    assert not sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2]
    folder = tmp_path / "nmt"
    folder.mkdir()
    (folder / "translator.json").write_text(json.dumps({"data_fingerprint": load(path).fingerprint}))
    assert ids(Selection(data=str(path), n=0).pairs([str(folder)])) == ids(parts[2])


@pytest.mark.parametrize("settings", [{"split": "tests"}, {"n": -1}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(SettingError):
        Selection(**settings)


def test_a_file_too_small_to_cut_says_what_to_do(tmp_path):
    (tmp_path / "few.csv").write_text("text,label\na,0\nb,1\n")
    with pytest.raises(DataError, match="--split all"):
        Selection(data=str(tmp_path / "few.csv"), split="test").examples()


def test_damaged_cards_are_left_to_whoever_loads_the_model(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    for card in ("", "[]", "{}", "{"):
        (folder / "model.json").write_text(card)
        assert list(trained_on([str(folder)])) == []


@pytest.mark.parametrize(
    "figures", [{"train_rows": None}, {"train_rows": "many"}, {"train_rows": float("inf")}, None, []]
)
def test_a_card_whose_figures_cannot_be_read_still_says_what_data_it_was_trained_on(figures, file, tmp_path):
    own = model(tmp_path / "own", mark := load(file).fingerprint)
    (tmp_path / "own" / "model.json").write_text(json.dumps({"data_fingerprint": mark, "figures": figures}))
    assert list(trained_on([own])) == [(own, mark, 0)]
    assert Selection(data=str(file), n=0).examples([own]).part == "test"


def test_a_dataset_without_validation_gives_the_rows_that_training_holds_out(tmp_path, monkeypatch):
    (tmp_path / "ag_news").mkdir()
    for name, many in (("train_part", 200), ("test", 40)):
        rows = [json.dumps({"text": f"{name} item {i}", "label": i % 4}) for i in range(many)]
        with gzip.open(tmp_path / "ag_news" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path))
    texts = Selection(data="ag_news", split="validation", n=0)
    found = texts.whole()
    assert ids(found) == ids(texts.splits().held_out)
    assert ids(found).isdisjoint(ids(texts.splits().train))
    assert found.name == "ag_news:validation"
    assert any("training rows, those that `malaprop train` holds out" in note for note in found.notes)
