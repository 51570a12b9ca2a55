"""malaprop qa attack: answers stay in the context, successes are real, and bad input is one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from malaprop.cli.main import main
from malaprop.core.errors import VictimError
from malaprop.core.judgement import JUDGE
from malaprop.engine.service import FunctionService
from malaprop.features.answering import statements
from malaprop.features.answering.readers import load
from malaprop.features.answering.record import terminal
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs import services
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from tests.features.answering.small_readers import CONTEXTS, answer, tiny_model, write

MODEL = """
from tests.features.answering.small_readers import answer, span
def text(pairs):
    return [max(found, key=found.__getitem__) for found in answer(pairs)]
def outside(pairs):
    return [(0, 10_000) for _ in pairs]
def nothing(pairs):
    return ["" for _ in pairs]
def few(pairs):
    return []
def fails(pairs):
    raise RuntimeError("asleep")
def tesla(pairs):
    if any("Tesla" in context for _, context in pairs):
        raise RuntimeError("not Tesla")
    return answer(pairs)
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    monkeypatch.delitem(sys.modules, "own_reader", raising=False)
    monkeypatch.setattr(statements, "_antonyms", dict)
    monkeypatch.setattr("malaprop.frame.runs.services._tagger", lambda: Tags())
    Path("own_reader.py").write_text(MODEL)
    write(Path("asked.jsonl"))


class Tags:
    """A tagger that knows the words of these questions."""

    KNOWN = {"did": "AUX", "was": "AUX", "move": "VERB", "built": "VERB", "born": "VERB", "die": "VERB", "to": "ADP",
             "in": "ADP"}  # fmt: skip

    def tags(self, strings, spans):
        return [
            [self.KNOWN.get(string[a:b].lower(), "NOUN") for a, b in some]
            for string, some in zip(strings, spans, strict=True)
        ]


def attack(out, **more):
    values = {"victim": "own_reader:answer", "data": "asked.jsonl", "attacks": ("addsent",), "n": 0}
    return conduct(build(find_study("qa attack"), {**values, "out": out, "quiet": True, "device": "cpu", **more}))


def outcomes_in(folder):
    return sorted(map(compare_key, read_outcomes(Path(folder))))


def test_a_misleading_sentence_misleads():
    (run,) = attack("run").record.runs
    assert (run.clean.value, run.questions, run.errors) == (100, 4, 0)
    assert run.success.hits > 0
    assert run.attacked.value == pytest.approx(100 * (1 - run.success.hits / 4), abs=30)
    for one in read_outcomes(Path("run")):
        if one.status != "success":
            continue
        before, after = one.original.fields["context"], one.adversarial.fields["context"]
        assert after.startswith(before.removesuffix("."))
        assert after.endswith(".")
        assert one.adversarial.fields["question"] == one.original.fields["question"]
        told = answer([(one.original.fields["question"], after)])[0]
        assert max(told, key=told.__getitem__) == one.adversarial.fields["answered"]
        assert one.adversarial.fields["answered"] not in json.loads(one.original.fields["answers"])


def test_added_words_and_changed_words_leave_the_answer_in_place():
    record = attack("run", attacks=("addany", "deepwordbug")).record
    assert [run.attack for run in record.runs] == ["addany", "deepwordbug"]
    assert record.runs[1].success.hits > 0
    for name in ("addany", "deepwordbug"):
        for one in read_outcomes(Path("run") / name):
            side = one.adversarial or one.original
            assert any(true in side.fields["context"] for true in json.loads(one.original.fields["answers"]))
    page = Path("run/report.html").read_text()
    assert "Attacks on question answering" in page
    assert '<mark class="new">' in page


def test_width_and_processes_change_nothing():
    attack("wide", attacks=("deepwordbug",)), attack("narrow", attacks=("deepwordbug",), width=1)
    assert outcomes_in("wide") == outcomes_in("narrow")


def test_spans_and_texts_are_answers_too():
    runs = [attack(name, victim=f"own_reader:{name}").record.runs[0] for name in ("span", "text")]
    assert runs[0].success == runs[1].success
    assert runs[0].clean.value == 100


@pytest.mark.parametrize("kind", ["Bert", "DistilBert"])
def test_a_folder_of_transformers_is_read_in_windows(kind, tmp_path):
    folder = tiny_model(tmp_path / "model", kind)
    reader = load(str(folder))
    (context, ((question, _), *_)) = next(iter(CONTEXTS.items()))
    ((best, share), *others), _ = reader.ask([(question, context), (question, "Gospic")])
    assert best in context
    assert share + sum(part for _, part in others) == pytest.approx(1)
    long = " ".join([context] * 6)  # three windows
    assert reader.ask([(question, long)])[0][0][0] in long
    (run,) = attack("run", victim=str(folder), attacks=("deepwordbug",), below=1.0, data="asked.jsonl").record.runs
    assert run.errors == 0
    with pytest.raises(VictimError, match="no word of the context"):
        reader.ask([("Who", "\u200b")])


