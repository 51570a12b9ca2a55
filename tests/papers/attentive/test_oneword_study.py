"""The study of one-word attacks: its texts, its record, its tables, and the command from end to end."""

from __future__ import annotations

import json

import pytest
import toy
from typer.testing import CliRunner

from malaprop.attacks import recipes
from malaprop.cli.main import app
from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.records.outcome import Outcome, Queries, Side
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Writer
from malaprop.frame.records.summary import Rate
from malaprop.frame.study.shared_tasks import name_models
from malaprop.papers.attentive.oneword import (
    PAIRS,
    RECIPES,
    OneWordDesign,
    Texts,
    common,
    draw_curves,
    gather,
    measure_quality,
    run_folder,
)
from malaprop.papers.attentive.oneword_record import (
    PAPER,
    Against,
    OneWordCell,
    OneWordMean,
    OneWordModel,
    OneWordRecord,
    markdown,
    one_word,
)
from malaprop.papers.attentive.oneword_study import kin_of


def outcome(id: str, status: str, **measures: float) -> Outcome:
    side = Side({"text": f"a good film {id}"}, 1, (0.1, 0.9))
    other = Side({"text": f"a bad film {id}"}, 0, (0.9, 0.1))
    return Outcome(
        id=id, status=status, label=1, original=side, adversarial=other, queries=Queries(10, 9, 8), measures=measures
    )


def write(root, model, recipe, outcomes):
    about = Run(recipe=recipe, victim=model, data="d", n=len(outcomes), seed=0, budget=None, width=1, labels=("a", "b"))
    with Writer(run_folder(root, model, recipe), about) as writer:
        for one in outcomes:
            writer.add(one)


TEXTS = Texts(
    data="d", fields=("text",), seed=3, examined=20, common=9, ids=("a", "b", "c"), right={"m": 15, "plain": 12},
    offers={"m": ["scores"], "plain": ["scores"]},
)  # fmt: skip


@pytest.fixture
def root(tmp_path):
    write(tmp_path, "m", "gs-gr", [outcome("a", "success", distance=4.0), outcome("b", "success", distance=6.0)])
    write(tmp_path, "m", "gs-ec", [outcome("a", "success", distance=1.0), outcome("b", "success", distance=7.0)])
    shares = {"a": 0.5, "b": 0.0, "c": 0.1}
    write(tmp_path, "m", "random", [outcome(i, "success" if s else "failed", hit_share=s) for i, s in shares.items()])
    return tmp_path


def made(root, **more) -> OneWordRecord:
    plan = OneWordDesign(
        models=("m", "plain"), recipes=("random", "asmax-gr", "gs-gr", "gs-ec"), vocabulary=50, trials=10
    )
    lacking = {("plain", "asmax-gr"): "shows no attention"}
    return gather(root, plan, TEXTS, kin={"m": "LSTM"}, lacking=lacking, **more)


def test_curves_count_what_is_broken_within_a_distance():
    first = [outcome(str(n), "success", distance=float(n)) for n in range(1, 11)] + [outcome("x", "failed")]
    second = [outcome(str(n), "success", distance=n / 2) for n in range(1, 11)]
    one, two = draw_curves("m", {"gs-gr": first, "gs-ec": second})
    assert [bound for bound, _ in one.points] == [bound for bound, _ in two.points]
    assert [rate.hits for _, rate in one.points] == list(range(1, 11))
    assert one.points[-1] == (10.0, Rate(10, 11))
    assert one.points[4][0] == pytest.approx(5.5)
    assert two.points[4][1] == Rate(10, 10)
    assert list(draw_curves("m", {"gs-gr": first[:2], "gs-ec": second})) == []


def test_the_record_adds_the_runs_up(root):
    study = made(root)
    assert study.models[0] == OneWordModel(name="m", accuracy=Rate(15, 20), kin="LSTM")
    assert study.task == "sentiment"
    gr = study.cell("m", "gs-gr")
    assert gr.success == Rate(2, 2)
    assert gr.distance.value == pytest.approx(5.0)
    random = study.cell("m", "random")
    assert random.success == Rate(2, 3)
    assert random.share.value == pytest.approx(0.2)
    assert (random.share.count, random.measures) == (3, {})
    assert random.halves == {"length": (Rate(1, 1), Rate(1, 2)), "confidence": (Rate(1, 1), Rate(1, 2))}
    assert study.cell("plain", "asmax-gr").reason == "shows no attention"
    assert study.cell("plain", "gs-gr").reason == "not run"
    (pair,) = study.against
    assert (pair.before, pair.after) == (5.0, 4.0)
    assert pair.gap.value == pytest.approx(-1.0)
    assert pair.lower == Rate(1, 2)


