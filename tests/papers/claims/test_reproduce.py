"""Steps are run once each, what is done is kept, and a row is read from records or says why not."""

from __future__ import annotations

import gzip
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from malaprop.cli.main import Commands, app
from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.records.intervals import VERDICTS, Estimate
from malaprop.frame.records.summary import Rate
from malaprop.frame.report.page import write_page, write_report
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.papers.claims.by_paper import PAPERS
from malaprop.papers.claims.claim import SIZES
from malaprop.papers.claims.pages import fill
from malaprop.papers.claims.record import ClaimRow, ClaimsRecord, page_text, summary, terminal
from malaprop.papers.claims.study import Reproduce, choose_claims, run_command, steps_of
from malaprop.papers.universal.ensembles_record import ChosenEnsemble, EnsemblesRecord
from malaprop.papers.universal.record import Factor, TransferRecord
from malaprop.papers.universal.rules.record import DiagnosisRecord, LabelRules, RuleLine, Sighting

ALL = [(paper, step, size) for paper in PAPERS for step in paper.steps for size in SIZES if step.does.get(size)]


def study(order: tuple[str, ...], share: float | None) -> TransferRecord:
    means = {"input form": 0.3, "architecture": 0.2, "embedding": 0.1, "capacity": 0.05}
    return TransferRecord(
        recipe="pwws", data="mr", data_spec="mr", trained_on="mr", texts=5, wanted=5, seed=0, split="test", columns={},
        settings={}, labels=("a", "b"), models=(), hits=(), totals=(), before=(), carried=(), order=order,
        factors=tuple(
            Factor(name=name, about="", mean=Estimate(means[name], 0.0, 0.4), noise=0.01, pairs=3) for name in order
        ),
        order_share=share,
    )  # fmt: skip


class Ran:
    """Stands for commands: writes a study where `transfer` would, fails where it is told to."""

    def __init__(self, fail: str = "nothing") -> None:
        self.words: list[list[str]] = []
        self.fail = fail

    def __call__(self, words, output: Path, minutes=None) -> str:
        self.words.append(list(words))
        output.write_text("printed")
        if self.fail in words:
            return f"{words[0]} ended with 2: no such thing"
        if words[0] == "transfer":
            study(("input form", "architecture", "embedding", "capacity"), 0.99).write(
                Path(words[words.index("--out") + 1])
            )
        return ""


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """The record of a `reproduce` whose commands `run` stands for."""

    def conducted(run, *ids, listen=(), **more) -> ClaimsRecord:
        monkeypatch.setattr("malaprop.papers.claims.study.run_command", run)
        return conduct(build(Reproduce, {"ids": ids, "out": tmp_path, "quiet": True, **more}), listen=listen).record

    return conducted


def test_every_claim_has_a_step_or_a_word_instead():
    for paper in PAPERS:
        names = {step.name for step in paper.steps}
        for claim in paper.claims:
            assert claim.id[0] == paper.letter
            assert set(claim.steps) <= names
            assert bool(claim.steps) == (claim.read is not None) == (not claim.instead)
            assert bool(claim.fails) == (claim.read is not None and claim.id not in ("U1", "U6", "H1"))
        for step in paper.steps:
            assert set(step.needs) <= names
            assert set(step.does) == set(step.about) <= set(SIZES)
    ids = [claim.id for paper in PAPERS for claim in paper.claims]
    assert len(set(ids)) == len(ids) == 42


@pytest.mark.parametrize(
    ("paper", "step", "size"), ALL, ids=lambda x: getattr(x, "name", None) or getattr(x, "letter", x)
)
def test_every_command_is_one_that_there_is(paper, step, size):
    for words in step.lines(size, Path("root"), jobs=2):
        command, rest = typer.main.get_command(app), list(words)
        while isinstance(command, Commands):
            _, command, rest = command.resolve_command(typer.Context(command), rest)
        assert command.name in words
        typed = command.make_context(command.name, rest)  # unknown options, missing and wrong ones are refused
        assert "{" not in shlex.join(words)
        assert typed.params.get("validity") in (None, "paper"), "the papers' attacks have no judge of meaning"


