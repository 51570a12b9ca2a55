"""malaprop tag attack: tokens stay aligned, entity words stay, successes are real, and runs resume."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from killed import until_done

from malaprop.attacks.candidates.chars import CharEdits
from malaprop.cli.main import main
from malaprop.core.judgement import JUDGE
from malaprop.core.text import Text, Words
from malaprop.engine.service import FunctionService
from malaprop.features.tagging.data import read_sentences
from malaprop.features.tagging.entities import count_entities
from malaprop.features.tagging.presets import PRESETS
from malaprop.features.tagging.record import TaggingRecord, terminal
from malaprop.features.tagging.rules import ENTITIES, token_of_slots
from malaprop.features.tagging.run import TagAttacker, run
from malaprop.features.tagging.taggers import FunctionTagger, in_terms_of
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs import services
from malaprop.frame.runs.make_attack import recipe
from malaprop.frame.study import study as studies
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from tests.features.tagging.small_taggers import ROWS, scores, tag, write

MODEL = """
from tests.features.tagging.small_taggers import scores, tag
calls = []
def counted(sentences):
    calls.append(len(sentences))
    return scores(sentences)
def short(sentences):
    return [["O"] for _ in sentences]
def other(sentences):
    return [["B-DATE"] * len(tokens) for tokens in sentences]
def place(sentences):
    return [["I-LOC" if token == "Paris" else "O" for token in tokens] for tokens in sentences]
def undefined(sentences):
    return [[{"O": float("nan")} for _ in tokens] for tokens in sentences]
def numbers(sentences):
    return [[1 for _ in tokens] for tokens in sentences]
def rome(sentences):
    if any("Rome" in tokens for tokens in sentences):
        raise RuntimeError("not Rome")
    return scores(sentences)
def fails(sentences):
    raise RuntimeError("asleep")
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    monkeypatch.delitem(sys.modules, "own_tagger", raising=False)
    Path("own_tagger.py").write_text(MODEL)
    write(Path("names.conll"))


def attack(out, **more):
    values = {"victim": "own_tagger:scores", "data": "names.conll", "attacks": ("deepwordbug",), "n": 0}
    return conduct(build(find_study("tag attack"), {**values, "out": out, "quiet": True, "device": "cpu", **more}))


def outcomes_in(folder):
    return sorted(map(compare_key, read_outcomes(Path(folder))))


def untimed(record):
    return replace(record, runs=tuple(replace(run, seconds=0.0) for run in record.runs))


def test_entity_words_stay_and_every_success_is_one():
    record = attack("run").record
    (run,) = record.runs
    assert run.success.hits == run.success.total == len(ROWS) - 1
    assert run.skipped == 1
    assert run.errors == 0
    assert (run.clean.value, run.attacked.value) == (100.0, 0.0)
    assert [(one.name, one.there) for one in run.classes] == [("LOC", 9), ("PER", 9)]
    for one in read_outcomes(Path("run")):
        if one.status != "success":
            continue
        before, after = (side.fields["tokens"].split(" ") for side in (one.original, one.adversarial))
        gold = one.original.fields["tags"].split(" ")
        assert len(before) == len(after) == len(gold)
        assert all(a == b for a, b, kind in zip(before, after, gold, strict=True) if kind != "O")
        assert one.adversarial.fields["predicted"].split(" ") == tag([after])[0]
        assert count_entities(gold, tag([after])[0])[0] == 0
        assert one.queries.asked > 1


def test_entity_words_change_to_words_of_the_class():
    attack("run", entities="same-class")
    words = {kind: {t for tokens, tags in ROWS for t, k in zip(tokens, tags, strict=True) if k == f"I-{kind}"}
             for kind in ("PER", "LOC")}  # fmt: skip
    changed = 0
    for one in read_outcomes(Path("run")):
        if one.adversarial is None:
            continue
        before, after = (side.fields["tokens"].split(" ") for side in (one.original, one.adversarial))
        for old, new, kind in zip(before, after, one.original.fields["tags"].split(" "), strict=True):
            if kind != "O" and old != new:
                changed += 1
                assert new in words[kind.removeprefix("I-")]
    assert changed


def test_other_goals_and_a_share_of_the_entities():
    assert attack("other", goal="mislabelled").record.runs[0].success.hits == 0  # nothing beside a name does that
    missed, half = (attack(name, share=share, goal="missed").record.runs[0] for name, share in (("m", 1.0), ("h", 0.5)))
    assert missed.success.hits == half.success.hits == 9
    assert half.attacked.value == pytest.approx(200 * 9 / 27, abs=1e-3)
    assert (missed.changed_words, half.changed_words) == (2, 1)


