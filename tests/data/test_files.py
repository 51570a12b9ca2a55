"""Files of all kinds, and each way a file can be wrong."""

import gzip
import json

import pytest

from malaprop.core.errors import DataError
from malaprop.data import load


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


ROWS = [("a good film", 1), ("a, bad film", 0), ("", 1)]
CSV = 'text,label\na good film,1\n"a, bad film",0\n"",1\n'
TSV = "text\tlabel\na good film\t1\na, bad film\t0\n\t1\n"
JSONL = "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", CSV),
        ("x.CSV", "\ufeff" + CSV.replace("text,label", " Text ,LABEL").replace("\n", "\r\n")),
        ("x.tsv", TSV),
        ("x.jsonl", JSONL),
        ("x.json", json.dumps([{"label": y, "text": t, "more": [1]} for t, y in ROWS])),
        ("x.jsonl.gz", gzip.compress(JSONL.encode(), mtime=0)),
        ("x.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
    ],
)
def test_the_same_rows_from_every_kind(tmp_path, name, content):
    data = load(write(tmp_path / name, content))
    assert [(e.fields["text"], e.label) for e in data] == ROWS
    assert data.labels == ("0", "1")
    assert data.name == name


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({"text": [t for t, _ in ROWS], "label": [y for _, y in ROWS]}), tmp_path / "x.parquet")
    assert [(e.fields["text"], e.label) for e in load(tmp_path / "x.parquet")] == ROWS
    twins = pa.table([["a"], ["b"], [0]], names=["text", "text", "label"])
    parquet.write_table(twins, tmp_path / "twins.parquet")
    with pytest.raises(DataError, match="two columns called text; rename one"):
        load(tmp_path / "twins.parquet")
    with pytest.raises(DataError, match="not a Parquet file"):
        load(write(tmp_path / "y.parquet", "text,label"))


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('text\tlabel\n"good" film\t1\na "b\t0\n', ['"good" film', 'a "b']),  # quotes are text
        ('text\tlabel\n"a ""good"" film"\t1\nb\t0\n', ['a "good" film', "b"]),  # as data frames write
        ('text\tlabel\n"two\nlines"\t1\nb\t0\n', ["two\nlines", "b"]),
    ],
)
def test_tabs_with_and_without_quoting(tmp_path, content, texts):
    assert [e.fields["text"] for e in load(write(tmp_path / "x.tsv", content))] == texts


def test_odd_characters_survive(tmp_path):
    text = "nul \x00 tab \t line\u2028sep \U0001f600 e\u0301 \u05d0"
    data = load(write(tmp_path / "x.jsonl", json.dumps({"text": text, "label": 0}, ensure_ascii=False)))
    assert data.examples[0].fields["text"] == text
    data = load(write(tmp_path / "x.csv", f'text,label\n"{text}",0\n'))
    assert data.examples[0].fields["text"] == text


def test_a_huge_field(tmp_path):
    data = load(write(tmp_path / "x.csv", f"text,label\n{'word ' * 100_000},0\n"))
    assert len(data.examples[0].fields["text"]) == 500_000


def test_pairs_and_translations(tmp_path):
    pairs = load(write(tmp_path / "x.csv", "premise,hypothesis,label\na man,a person,entailment\nb,c,neutral\n"))
    assert pairs.fields == ("premise", "hypothesis")
    assert pairs.examples[0].open == ("hypothesis",)
    assert pairs.labels == ("entailment", "neutral")
    for header in ("source,target", "src,tgt"):
        data = load(write(tmp_path / "t.csv", f"{header}\ngood,gut\n"))
        assert data.fields == ("source", "target")
        assert data.examples[0].open == ("source",)
        assert data.labels == ()


def test_named_columns_and_ids(tmp_path):
    file = write(tmp_path / "x.csv", "id,review,stars\nr1,good,1\nr1,bad,0\n,so,0\n")
    data = load(file, text="review", label="stars")
    assert [e.id for e in data][:2] == ["r1", "r1-2"]
    assert len(data.examples[2].id) == 12
    assert data.fields == ("text",)


def test_limit_keeps_the_first_rows(tmp_path):
    assert len(load(write(tmp_path / "x.csv", CSV), limit=2)) == 2


