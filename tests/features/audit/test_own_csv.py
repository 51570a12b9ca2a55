"""One's own CSV: train, attack, audit, harden, certify, report; of each command, which rows and labels it took."""

from __future__ import annotations

import json
import sys

import pytest

from malaprop.cli.main import main
from malaprop.data.base import load
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import find_runs, read_outcomes
from malaprop.frame.study.selection import Selection

GOOD, BAD = ("good", "great", "nice", "fine"), ("bad", "awful", "poor", "dull")
FUNCTIONS = '''
def predict(texts):
    """praise first, so against the order of the alphabet's other end"""
    return [[0.9, 0.1] if any(w in t for w in ("good", "great", "nice", "fine")) else [0.1, 0.9] for t in texts]

def turned(texts):
    return [row[::-1] for row in predict(texts)]

def four(texts):
    return [[*row, 0.0, 0.0] for row in predict(texts)]
'''
SMALL = ("--set", "epochs=3", "--set", "rate=0.02", "--set", "hidden=8", "--device", "cpu", "--quiet", "--json")


def rows(count: int) -> list[str]:
    found = []
    for i in range(count):
        words, label = ((GOOD, "praise"), (BAD, "slur"))[i % 2]
        found.append(f'"the {words[i % 4]} film number {i}, a {words[(i + 1) % 4]} one",{label}')
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a CSV, functions, and a model of the zoo trained on that CSV by the real command."""
    place = tmp_path_factory.mktemp("own")
    (place / "reviews.csv").write_text("text,label\n" + "\n".join(rows(240)) + "\n", encoding="utf-8")
    (place / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(
            sys, "argv", ["malaprop", "train", "LSTM-W-Random-1", "--data", "reviews.csv", "--out", "mine", *SMALL]
        )
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    return place


@pytest.fixture
def type_in(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    monkeypatch.delitem(sys.modules, "functions", raising=False)

    def run(*words: str):
        monkeypatch.setattr(sys, "argv", ["malaprop", *words, *([] if words[0] == "report" else ["--json"])])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        last = out.strip().splitlines()[-1] if out.strip() else "{}"
        return code, json.loads(last) if last.startswith("{") else {}, err

    yield run
    sys.modules.pop("functions", None)


@pytest.fixture
def parts(home):
    return Selection(data=str(home / "reviews.csv")).splits()


def ids(folder) -> set[str]:
    return {outcome.id for outcome in read_outcomes(folder)}


def test_attack_takes_the_rows_that_the_model_did_not_learn(type_in, home, parts):
    code, said, err = type_in(
        "attack", "keyboard", "--victim", "mine", "--data", "reviews.csv", "--n", "all", "--out", "attacked"
    )
    assert code == 0, err
    assert ids(home / "attacked") == {e.id for e in parts.test}
    run = Run.read(home / "attacked")
    assert (run.data, run.split, run.labels) == ("reviews.csv:test", "test", ("praise", "slur"))
    assert (said["data"], said["split"], said["labels"]) == ("reviews.csv:test", "test", ["praise", "slur"])
    assert "its test part, for mine was trained on the rest; --split all takes every row" in err
    assert 'data = "reviews.csv:test"' in (home / "attacked" / "run.toml").read_text()


@pytest.mark.parametrize(
    ("victim", "split", "expected"),
    [
        ("mine", "all", 240),
        ("functions:predict", "auto", 240),
        ("functions:predict", "test", None),
        ("ranmask(mine)", "auto", None),
        ("ensemble:mine+mine", "auto", None),
    ],
)
def test_other_victims_and_parts(type_in, home, parts, victim, split, expected, tmp_path):
    words = ("--victim", victim, "--data", "reviews.csv", "--split", split, "--n", "all", "--device", "cpu")
    code, _, err = type_in("attack", "homoglyph", *words, "--set", "share=0.1", "--out", str(tmp_path / "o"))
    assert code == 0, err
    assert len(ids(tmp_path / "o")) == (expected or len(parts.test))


def test_an_audit_of_two_takes_one_set_of_rows_and_the_report_says_which(type_in, home, parts):
    victims = "mine,functions:predict"
    code, said, err = type_in(
        "audit",
        "--validity",
        "paper",
        "--victim",
        victims,
        "--data",
        "reviews.csv",
        "--attacks",
        "keyboard,homoglyph",
        "--out",
        "audit",
    )
    assert code == 0, err
    assert (said["data"], said["split"], said["n"]) == ("reviews.csv:test", "test", min(100, len(parts.test)))
    folders = find_runs([home / "audit"])
    assert len(folders) == 4
    assert len({frozenset(ids(folder)) for folder in folders}) == 1
    assert err.count("its test part") == 1
    assert err.count("functions:predict has no names for its labels") == 1
    assert "reviews.csv:test" in (home / "audit" / "report.html").read_text()


def test_a_hardened_model_and_its_certificates(type_in, home, parts):
    code, _, err = type_in(
        "harden", "ranmask", "--model", "LSTM-W-Random-1", "--data", "reviews.csv", "--out", "hard", *SMALL[:-1]
    )
    assert code == 0, err
    words = (
        "--data",
        "reviews.csv",
        "--n",
        "6",
        "--samples",
        "40",
        "--select",
        "10",
        "--device",
        "cpu",
        "--out",
        "proved",
    )
    code, said, err = type_in("certify", "--victim", "hard", *words)
    assert code == 0, err
    assert said["clean_accuracy"]["total"] == 6
    lines = [json.loads(line) for line in (home / "proved" / "certificates.jsonl").read_text().splitlines()]
    assert {line["id"] for line in lines} <= {e.id for e in parts.test}
    assert "hard was trained on the rest" in err


def test_the_study_of_defences_and_the_audit_take_the_same_rows(type_in, home, parts):
    words = ("--victim", "mine", "--data", "reviews.csv", "--n", "8", "--attacks", "keyboard")
    assert type_in("audit", "--validity", "paper", *words, "--out", "plain")[0] == 0
    more = ("--defences", "none,ranmask", "--samples", "0", "--draws", "1", "--fresh", "1", "--device", "cpu")
    code, _, err = type_in(
        "study", "defences", "--validity", "paper", *words, *more, "--hardened", "ranmask=mine", "--out", "defended"
    )
    assert code == 0, err
    assert ids(home / "plain" / "mine" / "keyboard") == ids(home / "defended" / "none" / "keyboard")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--victim", "functions:four"), "reviews.csv has 2 labels (praise, slur), functions:four scores 4"),
        (("--victim", "functions:predict", "--labels", "good,bad"), "the model knows good, bad"),
        (("--victim", "functions:predict", "--labels", "praise,slur,other"), "scores 2"),
        (("--victim", "mine", "--split", "tests"), "did you mean test?"),
    ],
)
def test_labels_and_parts_that_cannot_be(type_in, words, reason, tmp_path):
    code, _, err = type_in("attack", "keyboard", *words, "--data", "reviews.csv", "--out", str(tmp_path / "o"))
    assert code == 2
    assert reason in err
    assert not (tmp_path / "o").exists()


def test_other_names_of_labels_are_refused_and_an_order_mends_it(type_in, home, tmp_path):
    text = (home / "reviews.csv").read_text().replace(",praise", ",positive").replace(",slur", ",negative")
    (home / "renamed.csv").write_text(text)
    words = ("attack", "homoglyph", "--victim", "mine", "--data", "renamed.csv", "--n", "20", "--device", "cpu")
    code, _, err = type_in(*words, "--out", str(tmp_path / "a"))
    assert (code, "the model knows praise, slur" in err) == (2, True)
    code, said, err = type_in(*words, "--labels", "positive,negative", "--out", str(tmp_path / "b"))
    assert code == 0, err
    assert said["clean_accuracy"]["value"] > 0.9
    assert said["labels"] == ["positive", "negative"]


def test_a_function_with_its_labels_turned_is_warned_of(type_in, tmp_path):
    words = ("attack", "homoglyph", "--victim", "functions:turned", "--data", "reviews.csv", "--n", "20")
    code, said, err = type_in(*words, "--out", str(tmp_path / "a"))
    assert code == 0
    assert "below chance (50.0%)" in err
    assert "below chance" in said["warnings"][0]
    code, said, err = type_in(*words, "--labels", "slur,praise", "--out", str(tmp_path / "b"))
    assert said["clean_accuracy"]["value"] == 1
    assert not said["warnings"]


def test_what_cannot_change_is_counted_in_summary_terminal_and_report(type_in, home, tmp_path):
    (home / "chinese.csv").write_text("text,label\n这部电影很好看,praise\na good film,praise\n")
    words = ("attack", "homoglyph", "--victim", "functions:predict", "--data", "chinese.csv", "--labels", "praise,slur")
    (home / "functions.py").touch()
    code, said, err = type_in(*words, "--out", str(tmp_path / "o"))
    assert code == 0, err
    assert said["nothing_to_change"] == 0  # the function says slur of what it does not know
    (home / "kind.py").write_text("def predict(texts):\n    return [[0.9, 0.1] for _ in texts]\n")
    words = ("attack", "homoglyph", "--victim", "kind:predict", "--data", "chinese.csv", "--labels", "praise,slur")
    code, said, err = type_in(*words, "--out", str(tmp_path / "p"))
    assert said["nothing_to_change"] == 1
    assert "this attack found nothing to change in 1 of 2 texts" in err
    assert type_in("report", str(tmp_path / "p"))[0] == 0
    page = (tmp_path / "p" / "report.html").read_text()
    assert "1 nothing to change" in page
    assert "this attack found nothing to change" in page


def test_a_file_of_one_label_is_attacked(type_in, home, tmp_path):
    (home / "slurs.csv").write_text("text;label\n" + "\n".join(f"a bad film {i};slur" for i in range(5)) + "\n")
    code, said, err = type_in(
        "attack", "homoglyph", "--victim", "mine", "--data", "slurs.csv", "--out", str(tmp_path / "o")
    )
    assert code == 0, err
    assert said["clean_accuracy"]["value"] == 1


def test_a_named_pipeline_is_matched_by_name(type_in, home, tmp_path):
    sklearn = pytest.importorskip("sklearn")
    skops = pytest.importorskip("skops.io")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    assert sklearn
    data = load(home / "reviews.csv")
    texts, names = [e.fields["text"] for e in data], [data.labels[e.label] for e in data]
    skops.dump(make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, names), home / "pipe.skops")
    words = ("attack", "homoglyph", "--victim", "pipe.skops", "--data", "reviews.csv", "--n", "10")
    code, said, err = type_in(*words, "--out", str(tmp_path / "o"))
    assert code == 0, err
    assert said["clean_accuracy"]["value"] == 1
    (home / "other.csv").write_text("text,label\na good film,yes\na bad film,no\n")
    code, _, err = type_in(
        "attack", "homoglyph", "--victim", "pipe.skops", "--data", "other.csv", "--out", str(tmp_path / "q")
    )
    assert (code, "the model knows praise, slur" in err) == (2, True)


def test_a_transfer_study_takes_the_rows_that_no_source_learnt(type_in, home, parts):
    words = ("--data", "reviews.csv", "--recipe", "keyboard", "--no-base", "--n", "0", "--device", "cpu")
    code, _, err = type_in("transfer", "--victims", "mine,functions:predict", *words, "--out", "carried")
    assert code == 0, err
    folders = find_runs([home / "carried"])
    assert len(folders) == 2
    assert all(ids(folder) == {e.id for e in parts.test} for folder in folders)


def test_a_study_attacks_rows_that_its_models_did_not_learn(type_in, home, parts):
    words = ("--model", "CNN-C-Random-1", "--methods", "blackbox", "--confidences", "0", "--beam", "1", "--n", "500")
    small = ("--set", "epochs=1", "--device", "cpu", "--quiet")
    code, _, err = type_in("study", "hotflip", "--data", "reviews.csv", *words, *small, "--out", "flips")
    assert code == 0, err
    taken = {id for folder in find_runs([home / "flips"]) for id in ids(folder)}
    assert taken == {e.id for e in parts.test}