def test_a_step_that_several_claims_share_is_run_once(claims):
    ran = Ran()
    found = claims(ran, "u2", "U13", "U2")
    assert [row.id for row in found.rows] == ["U2", "U13"]
    assert [words[0] for words in ran.words] == ["transfer"]
    assert found.rows[0].verdict == "holds"
    assert "99.0% of resamples" in found.rows[0].ours
    assert (found.rows[1].verdict, found.rows[1].ours) == ("not done", "no text of any model was attacked")
    assert found.rows[0].commands[0].startswith("malaprop transfer --victim ")
    again = Ran()
    assert claims(again, "U2").rows[0] == found.rows[0]
    claims(again, "U2", jobs=5)
    assert again.words == [], "what is done is not done again, whatever the number of processes"


@pytest.mark.parametrize(
    ("order", "share", "verdict"),
    [
        (("input form", "architecture", "embedding", "capacity"), 0.5, "leans"),
        (("embedding", "architecture", "input form", "capacity"), 0.3, "inconclusive"),
        (("embedding", "architecture", "input form", "capacity"), 0.0, "fails"),
        (("embedding", "capacity"), None, "inconclusive"),
    ],
)
def test_an_order_is_judged_by_the_resamples(claims, tmp_path, order, share, verdict):
    study(order, share).write(tmp_path / "transfer" / "mr")
    (row,) = claims(Ran(), "U2", read=True).rows
    assert row.verdict == verdict


def test_a_claim_that_does_not_hold_says_what_the_records_show_of_the_reason(claims, tmp_path):
    papers = ("input form", "architecture", "embedding", "capacity")
    study(tuple(reversed(papers)), 0.0).write(tmp_path / "transfer" / "mr")
    found = claims(Ran(), "U2", read=True)
    assert found.rows[0].why == "How often a word must be seen to be known has not been varied."
    assert f"- **U2** fails. {found.rows[0].why}" in page_text(found)
    study(("embedding", "capacity"), None).write(tmp_path / "varied" / "words-10")
    found = claims(Ran(), "U2", read=True)
    assert found.rows[0].verdict == "fails", "what is varied explains, and does not decide"
    assert found.rows[0].why.endswith(
        " With 10 embedding 0.100 (0.000 to 0.400) > capacity 0.050 (0.000 to 0.400), twins falling together at n/a."
    )
    study(papers, 0.99).write(tmp_path / "transfer" / "mr")
    found = claims(Ran(), "U2", read=True)
    assert found.rows[0].why == ""
    assert "What does not hold" not in page_text(found)


def test_of_two_datasets_the_worse_counts_and_a_missing_one_is_named(claims, tmp_path):
    papers = ("input form", "architecture", "embedding", "capacity")
    study(papers, 0.99).write(tmp_path / "transfer" / "ag_news")
    (row,) = claims(Ran(), "U2", read=True, size="full").rows
    assert (row.verdict, row.ours[-12:]) == ("holds", "MR: not done")
    study(tuple(reversed(papers)), 0.0).write(tmp_path / "transfer" / "mr-full")
    (row,) = claims(Ran(), "U2", read=True, size="full").rows
    assert row.verdict == "fails"
    assert row.ours.startswith("AG News: input form ")


def test_what_fails_says_why_and_the_others_go_on(claims, tmp_path):
    said: list[str] = []
    ran = Ran(fail="transfer")
    found = claims(ran, "U1", "U2", "U7", "U12", listen=[lambda happening: said.append(str(happening))])
    rows = {row.id: row for row in found.rows}
    assert rows["U2"].ours == "transfer ended with 2: no such thing"
    assert rows["U7"].ours == "it needs transfer/mr, which failed: transfer ended with 2: no such thing"
    assert set(found.failed) == {"transfer/mr", "ensembles/mr"}
    assert ClaimsRecord.read(tmp_path) == found
    assert rows["U1"].verdict == "not done", "it printed nothing that can be read"
    assert {row.verdict for row in found.rows} == {"not done"}
    assert [words[0] for words in ran.words] == ["list", "transfer", "explain"], "what needs a failed step is not begun"
    assert any("TaskNote" in line and "malaprop transfer --victim" in line for line in said)


