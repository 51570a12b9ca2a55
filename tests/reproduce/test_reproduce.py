"""Steps are run once each, what is done is kept, and a row is read from records or says why not."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from malaprop.cli.main import app
from malaprop.core.errors import RecordError, SettingError
from malaprop.records.claims import VERDICTS, ClaimRow, ClaimsRecord
from malaprop.records.transfer import Estimate, Factor, TransferRecord
from malaprop.reports.claims import summary, write_text
from malaprop.reports.page import write_page, write_report
from malaprop.reproduce.claim import SIZES
from malaprop.reproduce.papers import PAPERS
from malaprop.reproduce.work import Work, chosen_of, steps_of

ALL = [(paper, step, size) for paper in PAPERS for step in paper.steps for size in SIZES if step.commands.get(size)]


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

    def __call__(self, words, output: Path) -> str:
        self.words.append(list(words))
        output.write_text("printed")
        if self.fail in words:
            return f"{words[0]} ended with 2: no such thing"
        if words[0] == "transfer":
            study(("input form", "architecture", "embedding", "capacity"), 0.99).write(
                Path(words[words.index("--out") + 1])
            )
        return ""


def work(tmp_path, run, **more) -> Work:
    return Work(**{"root": tmp_path, "size": "small", "run": run, "say": lambda line: None, **more})


def test_every_claim_has_a_step_or_a_word_instead():
    for paper in PAPERS:
        names = {step.name for step in paper.steps}
        for claim in paper.claims:
            assert claim.id[0] == paper.letter
            assert (claim.step in names) == (claim.read is not None)
            assert bool(claim.step) != bool(claim.instead)
        for step in paper.steps:
            assert set(step.needs) <= names
            assert set(step.commands) == set(step.about) <= set(SIZES)
    ids = [claim.id for paper in PAPERS for claim in paper.claims]
    assert len(set(ids)) == len(ids) == 41


@pytest.mark.parametrize(
    ("paper", "step", "size"), ALL, ids=lambda x: getattr(x, "name", None) or getattr(x, "letter", x)
)
def test_every_command_is_one_that_there_is(paper, step, size):
    for words in step.lines(size, Path("root"), jobs=2):
        command, rest = typer.main.get_command(app), list(words)
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        assert command.name in words
        command.make_context(command.name, rest)  # unknown options, missing ones and wrong kinds are refused
        assert "{" not in shlex.join(words)


def test_a_step_that_several_claims_share_is_run_once(tmp_path):
    ran = Ran()
    found = work(tmp_path, ran).claims(["u2", "U13", "U2"])
    assert [row.id for row in found.rows] == ["U2", "U13"]
    assert [words[0] for words in ran.words] == ["transfer"]
    assert found.rows[0].verdict == "holds"
    assert "99.0% of resamples" in found.rows[0].ours
    assert (found.rows[1].verdict, found.rows[1].ours) == ("not done", "no text of any model was attacked")
    assert found.rows[0].commands[0].startswith("malaprop transfer --victims ")
    again = Ran()
    assert work(tmp_path, again).claims(["U2"]).rows[0] == found.rows[0]
    assert again.words == [], "what is done is not done again"
    work(tmp_path, again, jobs=5).claims(["U2"])
    assert len(again.words) == 1, "other commands are another step"


@pytest.mark.parametrize(
    ("order", "share", "verdict"),
    [
        (("input form", "architecture", "embedding", "capacity"), 0.5, "leans"),
        (("embedding", "architecture", "input form", "capacity"), 0.3, "does not show"),
        (("embedding", "architecture", "input form", "capacity"), 0.0, "fails"),
        (("embedding", "capacity"), None, "does not show"),
    ],
)
def test_an_order_is_judged_by_the_resamples(tmp_path, order, share, verdict):
    study(order, share).write(tmp_path / "transfer")
    (row,) = work(tmp_path, Ran(), fresh=False).claims(["U2"]).rows
    assert row.verdict == verdict


def test_what_fails_says_why_and_the_others_go_on(tmp_path):
    said: list[str] = []
    ran = Ran(fail="transfer")
    found = work(tmp_path, ran, say=said.append).claims(["U1", "U2", "U7", "U12"])
    rows = {row.id: row for row in found.rows}
    assert rows["U2"].ours == "transfer ended with 2: no such thing"
    assert rows["U7"].ours == "it needs transfer, which failed: transfer ended with 2: no such thing"
    assert set(found.failed) == {"transfer", "ensembles"}
    found.write(tmp_path)
    assert ClaimsRecord.read(tmp_path) == found
    assert rows["U1"].verdict == "not done", "it printed nothing that can be read"
    assert rows["U12"].ours.startswith("pictures")
    assert {row.verdict for row in found.rows} == {"not done"}
    assert [words[0] for words in ran.words] == ["list", "transfer"], "what needs a failed step is not begun"
    assert any("transfer failed" in line for line in said)


def test_a_failed_step_costs_only_the_claims_that_need_it(tmp_path):
    """The probes of N6 were refused by our own check, and took N5, which needs none of them, with them."""
    ran = Ran(fail="--probe")
    found = work(tmp_path, ran, size="full").claims(["N4", "N5", "N6", "N7"])
    assert set(found.failed) == {"sentences/probes"}
    rows = {row.id: row for row in found.rows}
    assert rows["N6"].ours == "natural ended with 2: no such thing"
    assert "holds no record" in rows["N5"].ours, "it was run, and read"
    ran = Ran(fail="sweep")
    assert set(work(tmp_path, ran, size="full").claims(["N1", "N4", "N7"]).failed) == set(), "what is done stays done"
    ran = Ran(fail="sweep")
    assert set(work(tmp_path / "new", ran, size="full").claims(["N1", "N4", "N7"]).failed) == {"natural/sweep"}
    assert [words[:2] for words in ran.words] == [
        ["train", "wgan"], ["natural", "compare"], ["natural", "sweep"], ["natural", "synthetic"]
    ]  # fmt: skip


def test_a_sentence_model_of_other_texts_is_forced_where_the_paper_does_so(tmp_path):
    (row,) = work(tmp_path, Ran(), size="full", fresh=False).claims(["N6"]).rows
    assert all("--force" in command for command in row.commands if "--probe" in command)


def test_of_a_step_that_failed_the_commands_that_ended_well_are_not_run_again(tmp_path):
    ran = Ran(fail="--probe")
    work(tmp_path, ran, size="full").claims(["N6"])
    assert [words[:2] for words in ran.words] == [["train", "arae"], ["train", "nmt-lstm"], ["natural", "--victim"]]
    again = Ran()
    assert not work(tmp_path, again, size="full").claims(["N6"]).failed
    assert len(again.words) == 2
    last = Ran(fail="mine")
    work(tmp_path, last).claims(["U8"])
    assert [words[1] for words in last.words] == ["pmi", "mine"]
    last = Ran(fail="measure")
    work(tmp_path, last).claims(["U8", "U11"])
    assert [words[1] for words in last.words] == ["mine", "mine", "mine", "measure", "show"]


def test_a_claim_without_a_small_size_says_so(tmp_path):
    ran = Ran()
    (row,) = work(tmp_path, ran).claims(["N5"]).rows
    assert (row.verdict, row.ours) == ("not done", "at full size alone: give --size full")
    assert ran.words == []


def test_reading_runs_nothing(tmp_path):
    ran = Ran()
    (row,) = work(tmp_path, ran, fresh=False).claims(["S7"]).rows
    assert ran.words == []
    assert row.verdict == "not done"
    assert "holds no record" in row.ours


def test_an_odd_record_costs_its_row_alone(tmp_path):
    (tmp_path / "rules" / "measured").mkdir(parents=True)
    (tmp_path / "rules" / "measured" / "measured.json").write_text('{"wholes": [], "cells": []}')
    study(("input form",), 0.2).write(tmp_path / "transfer")
    rows = work(tmp_path, Ran(), fresh=False).claims(["U8", "U9", "U10", "U2"]).rows
    assert [row.verdict for row in rows] == ["does not show", "not done", "not done", "not done"]
    assert all("lacks what is read from it" in row.ours for row in rows[1:])


def test_ids_are_letters_names_or_all():
    assert len(chosen_of(["all"])) == 41
    assert [claim.id for _, claim in chosen_of(["h"])] == [f"H{n}" for n in range(1, 8)]
    assert [step.name for step in steps_of(chosen_of(["U7"]))] == ["transfer", "ensembles"]
    with pytest.raises(SettingError, match="no claim is called 'U99'"):
        chosen_of(["U99"])
    with pytest.raises(SettingError, match="no claim was named"):
        chosen_of([])


def hostile() -> ClaimsRecord:
    row = ClaimRow(
        id="U2", paper="a paper", claim="<b>claim</b>", theirs="1 | 2", ours="<script>alert(1)</script>",
        verdict="holds", about="here", commands=("malaprop transfer",),
    )  # fmt: skip
    return ClaimsRecord(size="small", rows=(row, replace(row, id="U3", verdict="not done")))


def test_the_record_is_read_as_it_was_written_and_nothing_else(tmp_path):
    found = hostile()
    found.write(tmp_path)
    assert ClaimsRecord.read(tmp_path) == found
    assert found.counts == {"holds": 1, "not done": 1}
    assert ClaimsRecord.read(tmp_path / "elsewhere") is None
    raw = json.loads((tmp_path / "claims.json").read_text())
    raw["rows"][0]["verdict"] = "splendid"
    (tmp_path / "claims.json").write_text(json.dumps(raw))
    with pytest.raises(RecordError, match="is no record of malaprop reproduce"):
        ClaimsRecord.read(tmp_path)


def test_the_page_and_the_text_hold_every_row_and_escape_it(tmp_path):
    found = hostile()
    page = write_page(tmp_path / "page.html", records=[found]).read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert all(verdict in page for verdict in VERDICTS)
    assert page.count('scope="row"') == 2
    text = write_text(found, tmp_path / "claims.md").read_text()
    assert "1 \\| 2" in text
    assert "<script>" not in text
    assert summary(found) == "2 claims at small size: 1 holds, 1 not done."
    found.write(tmp_path)
    assert write_report([tmp_path], tmp_path / "again.html").read_text() == page