def test_a_question_on_which_the_reader_fails_is_an_error_alone():
    record = attack("run", victim="own_reader:tesla").record
    (run,) = record.runs
    assert (run.errors, run.questions) == (2, 2)
    line = "addsent: 2 of 4 questions ended in an error: own_reader:tesla failed"
    assert line in terminal(record)
    assert line in Path("run/report.html").read_text()


def test_successes_that_the_judge_calls_kept_are_counted(monkeypatch, type_in):
    unsure = FunctionService(lambda asked: [0.5 for _ in asked])
    monkeypatch.setattr("malaprop.assets.measures.why_no_judge", lambda *_, **__: "")
    monkeypatch.setattr("malaprop.attacks.judge._reads_as", lambda *_: False)
    monkeypatch.setitem(services.shared(), JUDGE, unsure)
    out = type_in("--victim", "own_reader:answer", "--data", "asked.jsonl", "--attack", "deepwordbug", "--out", "run",
                  "--json")  # fmt: skip
    (run,) = json.loads(out.strip().splitlines()[-1])["runs"]
    assert run["success"]["hits"] > 0
    assert (run["kept"]["hits"], run["kept"]["total"]) == (0, run["success"]["total"])
    assert "Meaning kept" in Path("run/report.html").read_text()


def test_a_reader_that_knows_no_answer_leaves_nothing_to_attack():
    record = attack("run", victim="own_reader:nothing").record
    line = "addsent: own_reader:nothing answers 0 of 4 questions well enough, so there is nothing to attack"
    assert line in terminal(record)


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["malaprop", "qa", "attack", *map(str, words)])
        ended = 0
        try:
            main()
        except SystemExit as end:
            ended = int(end.code or 0)
        out, err = capsys.readouterr()
        assert ended == code, (out, err)
        return out if code == 0 else err

    return run


def test_the_command_reads_squad_and_prints_json(type_in):
    write(Path("dev.json"))
    out = type_in("--victim", "own_reader:answer", "--data", "dev.json", "--n", "all", "--out", "run", "--json")
    (run,) = json.loads(out.strip().splitlines()[-1])["runs"]
    assert (run["questions"], run["clean"]["value"], run["below"]) == (4, 100, 0.5)


BAD = {
    "no such file": ("missing.jsonl", "", "no such file"),
    "empty": ("bad.jsonl", "", "holds no question with an answer"),
    "no context": ("bad.jsonl", '{"question": "Who?", "answers": ["x"]}\n', "line 1: expected a context as text"),
    "numbers": ("bad.jsonl", '{"question": "Who?", "context": "x", "answers": [3]}\n', "expected answers as texts"),
    "other answer": ("bad.jsonl", '{"question": "Who?", "context": "b c", "answers": ["zz"]}\n',
                     "bad.jsonl, line 1: no answer stands in the context, such as 'zz'"),
    "other table": ("bad.csv", "text,label\nfine,1\n", "qa takes SQuAD's JSON, or JSONL with question, context and"),
    "not squad": ("bad.json", "[1]", "is not in the form of SQuAD"),
    "no list": ("bad.json", '{"data": [{"paragraphs": 3}]}', "article 1: expected a list `paragraphs`"),
    "no json": ("bad.json", "{", "cannot be read as JSON"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_said_in_one_line(case, type_in):
    name, content, message = BAD[case]
    if name != "missing.jsonl":
        Path(name).write_text(content)
    told = type_in("--victim", "own_reader:answer", "--data", name, code=2)
    assert message in told
    assert len(told.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--below", "0"), "--below must be above 0"),
        (("--attack", "hotflip-word"), "needs gradients"),
        (("--attack", "trigger"), "one change for all texts"),
        (("--attack", "addsent", "--validity", "valid"), "which the judge of meaning refuses"),
        (("--set", "count=0"), "count of at least 1"),
        (("--victim", "nowhere"), "there is no reader"),
        (("--victim", "own_reader:outside"), "expected a text, its start and end"),
        (("--victim", "own_reader:few"), "answered 0 of"),
        (("--victim", "own_reader:fails"), "asleep"),
    ],
)
def test_bad_settings_and_answers_are_said_in_one_line(words, message, type_in):
    given = {"--victim": "own_reader:answer", "--data": "asked.jsonl"} | dict(zip(words[::2], words[1::2], strict=True))
    told = type_in(*(word for pair in given.items() for word in pair), code=2)
    assert message in told