def test_a_failed_step_costs_only_the_claims_that_need_it(claims, tmp_path):
    """The probes of N6 were refused by our own check, and took N5, which needs none of them, with them."""
    found = claims(Ran(fail="--probe"), "N4", "N5", "N6", "N7", size="full")
    assert set(found.failed) == {"sentences/probes"}
    rows = {row.id: row for row in found.rows}
    assert rows["N6"].ours == "natural ended with 2: no such thing"
    assert rows["N5"].ours == "not run yet", "the command left no record here; the claim was read all the same"
    assert not claims(Ran(fail="sweep"), "N1", "N4", "N7", size="full").failed, "what is done stays done"
    ran = Ran(fail="sweep")
    assert set(claims(ran, "N1", "N4", "N7", size="full", out=tmp_path / "new").failed) == {"natural/sweep"}
    assert [words[:2] for words in ran.words] == [
        ["train", "wgan"], ["natural", "synthetic"], ["natural", "compare"], ["natural", "sweep"]
    ]  # fmt: skip


def test_a_sentence_model_of_other_texts_is_forced_where_the_paper_does_so(claims):
    (row,) = claims(Ran(), "N6", size="full", read=True).rows
    assert all("--force" in command for command in row.commands if "--probe" in command)


def test_of_a_step_that_failed_the_commands_that_ended_well_are_not_run_again(claims, tmp_path):
    ran = Ran(fail="--probe")
    claims(ran, "N6", size="full")
    assert [words[:2] for words in ran.words] == [["train", "arae"], ["train", "nmt-lstm"], ["natural", "--victim"]]
    again = Ran()
    assert not claims(again, "N6", size="full").failed
    assert len(again.words) == 2
    last = Ran(fail="mine")
    claims(last, "U8", out=tmp_path / "other")
    assert [words[:2][-1] for words in last.words[2:]] == ["pmi", "mine"]
    last = Ran(fail="measure")
    claims(last, "U8", "U11", out=tmp_path / "other")
    assert [words[1] for words in last.words] == ["mine", "mine", "measure", "show"]


def test_a_step_is_run_without_a_measure_that_cannot_be_taken(claims, monkeypatch, tmp_path):
    """All attacks of a study were made, and its record was lost for want of a library that counts mistakes."""
    missing = {"grammar": "grammar needs Java"}
    monkeypatch.setattr("malaprop.papers.claims.study.why_not", lambda measure: missing.get(measure, ""))
    said: list[str] = []
    ran = Ran()
    claims(ran, "S3", listen=[lambda happening: said.append(str(happening))])
    (words,) = ran.words
    assert words[words.index("--measure") + 1] == "perplexity"
    assert any("oneword/mr is done without grammar: grammar needs Java" in line for line in said)
    again = Ran()
    claims(again, "S3")
    assert again.words == [], "it is done, as far as it can be here"
    missing.clear()
    claims(again, "S3")
    assert again.words[0][words.index("--measure") + 1] == "perplexity,grammar", "what can be taken now is taken"
    missing.update({"perplexity": "no language model", "grammar": "no Java"})
    ran = Ran()
    claims(ran, "S3", out=tmp_path / "other")
    assert "--measure" not in ran.words[0]


def test_some_steps_alone(claims):
    ran = Ran()
    claims(ran, "U", only=["rules/mr/shown", "zoo"])
    assert [words[:2] for words in ran.words] == [["list", "models"], ["rules", "show"]]


def test_a_record_that_a_step_leaves_in_the_folder_of_another_is_kept_when_that_step_runs_alone(claims, tmp_path):
    claims(Ran(), "U7", only=["transfer/mr"], records=tmp_path / "kept")
    EnsemblesRecord(
        recipe="pwws", data="mr", texts=5, wanted=5, seed=0, models=(), unseen=(), upper=None, lower=None, chosen=()
    ).write(tmp_path / "transfer" / "mr")
    claims(Ran(), "U7", only=["ensembles/mr"], records=tmp_path / "kept")
    assert (tmp_path / "kept/small/transfer/mr/ensembles.json.gz").is_file()


def test_the_ensembles_that_rules_are_mined_from_are_those_that_were_chosen(claims, tmp_path):
    """They were members of ensembles of a past run, written into the commands."""
    members = ("LSTM-W-GloVe-1", "CNN-C-Random-1")
    found = ChosenEnsemble(
        size=2, how="genetic", members=members, fitness=0.5, counts={}, drawn=0, hits=(), totals=(), outside=None,
        common=None, unseen=None,
    )  # fmt: skip
    EnsemblesRecord(
        recipe="pwws", data="mr", texts=5, wanted=5, seed=0, models=members, unseen=(), upper=None, lower=None,
        chosen=(found,),
    ).write(tmp_path / "transfer" / "mr")  # fmt: skip
    ran = Ran()
    claims(ran, "U8", only=["rules/mr"])
    mined = next(words for words in ran.words if words[:2] == ["rules", "mine"])
    assert mined[3] == ",".join(str(tmp_path / "models" / "mr" / name) for name in members)


