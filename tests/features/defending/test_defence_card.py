"""A defence test in the report: its figure, its tables, its pictures, and hostile words as text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from malaprop.core.errors import RecordError
from malaprop.features.defending import certified_record as certified
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord, read_certificates
from malaprop.features.defending.evaluation_record import (
    Checked,
    DefenceAttacked,
    DefenceRow,
    DefencesRecord,
    Neighbourhood,
    NeighboursKept,
    NeighbourStrip,
    NoiseField,
)
from malaprop.features.defending.evaluation_report import short, terminal, trials
from malaprop.features.defending.leaderboard import write_markdown
from malaprop.frame.records.intervals import Gain
from malaprop.frame.records.kinds import find
from malaprop.frame.records.summary import Rate, Spread

LINES = [
    Certificate(id="a", label=1, prediction=1, hits=99, lower=0.95, words=9, changeable=9, radius=2),
    Certificate(id="b", label=1, prediction=1, hits=60, lower=0.55, words=4, changeable=1, radius=1),
    Certificate(id="c", label=0, prediction=1, hits=99, lower=0.95, words=9, changeable=9, radius=9),
    Certificate(id="d", label=0, prediction=0, hits=50, lower=0.45, words=9, changeable=9, radius=None),
]
CERTIFIED = CertifiedRecord.of(
    LINES,
    victim="toy",
    data="toys",
    defence="ranmask",
    about="any <d> words",
    samples=100,
    alpha=0.05,
    plain=Rate(4, 4),
)


def attacked(hits: int, **more: int) -> DefenceAttacked:
    return DefenceAttacked(
        accuracy=Rate(hits, 10), success=Rate(9 - hits, 9), asked=Spread(40.0, 30.0), changed=Spread(0.2, 0.1), **more
    )


def row(name: str, **more: object) -> DefenceRow:
    gain = Gain(value=0.3, low=0.2, high=0.4)
    plain = DefenceRow(
        name=name,
        about=f"{name}(toy)",
        clean=Rate(9, 10),
        premade=Rate(3, 8),
        active=attacked(4),
        adaptive=None,
        worst=Rate(4, 10),
        gain=gain,
        kept=gain,
        cost=1.5,
        passes=8,
        verdict="says <b>much</b>",
    )
    return replace(plain, **more)


PICTURE = Neighbourhood(
    id="a",
    label=1,
    original="a <i>good</i> film",
    adversarial="a <i>fine</i> film",
    word="good",
    swapped="fi<b>ne",
    strips=(
        NeighbourStrip(
            model="none", around="good", adversarial=False, words=("good", "<u>nice"), labels=(1, 0), scores=(0.9, 0.4)
        ),
        NeighbourStrip(model="none", around="fine", adversarial=True, words=("fine",), labels=(0,), scores=(0.2,)),
    ),
    fields=(NoiseField(model="none", noise=0.25, how="pca", points=((0.0, 0.0, 1, False), (1.0, 2.0, 0, True))),),
)
TRIAL = DefencesRecord(
    victim="toy",
    data="toys",
    attack="textfooler",
    texts=10,
    labels=("bad", "good"),
    premade="textfooler against toy",
    rows=(
        row("none"),
        row("five", adaptive=attacked(2, draws=4, fresh=9)),
        row("ranmask", certified=CERTIFIED, checked=Checked(inside=7, flipped=2, contradicted=0, within=attacked(3))),
    ),
    around=(NeighboursKept(model="none", original=Rate(9, 10, 2), adversarial=Rate(4, 10, 2), texts=2),),
    pictures=(PICTURE,),
)


def test_what_certificates_add_up_to():
    assert CERTIFIED.clean == Rate(3, 4)
    assert [rate.hits for rate in CERTIFIED.certified][:6] == [2, 2, 2, 1, 1, 1]  # b has one word that can change
    assert CERTIFIED.every.hits == 1
    assert CERTIFIED.unsure == 1


def test_records_come_back_as_they_were(tmp_path):
    assert DefencesRecord.read(tmp_path) is None
    TRIAL.write(tmp_path)
    assert DefencesRecord.read(tmp_path) == TRIAL
    CERTIFIED.write(tmp_path)
    (tmp_path / "certificates.jsonl").write_text("".join(f"{line.to_json()}\n" for line in LINES))
    assert CertifiedRecord.read(tmp_path) == CERTIFIED
    assert read_certificates(tmp_path) == LINES


@pytest.mark.parametrize("text", ["", "{}", '{"format": 9}', '{"format": 1, "rows": 3}', "[1]"])
@pytest.mark.parametrize(("kind", "file"), [(DefencesRecord, "defences.json"), (CertifiedRecord, "certified.json")])
def test_damaged_records_are_told(tmp_path, kind, file, text):
    (tmp_path / file).write_text(text)
    with pytest.raises(RecordError, match="is not a record"):
        kind.read(tmp_path)


def test_a_card_has_figures_and_tables():
    page = trials([TRIAL])
    assert re.findall(r"<h3>(.+?)</h3>", page) == [
        "Accuracy",
        "What it takes",
        "Certified accuracy",
        "Neighbourhoods of attacked words",
    ]
    for shown in (
        "90.0% (9/10",
        "draws nothing",
        "1.50x",
        "averages 4 of its draws",
        "none contradicts it",
        "lie inside",
    ):
        assert shown in page
    assert 'class="figure dots"' in page
    untried = replace(TRIAL, rows=tuple(replace(row, adaptive=None, passes=5.0) for row in TRIAL.rows))
    assert "draws nothing" not in trials([untried])
    assert "not made" in terminal(untried)
    steady = replace(untried, rows=tuple(replace(row, steady=True) for row in untried.rows))  # a detector asks often
    assert "not made" not in terminal(steady)
    assert "draws nothing" in trials([steady])
    assert 'class="figure strips"' in page
    assert 'class="figure field"' in page


def board_record(
    method: str, hits: int, texts: int, *, plain: int = 1, victim: str = "BERT", **more: Any
) -> DefencesRecord:
    """A test of one defence and of none, with as many texts right under attack."""
    none, other = (
        replace(TRIAL.rows[0], name=name, clean=Rate(texts, texts), worst=Rate(right, texts))
        for name, right in (("none", plain), (method, hits))
    )
    return replace(TRIAL, rows=(none, other), texts=texts, **{"data": "mr-full:test", "victim": victim, **more})


def test_the_leaderboard_has_one_table_a_place_of_one_protocol():
    records = [
        board_record("five", 30, 100),
        board_record("safer", 40, 100),  # the same test of the same undefended model
        board_record("ascc", 50, 100, plain=2),  # of another training of it
        board_record("freelb", 400, 500),
        board_record("five", 20, 100, victim="LSTM-W-GloVe-1"),
        board_record("five", 4, 10, data="odd"),
    ]
    page = write_markdown(records)
    front, _, appendix = page.partition("## Appendix: other protocols")
    attacks = " and ".join(records[0].attacks)
    assert f"\n### MR\n\nProtocol: {attacks} on 100 texts of mr-full:test." in front  # two models were tested by it
    assert re.findall(r"^#### (.+)", front, re.MULTILINE) == ["MR: MiniLM", "MR: LSTM", "odd: MiniLM"]
    assert re.findall(r"^### (.+)", appendix, re.MULTILINE) == [f"MR: MiniLM, {attacks} on 500 texts of mr-full:test"]
    first = front[front.index("#### MR: MiniLM") : front.index("#### MR: LSTM")]
    names = re.findall(r"^\| `(.+?)`", first, re.MULTILINE)
    assert names == ["ascc", "safer", "five", "none (2)", "none (1)"]  # the undefended model of two tests stands once
    assert re.search(r"`ascc` .* over \(2\) \|", first)
    assert re.search(r"`five` .* over \(1\) \|", first)
    assert "freelb" not in front
    assert "freelb" in appendix
    assert "MPNet, CNN: not measured." in front
    assert "\nIMDB, AG News, SST-2: not measured." in front
    assert "Leaderboard of defences" in trials(records)
    assert "Appendix: other protocols" in trials(records)
    assert "Leaderboard of defences" not in trials(records[:1])


def test_valid_attacks_and_attacks_as_published_never_share_a_table():
    page = write_markdown([board_record("five", 30, 100), board_record("safer", 40, 100, validity="valid")])
    valid, _, published = page.partition("## Appendix: attacks as published")
    assert "## Attacks that keep the meaning" in valid
    assert re.findall(r"^\| `(\w+)`", valid, re.MULTILINE) == ["safer", "none"]
    assert re.findall(r"^\| `(\w+)`", published, re.MULTILINE) == ["five", "none"]


def test_the_page_of_the_documentation_is_what_the_records_say():
    docs = Path(__file__).parents[3] / "docs"
    records = [found.record for found in find([docs / "measured" / "defences"])]
    assert records
    page = (docs / "appendix/leaderboard.md").read_text(encoding="utf-8")
    assert page == write_markdown(records), "write it again: malaprop report --leaderboard"


def test_words_from_outside_stay_text():
    page = trials([TRIAL, TRIAL])
    for hostile in ("<u>nice", "<i>fine</i>", "fi<b>ne", "<b>much</b>", "<d>"):
        assert hostile not in page
    assert "&lt;u&gt;nice" in page


def test_nothing_is_nothing():
    assert trials([]) == ""
    assert certified.certificates([]) == ""
    assert "Defence test" in trials([replace(TRIAL, rows=(), around=(), pictures=())])


def test_the_terminal_says_the_same():
    said = terminal(TRIAL)
    assert "five" in said
    assert "20.0% (2/10" in said
    assert "none contradicts it" in said
    assert "d = 1 50.0% (2/4" in certified.terminal(CERTIFIED)


def test_names_are_short_where_that_leaves_them_apart():
    assert short(["none", "five:noise=2:samples=3(fact)", "five:noise=2"]) == ["none", "five(fact)", "five"]
    assert short(["five:noise=1", "five:noise=2"]) == ["five:noise=1", "five:noise=2"]