def test_width_and_processes_change_nothing():
    attack("wide"), attack("narrow", width=1), attack("two", jobs=2)
    assert outcomes_in("wide") == outcomes_in("narrow") == outcomes_in("two")


def test_killed_within_any_write_it_comes_to_the_same(monkeypatch):
    whole = attack("whole")
    monkeypatch.setattr(studies, "_EVERY", 0.0)
    assert until_done(lambda _: attack("torn"), 0, most=40)
    assert outcomes_in("torn") == outcomes_in("whole")
    assert untimed(TaggingRecord.read(Path("torn"))) == untimed(whole.record)


def test_edits_that_would_move_a_tag_are_dropped():
    """Spaces inside words, and words that become empty."""
    spaces = replace(recipe("deepwordbug"), candidates=CharEdits(kinds=("space", "drop"), each=9), fallback=None)
    tagger = in_terms_of(FunctionTagger(call=scores, name="own"), None, ("LOC", "PER"))
    found = list(run(TagAttacker(attack=spaces, lexicon={}), tagger, read_sentences("names.conll")))
    assert {one.status for one in found} == {"success", "skipped"}
    for one in found:
        side = one.adversarial or one.original
        assert len(side.fields["tokens"].split(" ")) == len(one.original.fields["tags"].split(" "))


@pytest.fixture
def judge(monkeypatch):
    """A judge of meaning that refuses another word for "travelled", and can read no misspelt word."""

    def allow(asked):
        return [float("travelled" in one.changed.split()) for one in asked]

    monkeypatch.setattr("malaprop.assets.measures.why_no_judge", lambda *_, **__: "")
    monkeypatch.setattr("malaprop.attacks.judge._reads_as", lambda *_: False)
    monkeypatch.setitem(services.shared(), JUDGE, FunctionService(allow))


def test_a_valid_attack_stops_at_what_the_judge_refuses(judge):
    paper, valid = (attack(name, goal="missed", validity=name).record.runs[0] for name in ("paper", "valid"))
    assert (paper.success.hits, paper.kept.hits, paper.attacked.value) == (9, 0, 0)
    assert (valid.success.hits, valid.validity) == (0, "valid")
    assert valid.attacked.value == pytest.approx(200 * 9 / 27, abs=1e-3)  # the place is lost, the person is not
    half = attack("half", goal="missed", validity="valid", share=0.5).record.runs[0]
    assert half.success.hits == half.kept.hits == 9
    for one in (one for folder in ("valid", "half") for one in read_outcomes(Path(folder)) if one.adversarial):
        assert "travelled" in one.adversarial.fields["tokens"].split()


def test_sentences_that_the_judge_cannot_read_are_attacked_as_published(judge):
    text = "Das O\nist O\nnicht O\ndie O\nStadt O\nParis I-LOC\n, O\nsondern O\nein O\nDorf O\n. O\n"
    Path("german.conll").write_text(text)
    attack("run", data="german.conll", validity="valid", victim="own_tagger:place",
           settings={"stop_words": True})  # fmt: skip
    (line,) = Run.read(Path("run")).notes[1:]
    assert "read English, so they are off" in line
    assert Run.read(Path("run")).notes[0].startswith("language: German")


def test_slots_know_their_tokens():
    text = Text.of('U.S. troops , " well-known " , left .', Words())
    assert [text.strings[i] for i in range(text.slots)] == ["U", "S", "troops", "well-known", "left"]
    assert token_of_slots(text).tolist() == [0, 0, 1, 4, 7]


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["malaprop", "tag", "attack", *map(str, words)])
        ended = 0
        try:
            main()
        except SystemExit as end:
            ended = int(end.code or 0)
        out, err = capsys.readouterr()
        assert ended == code, (out, err)
        return out if code == 0 else err

    return run


def test_its_report_in_the_terminal_is_not_that_of_a_classifier(monkeypatch, capsys):
    attack("run")
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["malaprop", "report", "run"])
    with pytest.raises(SystemExit, match="0"):
        main()
    out = capsys.readouterr().out
    assert "Tagging by own_tagger:scores" in out
    assert "accuracy" not in out


def test_the_command_and_its_json(type_in):
    out = type_in("--victim", "own_tagger:tag", "--data", "names.conll", "--attack", "deepwordbug,typos",
                  "--n", "all", "--out", "run", "--json")  # fmt: skip
    told = json.loads(out.strip().splitlines()[-1])
    assert [run["attack"] for run in told["runs"]] == ["deepwordbug", "typos"]
    assert told["runs"][0]["f1"]["clean"]["value"] == 100
    assert set(told["runs"][0]["classes"]) == {"LOC", "PER"}
    page = Path("run/report.html").read_text()
    assert "Entity F1 by class" in page
    assert "border-bottom:3px solid" in page


