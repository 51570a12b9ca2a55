"""The page of a study: every pair can be read, names from outside stay text, large studies fit."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.run import Run
from malaprop.papers.universal import ensembles_record as ensembles
from malaprop.papers.universal import record as transfer
from malaprop.papers.universal.ensembles_record import ChosenEnsemble, Contrast, EnsemblesRecord, ensemble_cards
from malaprop.papers.universal.matrix import Matrix, ModelResamples
from malaprop.papers.universal.record import Speed, TransferModel, TransferRecord, heat_map, matrix_csv, transfers
from malaprop.papers.universal.study_models import traits
from malaprop.papers.universal.summary import factors, order, tables
from malaprop.reports import render
from malaprop.zoo.names import grid, number

COUNTS = {"success": 8, "failed": 2, "skipped": 1, "error": 0}


def model(name: str, **more) -> TransferModel:
    given = {"spec": name, "number": None, "traits": None, "second": None, "second_spec": None, "counts": COUNTS,
             "drawn": 8, "asked": 90, "forwarded": 50}  # fmt: skip
    return TransferModel(name=name, **{**given, **more})


def study(models, hits, totals, **more) -> TransferRecord:
    return TransferRecord(
        recipe="pwws", data="mr", data_spec="mr", trained_on="mr", texts=11, wanted=8, seed=0, split="test", columns={},
        settings={}, labels=("a", "b"), models=tuple(models), hits=hits, totals=totals, before=totals, carried=hits,
        **more,
    )  # fmt: skip


def small(**more) -> TransferRecord:
    names = ("one", "<script>alert(1)</script>")
    return study([model(name) for name in names], ((None, 3), (5, None)), ((None, 8), (8, None)), **more)


def whole() -> TransferRecord:
    specs = list(grid())
    hits = np.random.default_rng(0).integers(50, 400, (63, 63))
    totals = np.full_like(hits, 500)
    known, draws = [traits(spec) for spec in specs], ModelResamples(63)
    made = Matrix(hits, totals)
    found = factors(made, known, draws)
    rows = tuple(tuple(map(int, row)) for row in hits)
    return study(
        [model(s.name, number=number(s.name), traits=traits(s), second=f"{s.name}#2") for s in specs],
        rows,
        tuple((500,) * 63 for _ in range(63)),
        factors=found,
        order=order(found),
        order_share=0.5,
        tables=tables(made, known, draws),
        base=made.base_mean(draws),
        pairs=made.pairs_mean(draws),
        speed=Speed(asked=1000, forwarded=500, wall=2.0, busy=4.0, floor=1.0, scored=10, scoring=1.0),
    )


def test_names_from_outside_stay_text():
    page = transfers([small(notes=("<b>note</b>",))])
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>note" not in page


def test_each_cell_says_its_count_and_interval():
    figure = ElementTree.fromstring(heat_map(small()))
    told = [node.text for node in figure.iter("title")]
    assert "one to <script>alert(1)</script>: 37.5% (3/8, 13.7-69.4)" in told
    assert "one to one, which has no second: not tried" in told


def test_all_63_fit_on_one_page_in_the_papers_order():
    record = whole()
    figure = ElementTree.fromstring(heat_map(record))
    cells = list(figure.iter("rect"))
    assert len(cells) == 63 * 63
    labels = [node.text for node in figure.iter("text")]
    assert labels[0] == labels[1] == "1 LSTM-W-Random-1"
    assert labels[-1] == "63 ALBERT"
    page = transfers([record])
    for heading in ("What decides whether an attack carries over", "By architecture", "By input form and embedding"):
        assert heading in page
    assert "500 asked a second" in page
    assert "0.25 of the attacks" in page


def test_the_matrix_as_a_sheet(tmp_path):
    lines = matrix_csv(small()).splitlines()
    assert lines[0] == "source,target,hits,total,rate,low,high,right_before,carried"
    assert lines[1].startswith("one,<script>alert(1)</script>,3,8,0.3750,0.1368,0.6943")
    assert len(lines) == 3


def chosen(**more) -> ChosenEnsemble:
    given = {"size": 2, "how": "genetic", "members": ("one", "<i>"), "fitness": 0.5, "counts": COUNTS, "drawn": 8,
             "hits": (None, None, 4), "totals": (None, None, 8), "outside": Estimate(0.5, 0.2, 0.8), "common": None,
             "unseen": None}  # fmt: skip
    return ChosenEnsemble(**{**given, **more})


def test_ensembles_on_the_page_and_in_the_terminal():
    record = EnsemblesRecord(
        recipe="pwws", data="mr", texts=11, wanted=8, seed=0, models=("one", "<i>", "three"), unseen=(),
        upper=Estimate(0.7, 0.6, 0.8), lower=Estimate(0.4, 0.3, 0.5),
        chosen=(chosen(), chosen(size=3, outside=Estimate(0.6, 0.3, 0.9)), chosen(size=3, how="expert", outside=None)),
    )  # fmt: skip
    page = ensemble_cards([record])
    assert "genetic from 50.0% (20.0-80.0) at 2 to 60.0% (30.0-90.0) at 3" in page
    assert "mean base rate" in page
    assert "<i>" not in page
    assert "Transfer of ensembles" not in ensemble_cards([replace(record, chosen=(chosen(outside=None),))])
    out = ensembles.terminal(record) + transfer.terminal(whole())
    assert "2, genetic" in out
    assert "mean of base rates: 0.700 (0.600-0.800)" in out
    assert "order here" in out


def test_differences_have_signs_and_held_out_models_a_column(monkeypatch):
    held = replace(chosen(), unseen=Estimate(0.25, 0.125, 0.5))
    contrast = Contrast(size=2, first="genetic", second="greedy", difference=Estimate(0.009, -0.239, 0.241), targets=3)
    record = EnsemblesRecord(
        recipe="pwws", data="mr", texts=11, wanted=8, seed=0, models=("one", "<i>", "three"), unseen=("three",),
        upper=None, lower=None, chosen=(held,), contrasts=(contrast,),
    )  # fmt: skip
    monkeypatch.setenv("COLUMNS", "150")
    out = ensembles.terminal(record)
    assert "size 2: genetic over greedy +0.009 (-0.239 to +0.241), on 3 models outside both" in out
    assert "0.250 (0.125-0.500)" in out
    assert "0.250" not in ensembles.terminal(replace(record, unseen=()))


def _runs(many: int):
    made = Run(recipe="pwws", victim="one", data="mr", n=0, labels=("a", "b"), started="")
    return [(replace(made, victim=f"model {number}"), ()) for number in range(many)]


def test_the_study_comes_first_and_says_how_far_attacks_carry():
    page = render(_runs(2), records=[whole()])
    assert page.index(">Transfer</h2>") < page.index(">Accuracy under attack</h2>")
    record = whole()
    said = f"wrong for another in <strong>{100 * record.pairs.value:.0f}%</strong> of the texts"
    assert said in page
    assert f"{100 * record.base.value:.0f}% for the same model trained again" in page


def test_a_study_without_seconds_has_no_word_on_them():
    page = render(_runs(2), records=[small(pairs=Estimate(0.5, 0.4, 0.6))])
    assert "wrong for another in <strong>50%</strong> of the texts." in page
    assert "trained again" not in page


def test_many_victims_are_summed_up_and_folded():
    few, many = render(_runs(8)), render(_runs(30))
    assert few.count('<section class="card victim"') == 8
    assert "<summary><h2" not in few
    assert "scroll tall" not in few
    assert many.count("<summary><h2") == 30
    assert "30: model 0, model 1, model 2 and 27 more, below" in many
    assert 'class="scroll tall"' in many