def test_the_record_comes_back_from_disk_as_it_was(root):
    study = made(root)
    study.write(root)
    assert OneWordRecord.read(root) == study
    assert OneWordRecord.read(root / "runs") is None
    (root / "oneword.json").write_text('{"format": 1}')
    with pytest.raises(RecordError, match="not a record of a study of one-word attacks"):
        OneWordRecord.read(root)


def test_quality_is_measured_of_the_texts_on_disk(root, monkeypatch):
    from malaprop.engine.service import FunctionService

    services = {"encoder": FunctionService(toy.encode), "language-model": FunctionService(toy.perplexity)}
    monkeypatch.setattr("malaprop.papers.attentive.oneword.shared", lambda: services)
    study = made(root, quality=lambda outcomes: measure_quality(outcomes, ("similarity", "perplexity")))
    taken = study.cell("m", "gs-ec").measures
    assert set(taken) == {"similarity", "perplexity", "perplexity_before"}
    assert taken["perplexity_before"].value == 1 + len("a good film a")
    assert taken["perplexity"].value == 1 + len("a bad film a")
    assert 0 < taken["similarity"].value < 1
    assert {a.measure for a in study.against} == {"distance", "similarity", "perplexity", "perplexity_before"}
    with pytest.raises(SettingError, match="similarity"):
        measure_quality([], ("similarty",))


def test_quality_of_a_pair_is_that_of_what_may_change(monkeypatch):
    from malaprop.engine.service import FunctionService

    monkeypatch.setattr(
        "malaprop.papers.attentive.oneword.shared", lambda: {"language-model": FunctionService(toy.perplexity)}
    )
    before = Side({"premise": "a long premise that stays", "hypothesis": "it rains"}, 1, (0.1, 0.9))
    after = Side({"premise": "a long premise that stays", "hypothesis": "it pours"}, 0, (0.9, 0.1))
    pair = Outcome(id="p", status="success", label=1, original=before, adversarial=after, queries=Queries(1, 1, 1))
    assert measure_quality([pair], ("perplexity",), fields=("hypothesis",))["perplexity"] == [1 + len("it pours")]
    assert measure_quality([pair], ("perplexity",))["perplexity"] == [1 + len("a long premise that stays it pours")]


def test_the_tables_stand_beside_the_papers_figures(root):
    page = markdown(made(root))
    assert "| random | 20.00% (0.00-49.94); any: 66.7% (2/3, 20.8-93.9) | 1.1% |" in page
    assert "| gs-gr | 100.0% (2/2, 34.2-100.0) | 79% | not run |" in page
    assert "| asmax-gr | not run | 62% | shows no attention |" in page
    assert "all models answer 9 correctly; 3 of those were attacked" in page
    assert "| m | distance: gs-gr, gs-ec | 2 | 5 | 4 | -1 (" in page
    assert set(PAPER["sentiment"]["LSTM"]) - {"best of attention"} == set(RECIPES)


def test_the_card_shows_hostile_names_as_text():
    cell = OneWordCell(model="<b>m</b>", recipe="gs-gr", success=Rate(1, 2), reason="")
    study = OneWordRecord(
        data="<i>d</i>", task="entailment", examined=2, common=1, texts=1, vocabulary=5, words=2, trials=1, seed=0,
        models=(OneWordModel(name="<b>m</b>", accuracy=Rate(1, 2)),), cells=(cell,),
        against=(
            Against(model="<b>m</b>", first="a", second="b", measure="x", before=1, after=2,
                    gap=OneWordMean(1, 1, 1, 1), lower=Rate(0, 1)),
        ),
    )  # fmt: skip
    page = one_word([study])
    assert "<b>m" not in page
    assert "<i>d" not in page
    assert "&lt;b&gt;m" in page
    assert one_word([]) == ""


def test_means_have_intervals():
    assert OneWordMean.of([]) is None
    assert OneWordMean.of([2.0]) == OneWordMean(2.0, 2.0, 2.0, 1)
    found = OneWordMean.of([1.0, 3.0])
    assert (found.value, found.count) == (2.0, 2)
    assert found.high - found.value == pytest.approx(1.959964)  # the deviation is sqrt(2), of a mean of two 1


def test_the_first_texts_that_all_models_answer():
    right = {"a": [True, True, False, True], "b": [True, False, True, True]}
    assert common(right, ["w", "x", "y", "z"], 1) == (("w",), 2)
    assert common(right, ["w", "x", "y", "z"], 5) == (("w", "z"), 2)


def test_every_recipe_of_the_study_takes_its_settings():
    plan = OneWordDesign(models=("m",), more={"layer": 1, "direction": "cls", "probe": "leave-out"})
    for name in RECIPES:
        attack = recipes.RECIPES[name](**plan.settings(name))
        assert attack.name == name
    assert {name for pair in PAIRS for name in pair} <= set(RECIPES)
    assert plan.settings("asmax-gr")["layer"] == 1
    assert "layer" not in plan.settings("gs-gr")