BAD = {
    "no such file": ("missing.conll", "", "no such file"),
    "empty": ("empty.conll", "\n\n", "holds no sentence"),
    "no tag": ("bad.conll", "Anna\n", "line 1: expected a token and its tag"),
    "other table": ("bad.csv", "text,label\nfine,1\n", "tag takes CoNLL, or JSONL with tokens and tags; bad.csv"),
    "no IOB": (
        "bad.jsonl",
        '{"tokens": ["Anna", "sings"], "tags": ["B-PER", "banana"]}\n',
        "bad.jsonl, line 1: 'banana' is no IOB tag",
    ),
    "spaces": ("bad.jsonl", '{"tokens": ["New York"], "tags": ["I-LOC"]}\n', "'New York' is not one word"),
    "uneven": ("bad.jsonl", '{"tokens": ["Anna", "runs"], "tags": ["I-PER"]}\n', "2 tokens and 1 tags"),
    "columns": ("bad.jsonl", '{"text": "Anna"}\n', "expected the lists tokens and tags"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_said_in_one_line(case, type_in):
    name, content, message = BAD[case]
    if content:
        Path(name).write_text(content)
    told = type_in("--victim", "own_tagger:tag", "--data", name, "--attack", "deepwordbug", code=2)
    assert message in told
    assert len(told.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--goal", "broken"), "--goal takes any, missed"),
        (("--validity", "valid", "--entities", "same-class"), "which the judge of meaning refuses"),
        (("--entities", "free"), "no treatment of entities is called 'free'"),
        (("--map", "PER"), "--map takes CLASS=CLASS"),
        (("--attack", "hotflip-word"), "needs gradients"),
        (("--attack", "seqattack:nothing"), "nothing"),
        (("--victim", "nowhere"), "there is not a tagger"),
    ],
)
def test_bad_settings_are_said_in_one_line(words, message, type_in):
    given = {"--victim": "own_tagger:tag", "--data": "names.conll", "--attack": "deepwordbug"}
    given |= dict(zip(words[::2], words[1::2], strict=True))
    told = type_in(*(word for pair in given.items() for word in pair), code=2)
    assert message in told


@pytest.mark.parametrize(
    ("victim", "message"),
    [("short", "gave 1 tags to"), ("other", "answered the tag 'B-DATE', whose class the data does not have"),
     ("undefined", "expected finite numbers"), ("numbers", "gave a token 1; expected a tag"), ("fails", "asleep")],
)  # fmt: skip
def test_a_tagger_whose_answers_do_not_fit(victim, message, type_in):
    words = ("--victim", f"own_tagger:{victim}", "--data", "names.conll", "--attack", "deepwordbug", "--out", "run")
    told = type_in(*words, code=2)
    assert message in told


def test_a_sentence_on_which_the_tagger_fails_is_an_error_alone():
    record = attack("run", victim="own_tagger:rome").record
    assert (record.runs[0].errors, record.runs[0].success.hits) == (3, 6)
    line = f"deepwordbug: 3 of {len(ROWS)} sentences ended in an error: own_tagger:rome failed on 1 sentences: "
    assert line in terminal(record)
    assert line in Path("run/report.html").read_text()
    assert all("not Rome" in one.reason for one in read_outcomes(Path("run")) if one.status == "error")


def test_the_only_sentence_is_named_as_such(type_in):
    Path("one.conll").write_text("Anna I-PER\nleft O\n")
    told = type_in("--victim", "own_tagger:fails", "--data", "one.conll", "--attack", "deepwordbug", code=2)
    assert "the only sentence ended in an error" in told


def test_a_sentence_that_holds_markup_is_escaped(type_in):
    Path("odd.conll").write_text("<b>Anna</b> I-PER\ntravelled O\nsunny O\nParis I-LOC\n. O\n")
    type_in("--victim", "own_tagger:tag", "--data", "odd.conll", "--attack", "deepwordbug", "--out", "run", "--quiet")
    page = Path("run/report.html").read_text()
    assert "&lt;b&gt;Anna&lt;/b&gt;" in page
    assert "<b>Anna" not in page


def test_the_presets_are_known():
    from malaprop.features.tagging.presets import make
    from malaprop.features.tagging.rules import check_attack

    for name in PRESETS:
        made = make(name, {}, None)
        check_attack(made)
        assert made.name == name
        assert made.budget in (512, 2500)
    assert make("seqattack:bae", {}, 9).budget == 9
    assert ENTITIES == ("keep", "same-class")
