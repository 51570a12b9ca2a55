"""The packaged splits and the local sets, over small made files."""

import csv
import gzip
import json

import pytest

from malaprop.assets import store
from malaprop.core.errors import AssetError, DataError
from malaprop.data import load, packaged
from malaprop.data.base import list_splits


@pytest.fixture
def reviews(tmp_path, monkeypatch):
    with (tmp_path / "movie_reviews.csv").open("w", newline="") as file:
        sink = csv.writer(file)
        sink.writerow(["text", "label", "source"])
        sink.writerows([f"review number {i}<br />end", i % 2, "imdb"] for i in range(300))
        sink.writerows([f"snippet {i} .", i % 2, "rotten_tomatoes"] for i in range(300))
        sink.writerow(["snippet  0.", 1, "rotten_tomatoes"])  # the same letters again
    monkeypatch.setattr(store, "locate", lambda name: tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", packaged.NAMES)
def test_splits_share_no_text_and_leave_none_out(reviews, name):
    parts = [[e.fields["text"] for e in load(name, split=s)] for s in ("train", "validation", "test")]
    whole = [text for part in parts for text in part]
    assert len(whole) == len(set(whole)) == 300
    assert 200 < len(parts[0]) < 270
    assert min(map(len, parts)) > 10
    assert not any("<br" in text for text in whole)
    assert load(name).labels == ("negative", "positive")


def test_a_split_is_fixed_by_the_text_alone():
    assert [packaged.split_of(t) for t in ("a fine film", "A fine film .", "a bad film", "b", "e")] == [
        packaged.split_of("afinefilm"),
        packaged.split_of("afinefilm"),
        packaged.split_of("abadfilm"),
        "train",
        "train",
    ]


def test_a_damaged_file_says_so(reviews):
    (reviews / "movie_reviews.csv").write_text("text,label\na,1\n")
    with pytest.raises(AssetError, match="malaprop fetch movie-reviews"):
        load("mr")


def test_local_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "data_root", lambda: tmp_path)
    (tmp_path / "mr").mkdir()
    rows = [{"text": f"t{i}", "label": i % 2, "textfooler1000": i < 3} for i in range(10)]
    with gzip.open(tmp_path / "mr/mr_all.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert (len(load("mr-full", split="train")), len(load("mr-full"))) == (7, 3)
    with pytest.raises(DataError, match="no split validation"):
        load("mr-full", split="validation")
    with pytest.raises(DataError, match="set MALAPROP_DATA"):
        load("snli")


def test_splits_by_name():
    assert list_splits("mnli") == ("train", "test")
    assert (
        list_splits("mr")
        == list_splits("entailment-synthetic")
        == list_splits("hub:any")
        == ("train", "validation", "test")
    )