def test_a_claim_without_a_small_size_says_so(claims):
    ran = Ran()
    (row,) = claims(ran, "F1").rows
    assert (row.verdict, row.ours) == ("not done", "at full size alone: give --size full")
    assert ran.words == []


def test_reading_runs_nothing(claims):
    ran = Ran()
    (row,) = claims(ran, "S7", read=True).rows
    assert ran.words == []
    assert row.verdict == "not done"
    assert row.ours == "not run yet"


def test_an_odd_record_costs_its_row_alone(claims, tmp_path):
    (tmp_path / "rules" / "mr" / "measured").mkdir(parents=True)
    (tmp_path / "rules" / "mr" / "measured" / "measured.json").write_text('{"wholes": 3, "cells": []}')
    study(("input form",), 0.2).write(tmp_path / "transfer" / "mr")
    rows = claims(Ran(), "U8", "U9", "U5", "U2", read=True).rows
    assert [row.verdict for row in rows] == ["inconclusive", "not done", "not done", "not done"]
    assert "the study has no table by input form" in rows[1].ours
    assert all("is not a record of malaprop rules measure" in row.ours for row in rows[2:])


def test_a_command_that_takes_too_long_is_stopped_and_tried_again(tmp_path):
    reason = run_command(["list", "models"], tmp_path / "output.txt", minutes=0.0001)
    assert reason == "list was stopped after 0.0001 minutes; the same command goes on with it"


def test_rows_are_the_same_from_the_small_records_that_are_kept(claims, tmp_path):
    kept, page = tmp_path / "kept", tmp_path / "page.md"
    page.write_text("# Ours\n\n<!-- claims: small -->\nof yesterday\n<!-- end of claims: small -->\n\nmore\n")
    found = claims(Ran(), "U2", "U6", "U13", records=kept, page=page, out=tmp_path / "work")
    assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*.gz")) == [
        "small/transfer/mr/transfer.json.gz"
    ]
    first = page.read_text()
    assert first.startswith("# Ours\n\n<!-- claims: small -->\n\n3 claims at small size: ")
    assert first.endswith("<!-- end of claims: small -->\n\nmore\n")
    assert "of yesterday" not in first
    again = claims(Ran(), "U2", "U6", "U13", records=kept, page=page, out=tmp_path / "empty", read=True)
    assert [(row.id, row.ours, row.verdict) for row in again.rows] == [
        (row.id, row.ours, row.verdict) for row in found.rows
    ]
    assert page.read_text() == first


