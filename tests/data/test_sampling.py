"""A sample in one pass is the sample of the whole file."""

from __future__ import annotations

import random

import pytest

from malaprop.core.errors import DataError
from malaprop.data.base import load
from malaprop.data.stream import sample_file


def write(path, rows, head="text,label"):
    path.write_text(head + "\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("labels", [("neg", "pos"), ("0", "1"), ("1", "5"), ("contradiction", "entailment", "neutral")])
@pytest.mark.parametrize("count", [1, 7, 60, 500])
def test_it_is_what_the_whole_file_gives(tmp_path, labels, count):
    rng = random.Random(1)
    rows = [f"text {rng.randrange(200)},{rng.choice(labels)}" for _ in range(300)]  # many rows are there twice
    file = write(tmp_path / "x.csv", rows)
    for seed in (0, 1):
        found, whole = sample_file(file, count, seed), load(file)
        if found is None:  # a copy whose first is not drawn; a stream gives it
            assert count < 300
            continue
        assert list(found) == list(whole.sample(count, seed))
        assert (found.labels, found.notes, found.name, found.fields) == (
            whole.labels,
            whole.notes,
            "x.csv",
            whole.fields,
        )


def test_what_takes_more_than_one_pass_is_left_to_others(tmp_path, monkeypatch):
    monkeypatch.setattr("malaprop.data.stream._LOOK", 3)
    late = write(tmp_path / "late.csv", ["a,pos", "b,neg", "c,pos", "d,amazing"])
    own = write(tmp_path / "own.csv", ["1,a,pos", "2,b,neg"], "id,text,label")
    assert sample_file(late, 2, 0) is None
    assert sample_file(own, 2, 0) is None


@pytest.mark.parametrize(
    ("rows", "said"), [(["a,1", ","], "line 3 has no label"), (["a,1,2"], "line 2 has 3 columns"), ([], "no rows")]
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, rows, said):
    with pytest.raises(DataError, match=said):
        sample_file(write(tmp_path / "x.csv", rows), 2, 0)