def test_names_of_models(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert name_models(["BERT", str(folder)]) == {"BERT": "BERT", "mine": str(folder)}
    for wrong in (["BERT", "BERT"], []):
        with pytest.raises(SettingError, match="--victim"):
            name_models(wrong)
    kinds = ("Pair-BiLSTM-Attention", "BERT", "Transformer-3", "LSTM-W-GloVe-1")
    assert [kin_of(name) for name in kinds] == ["LSTM", "BERT", "BERT without pre-training", ""]


PATTERN = ["a {} film of the year", "the {} story and a {} end", "it is {} , truly {}"]


@pytest.fixture
def reviews(tmp_path):
    """Good and bad words that never meet, in sentences that a small model learns at once."""
    rows = []
    for number in range(150):
        for label, words in ((0, ("bad", "awful", "poor")), (1, ("good", "great", "nice"))):
            picked = [words[(number + i) % 3] for i in range(2)]
            rows.append({"text": f"{PATTERN[number % 3].format(*picked)} {number}", "label": label})
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.usefixtures("tiny_assets")
def test_the_command_trains_attacks_and_goes_on_where_it_was_killed(reviews, tmp_path):
    out = tmp_path / "study"
    command = [
        *("study", "oneword", "--data", str(reviews), "--models", "BiLSTM-Attention,LSTM-W-Random-1", "--n", "4"),
        *("--recipes", "gs-gr,gs-ec,asmax-gr,random", "--vocabulary", "5", "--trials", "60", "--device", "cpu"),
        *(
            "--set",
            "epochs=5",
            "--set",
            "rate=0.02",
            "--set",
            "batch=16",
            "--set",
            "hidden=8",
            "--out",
            str(out),
            "--json",
        ),
    ]
    told = CliRunner().invoke(app, command, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    summary = json.loads(told.stdout.splitlines()[-1])
    assert set(summary["models"]) == {"BiLSTM-Attention", "LSTM-W-Random-1"}
    study = OneWordRecord.read(out)
    assert study.texts == 4
    cards = [json.loads((out / "models" / name / "model.json").read_text()) for name in summary["models"]]
    assert [card["figures"]["epochs"] for card in cards] == [5, 5]  # settings of the training are not dropped
    assert study.cell("LSTM-W-Random-1", "asmax-gr").reason == "shows no attention"
    for model in ("BiLSTM-Attention", "LSTM-W-Random-1"):
        assert study.cell(model, "gs-gr").success == study.cell(model, "gs-ec").success
    for gap in study.against:
        assert gap.measure != "distance" or gap.gap.value <= 1e-4
    assert "One-word attacks" in (out / "report.html").read_text()

    line = (out / "runs" / "LSTM-W-Random-1" / "gs-ec" / "outcomes.jsonl").read_text().splitlines()
    (out / "runs" / "LSTM-W-Random-1" / "gs-ec" / "outcomes.jsonl").write_text(line[0] + "\n")
    before = (out / "runs" / "LSTM-W-Random-1" / "gs-gr" / "outcomes.jsonl").read_text()
    short = CliRunner().invoke(app, [*command, "--gather"], catch_exceptions=False)
    assert short.exit_code == 0
    assert OneWordRecord.read(out).cell("LSTM-W-Random-1", "gs-ec").success.total == 1
    again = CliRunner().invoke(app, command, catch_exceptions=False)
    assert again.exit_code == 0
    assert OneWordRecord.read(out) == study
    assert (out / "runs" / "LSTM-W-Random-1" / "gs-gr" / "outcomes.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--recipes", "gs-grr"], "gs-gr"),
        (["--measure", "beauty"], "measure"),
        (["--models", "BERT,BERT"], "twice"),
        (["--gather"], "holds no study"),
        (["--set", "no_such=1"], "no setting is called"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(more, said, tmp_path):
    from malaprop.core.errors import MalapropError

    with pytest.raises(MalapropError, match=said):
        CliRunner().invoke(
            app,
            ["study", "oneword", "--out", str(tmp_path / "o"), *more],
            catch_exceptions=False,
            standalone_mode=False,
        )


def test_the_terminal_does_not_round_a_similarity_to_one(root):
    from io import StringIO

    from rich.console import Console

    from malaprop.frame.records.store import read_outcomes
    from malaprop.frame.report import print_summary

    folder = run_folder(root, "m", "random")
    out = StringIO()
    print_summary([(Run.read(folder), read_outcomes(folder))], Console(file=out, width=200))
    assert "0.2" in out.getvalue().split("hit_share")[1]