def test_a_step_that_prints_words_and_leaves_its_record_elsewhere_costs_no_other_step_its_record(tmp_path):
    from malaprop.papers.claims.kept_records import PRINTED, keep, read_printed

    for name, said in (
        ("words", "size 2: genetic over expert +0.070\nrecord: elsewhere"),
        ("json", '{"a": 1}'),
        ("none", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / PRINTED).write_text(said)
    assert keep(tmp_path / "words", tmp_path / "kept/words") == []
    assert keep(tmp_path / "none", tmp_path / "kept/none") == []
    keep(tmp_path / "json", tmp_path / "kept/json")
    assert read_printed(tmp_path / "kept/json") == {"a": 1}


def test_kept_records_hold_no_texts_of_the_data(tmp_path):
    from malaprop.papers.claims.kept_records import keep

    seen = Sighting(text="a text of the data", start=2, end=6)
    line = RuleLine(word="a", to="b", salience=1.0, count=2, pmi=((1.0, 0.0),), seen=((3, 4),), sightings=(seen,))
    found = LabelRules(label="x", rules=1, falls=Rate(1, 1), rises=Rate(0, 1), lines=(line,))
    (tmp_path / "shown").mkdir()
    DiagnosisRecord(rules="r", data="d", texts=7, labels=("x",), found=(found,)).write(tmp_path / "shown")
    (kept,) = keep(tmp_path / "shown", tmp_path / "kept")
    assert b"a text of the data" not in gzip.decompress(kept.read_bytes())
    again = DiagnosisRecord.read(tmp_path / "kept")
    assert again.found[0].lines == (replace(line, sightings=()),)


def test_ids_are_letters_names_or_all():
    assert len(choose_claims(["all"])) == 42
    assert [claim.id for _, claim in choose_claims(["h"])] == [f"H{n}" for n in range(1, 9)]
    names = [step.name for step in steps_of(choose_claims(["U7"]))]
    assert names[:4] == ["transfer/mr", "ensembles/mr", "transfer/ag_news", "ensembles/ag_news"]
    with pytest.raises(SettingError, match="no claim is called 'U99'"):
        choose_claims(["U99"])
    with pytest.raises(SettingError, match="no claim was named"):
        choose_claims([])


def hostile() -> ClaimsRecord:
    row = ClaimRow(
        id="U2", paper="a paper", claim="<b>claim</b>", theirs="1 | 2", ours="<script>alert(1)</script>",
        verdict="holds", about="here", commands=("malaprop transfer",),
        where="Table <b>2</b>", fails="more than <i>half</i>", differs=("fewer <i>texts</i>", "one | model"),
        brief="<u>1</u>",
    )  # fmt: skip
    return ClaimsRecord(size="small", rows=(row, replace(row, id="U3", verdict="not done", where="")))


def test_the_record_is_read_as_it_was_written_and_nothing_else(tmp_path):
    found = hostile()
    found.write(tmp_path)
    assert ClaimsRecord.read(tmp_path) == found
    assert found.counts == {"holds": 1, "not done": 1}
    assert ClaimsRecord.read(tmp_path / "elsewhere") is None
    raw = json.loads((tmp_path / "claims.json").read_text())
    raw["rows"][0]["verdict"] = "splendid"
    (tmp_path / "claims.json").write_text(json.dumps(raw))
    with pytest.raises(RecordError, match="is not a record of malaprop reproduce"):
        ClaimsRecord.read(tmp_path)


def test_the_page_and_the_text_hold_every_row_and_escape_it(tmp_path):
    found = hostile()
    page = write_page(tmp_path / "page.html", records=[found]).read_text()
    assert page.count("<script>") == 1  # our own, which saves figures and tables
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert all(verdict in page for verdict in VERDICTS)
    assert page.count('scope="row"') == 2
    assert page.count("Setting, and what differs here") == 1
    assert "Paper: Table &lt;b&gt;2&lt;/b&gt;." in page
    assert "<li>fewer &lt;i&gt;texts&lt;/i&gt;</li>" in page
    part = fill("<!-- claim: U2 --><!-- end of claim: U2 -->", {"small": found}, "small")
    assert "- fewer &lt;i&gt;texts&lt;/i&gt;\n- one \\| model\n" in part
    assert "| Ours, small size | &lt;u&gt;1&lt;/u&gt; | " in part
    text = page_text(found)
    assert "1 \\| 2" in text
    assert "<script>" not in text
    assert summary(found) == "2 claims at small size: 1 holds, 1 not done."
    assert summary(replace(found, rows=found.rows[:1])) == "1 claim at small size: 1 holds."
    assert "<p>It fails if more than &lt;i&gt;half&lt;/i&gt;.</p>" in page
    told = terminal(replace(found, rows=(replace(found.rows[0], ours=f"a\x1b[31m {'figure ' * 40}"),)))
    assert told.startswith("U2   HOLDS: <b>claim</b>\n     paper: 1 | 2\n     here:  a [31m figure figure")
    assert max(map(len, told.splitlines())) <= 80
    found.write(tmp_path)
    assert write_report([tmp_path], tmp_path / "again.html").read_text() == page


def test_kept_records_do_not_say_where_the_study_ran(tmp_path):
    from malaprop.papers.claims.kept_records import keep

    made = replace(study((), None), data_spec=f"{tmp_path}/run/models/CNN", notes=("of /elsewhere/CNN",))
    made.write(tmp_path / "run" / "varied" / "with")
    keep(tmp_path / "run" / "varied", tmp_path / "kept" / "varied", tmp_path / "run")
    found = TransferRecord.read(tmp_path / "kept" / "varied" / "with")
    assert found is not None
    assert (found.data_spec, found.notes) == ("models/CNN", ("of /elsewhere/CNN",))