WRONG = [
    ("x.csv", "sentence,score\na,1\n", {}, r"has the columns sentence, score; expected text,label or"),
    ("x.csv", "text,score\na,1\n", {}, r"has the columns text, score; expected label"),
    ("x.csv", "text,text,label\na,b,1\n", {}, r"two columns called text; rename one"),
    (
        "x.csv",
        "Text,text,label\na,b,1\n",
        {},
        r"has the columns 'Text' and 'text', either of which may be the text; rename",
    ),
    ("x.csv", "text,label,Label\na,0,1\n", {}, r"columns 'label' and 'Label', either of which may be the label"),
    ("x.jsonl", '{"text": "a", "TEXT": "b", "label": 0}', {}, r"columns 'text' and 'TEXT'"),
    ("x.csv", "premise,Premise,hypothesis,label\na,b,c,1\n", {}, r"columns 'premise' and 'Premise'"),
    ("x.csv", CSV, {"text": "body"}, r"expected body"),
    ("x.csv", CSV, {"label": "stars"}, r"expected stars"),
    ("x.csv", "", {}, r"holds no rows"),
    ("x.jsonl", "\n\n", {}, r"holds no rows"),
    ("x.csv", "text,label\n", {}, r"holds no rows"),
    ("x.csv", b"text,label\nok,1\ncaf\xe9,0\n", {}, r"not UTF-8: byte 0xE9 in line 3"),
    ("x.csv", "text,label\na,1\nb, c,0\n", {}, r"line 3 has 3 columns, the header has 2"),
    ("x.csv", 'text,label\n"a,1\nb,0\n', {}, r"line 3: unexpected end of data"),
    ("x.csv", "text,label\na,1\nb,\n", {}, r"line 3 has no label"),
    ("x.csv", "text,label\na,1\nb,good\n", {}, r"line 3 has the label 'good', a name, where .* '1', an integer"),
    ("x.csv", "text,label\na,good\nb,0\n", {}, r"line 3 has the label '0', an integer"),
    ("x.csv", "text,label\na,goood\n", {"labels": ["bad", "good"]}, r"'goood'; expected .* one of: bad, good"),
    ("x.csv", "text,label\na,2\n", {"labels": ["bad", "good"]}, r"'2'; expected an integer from 0 to 1"),
    ("x.jsonl", '{"text": 1, "label": 0}', {}, r"line 1 has a int as text"),
    ("x.jsonl", '{"text": "a", "label": 0}\n{"label": 0}', {}, r"line 2 has no text"),
    ("x.jsonl", '{"text": "a", "label": 0}\n{"text": "b", "label": NaN}', {}, r"line 2 has no label"),
    ("x.jsonl", "[1]", {}, r"line 1 is a JSON list"),
    ("x.jsonl", '{"text": "a"', {}, r"line 1 is not JSON"),
    ("x.json", "{}", {}, r"not a list of objects"),
    ("x.jsonl", '{"text": "a", "label": ' + "9" * 5000 + "}", {}, r"line 1 holds a whole number of over 4,300 digits"),
    ("x.json", '[{"text": "a", "label": ' + "9" * 5000 + "}]", {}, r"holds a whole number of over 4,300 digits; write"),
    ("x.json", "[" * 100_000, {}, r"nested too deeply"),
    ("x.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-9], {}, r"not a whole gzip file"),
    ("x.csv.gz", CSV, {}, r"not a whole gzip file"),
    ("x.xlsx", "?", {}, r"ends in .xlsx; expected one of .csv"),
]


@pytest.mark.parametrize(("name", "content", "options", "message"), WRONG)
def test_wrong_files_say_why_in_one_line(tmp_path, name, content, options, message):
    with pytest.raises(DataError, match=message) as error:
        load(write(tmp_path / name, content), **options)
    assert "\n" not in str(error.value)


def test_columns_that_differ_in_case_are_taken_where_they_are_named(tmp_path):
    file = write(tmp_path / "x.csv", "Text,text,Label,label\na,b,1,0\n")
    assert load(file, text="Text", label="Label").examples[0].fields == {"text": "a"}


def test_a_label_of_thousands_of_digits_is_a_name(tmp_path):
    digits = "9" * 5000
    data = load(write(tmp_path / "x.csv", f"text,label\na,{digits}.0\nb,{digits}\n"))
    assert sorted(data.labels) == sorted([digits, f"{digits}.0"])


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        load(tmp_path)


def test_lone_surrogate_is_kept_for_the_attack_to_mark(tmp_path):
    data = load(write(tmp_path / "x.jsonl", '{"text": "a \\ud800", "label": 0}'))
    assert data.examples[0].fields["text"] == "a \ud800"
    assert len(data.fingerprint) == 16


@pytest.mark.parametrize("mark", [";", "\t", ","])
def test_what_separates_columns_is_seen_in_the_header(tmp_path, mark):
    path = tmp_path / "x.csv"
    path.write_text(f'label{mark}text\nneg{mark}"so, so; bad"\npos{mark}good\n', encoding="utf-8")
    assert [e.fields["text"] for e in load(path)] == ["so, so; bad", "good"]


def test_a_header_with_other_names_is_split_too(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("stars;review\n1;bad\n5;good\n", encoding="utf-8")
    assert [e.fields["text"] for e in load(path, text="review", label="stars")] == ["bad", "good"]


def test_pairs_may_have_other_names(tmp_path):
    path = tmp_path / "qqp.csv"
    path.write_text("question1,question2,same\nwho?,who is it?,1\nwhy?,when?,0\n", encoding="utf-8")
    data = load(path, text="question1,question2", label="same")
    assert data.fields == ("premise", "hypothesis")
    assert [tuple(e.fields.values()) for e in data] == [("who?", "who is it?"), ("why?", "when?")]
    assert data.examples[0].editable == ("hypothesis",)
    for wrong in ("question1,question3", "question1,question2,same"):
        with pytest.raises(DataError, match=f"expected {wrong}"):
            load(path, text=wrong, label="same")
