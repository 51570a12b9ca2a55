"""A file that is streamed gives what it would give if it were held."""

import csv
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import DataError, SettingError
from malaprop.data import base, load, stream
from malaprop.data.stream import Stream, open_stream


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(stream, "LARGE", 0)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


ROWS = [("a good film", "pos"), ("a, bad film", "neg"), ("a good film", "pos"), ("", "neg"), ('"so"\nso', "pos")]
JSONL = "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in ROWS)


def as_csv(path, mark=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=mark)
        writer.writerow(["text", "label"])
        writer.writerows(ROWS)
    return path


@pytest.fixture(params=["x.csv", "x.tsv", "x.jsonl", "x.jsonl.gz", "x.parquet"])
def file(request, tmp_path):
    path = tmp_path / request.param
    if request.param.endswith(("csv", "tsv")):
        return as_csv(path, "\t" if request.param.endswith("tsv") else ",")
    if request.param == "x.parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as parquet

        parquet.write_table(pa.table({"text": [t for t, _ in ROWS], "label": [y for _, y in ROWS]}), path)
        return path
    return write(path, gzip.compress(JSONL.encode()) if request.param.endswith("gz") else JSONL)


def test_the_same_examples_as_held(file):
    held, streamed = load(file), base.reach(file)
    assert isinstance(streamed, Stream)
    assert tuple(streamed) == tuple(streamed) == held.examples
    assert (streamed.name, streamed.labels, streamed.fields) == (held.name, held.labels, held.fields)
    assert (len(streamed), streamed.present) == (len(held), held.present)


@pytest.mark.parametrize("count", [1, 3, 5, 9, None])
def test_the_same_sample_as_held(tmp_path, monkeypatch, count):
    rows = "".join(json.dumps({"text": f"text {i % 7}", "label": i % 2}) + "\n" for i in range(8))
    file = write(tmp_path / "x.jsonl", rows)
    held = load(file).sample(count, seed=3)
    for most in (0, 100):
        monkeypatch.setattr(stream, "HELD", most)
        found = open_stream(file).sample(count, seed=3)
        assert len(found) == len(held)
        assert {e.id: e for e in found} == {e.id: e for e in held}
    if count in (1, 3, 5):
        assert found == held  # a small sample is a dataset like any other, order and fingerprint included
        assert found.fingerprint == held.fingerprint
    with pytest.raises(SettingError, match="at least 1"):
        open_stream(file).sample(0)


@given(st.permutations(range(6)))
def test_the_fingerprint_sees_content_and_not_order(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("x")
    rows = [json.dumps({"id": i, "text": f"text {i}", "label": i % 2}) + "\n" for i in range(6)]
    first = open_stream(write(folder / "a.jsonl", "".join(rows)))
    other = open_stream(write(folder / "b.jsonl", "".join(rows[i] for i in order)))
    changed = open_stream(write(folder / "c.jsonl", "".join(rows[:5])))
    assert first.fingerprint == other.fingerprint != changed.fingerprint


def test_own_ids_and_labels_of_a_model(tmp_path):
    file = write(tmp_path / "x.csv", "id,text,label\nr1,good,pos\nr1,bad,neg\n,so,neg\n,so,neg\n")
    held, streamed = load(file), open_stream(file)
    assert [e.id for e in streamed] == [e.id for e in held]
    turned = streamed.in_terms_of(("POS", "NEG"))
    assert [e.label for e in turned] == [e.label for e in held.in_terms_of(("POS", "NEG"))] == [0, 1, 1, 1]
    assert turned.labels == ("POS", "NEG")
    assert turned.fingerprint != streamed.fingerprint
    with pytest.raises(DataError, match="has the labels neg, pos, the model knows spam, ham"):
        streamed.in_terms_of(("spam", "ham"))
    with pytest.raises(DataError, match="has the label pos, the model knows neg, other"):
        streamed.in_terms_of(("neg", "other"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\n", "holds no rows"),
        ("text,score\na,1\n", "has the columns text, score; expected label"),
        ("text,label\na,1\nb,\n", "line 3 has no label"),
        ("text,label\na,1\na,1\nb,good\n", r"line 4 has the label 'good', a name, where .* '1', an integer"),
        ("text,label\na,1\nb, c,0\n", "line 3 has 3 columns"),
        (b"text,label\nok,1\ncaf\xe9,0\n", "not UTF-8: byte 0xE9 in line 3"),
    ],
)
def test_what_is_wrong_is_found_before_the_first_example(tmp_path, content, message):
    file = write(tmp_path / "x.csv", content)
    with pytest.raises(DataError, match=message) as streamed:
        base.reach(file)
    with pytest.raises(DataError) as held:
        load(file)
    assert str(streamed.value) == str(held.value)


def test_a_file_that_changes_while_it_is_read_says_so(tmp_path):
    file = write(tmp_path / "x.csv", "text,label\na,0\nb,1\n")
    found = open_stream(file)
    write(file, "text,label\na,0\nb,7\n")
    with pytest.raises(DataError, match="changed while it was read"):
        list(found)


def test_small_files_names_and_json_lists_are_held(tmp_path, monkeypatch):
    assert not stream.is_large(write(tmp_path / "x.json", "[]"))
    assert not stream.is_large(tmp_path / "none.csv")
    monkeypatch.setattr(stream, "LARGE", 1000)
    assert not stream.is_large(write(tmp_path / "x.csv", "text,label\n"))
    assert base.need_two_labels(base.reach(write(tmp_path / "y.csv", "text,label\na,0\nb,1\n"))).present == {0, 1}


@pytest.mark.parametrize("given", [("a", "a", "a-2", "a-2-2", "a"), ("a-2", "a", "a", "a-3", "a")])
def test_ids_that_look_like_repeated_ones_stay_apart(tmp_path, given):
    rows = [{"id": own, "text": f"film {i}", "label": i % 2} for i, own in enumerate(given)]
    path = write(tmp_path / "ids.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    ids = [e.id for e in load(path)]
    assert len(set(ids)) == len(given)
    assert ids == [e.id for e in open_stream(path)]
