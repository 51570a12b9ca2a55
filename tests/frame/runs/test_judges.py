"""Language models as judges of meaning, and other classifiers that a judge refers to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_causal
import toy
from http_server import serving
from llm_server import MODEL, Log, application

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.core.judgement import JUDGE, Judgement, Labelled
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.runs.judges import configure, open_named
from malaprop.frame.runs.victims import victim
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.models.llm.judge import ANSWERS, LanguageJudge

pytestmark = pytest.mark.usefixtures("tiny_assets")
FILMS = ("a good film", "a good story", "a nice film")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal.folder(tmp_path_factory.mktemp("judge") / "llama", "llama")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[tuple[str, Log]]:
    local: Any = victim(f"causal:{folder}", labels=ANSWERS)
    log = Log()
    with serving(application(log, local.model, local.tokenizer, ANSWERS)) as url:
        yield url, log


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    return tmp_path


def attack(**more: Any) -> Any:
    """Attack the toy victim; without a judge each text falls by one word."""
    recipe = toy.listed({"good": ("bad",), "nice": ("awful",)})
    rows = [(text, 1) for text in FILMS]
    return conduct(
        build(AttackRun, {"recipe": recipe, "victim": toy.predict, "data": rows, "n": 0, "quiet": True, **more})
    )


def test_a_language_model_is_asked_in_words() -> None:
    seen: list[tuple[str, ...]] = []

    def ask(texts: Any) -> Any:
        seen.extend(texts)
        return np.float32([[0.7, 0.2, 0.1] for _ in texts])

    one = Judgement("a good film", "a bad film", "positive", "a premise")
    assert LanguageJudge(ask).kept([one, Judgement("same", "same"), one]) == [0.75, 1.0, 0.75]
    ((first, second),) = seen
    assert first.split("\n") == [
        "a good film", "Beside both texts stands: a premise", "Label of the first text: positive",
    ]  # fmt: skip
    assert second == "a bad film"


def test_a_causal_model_rates_and_refuses(folder: Path) -> None:
    name = f"causal:{folder}"
    pair = Judgement("a good film", "a bad film")
    (chance,) = open_named(name, lambda: pytest.fail("not the packaged one"), victim).kept([pair])
    plain = victim(configure(name)).predict([("a good film", "a bad film")])
    assert chance == pytest.approx(plain[0, 0], abs=1e-3)
    rated = attack(judge=name)
    assert [one.status for one in rated.outcomes] == ["success"] * 3
    assert rated.outcomes[0].meaning == pytest.approx(chance, abs=1e-3)


def test_a_server_s_answers_count_towards_the_limits(server: tuple[str, Log], place: Path) -> None:
    url, log = server
    judge = f"openai:{MODEL}@{url}/healthy/v1"
    before = log.calls
    whole = attack(judge=judge, max_queries=500, out=place / "whole")
    calls = log.calls - before
    assert all(0 <= one.meaning <= 1 for one in whole.outcomes)
    assert calls > len(FILMS)
    asked = sum(one.queries.forwarded for one in whole.outcomes)
    spent = json.loads((place / "whole/spending.json").read_text())
    assert spent["queries"] >= asked + len(FILMS)
    again = attack(judge=judge, max_queries=500, out=place / "again")
    assert log.calls - before - calls < calls, "answers that are paid for are kept"
    assert [one.meaning for one in again.outcomes] == [one.meaning for one in whole.outcomes]
    assert attack(judge=judge, max_queries=spent["queries"] - 1, cache="none", out=place / "short").state == "budget"


def test_a_request_that_fails_costs_one_example(server: tuple[str, Log]) -> None:
    url, _ = server
    found = attack(judge=f"openai:{MODEL}@{url}/picky/v1#retries=0:pause=0.01").outcomes
    assert sorted(one.status for one in found) == ["error", "success", "success"]
    (failed,) = [one for one in found if one.status == "error"]
    assert failed.original.fields == {"text": "a nice film"}
    assert "against the rules" in str(failed.reason)


def test_a_judge_that_cannot_be_asked_is_said_before_the_run(place: Path, capsys: Any, command: Any) -> None:
    (place / "rows.csv").write_text("text,label\na good film,1\na bad film,0\n")
    (place / "own.py").write_text("from toy import predict\n")
    for judge, said in (
        ("nobody", "no judge is called 'nobody'"),
        ("openai:m@http://127.0.0.1:9/v1#retries=0:pause=0.01", "refuses connections"),
        ("openai:m", "openai:MODEL@http://host/v1"),
        ("causal:nowhere", "no causal model at 'nowhere'"),
    ):
        assert command("attack", "keyboard", "--victim", "own:predict", "--data", "rows.csv", "--judge", judge) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert said in lines[-1], lines
        assert "Traceback" not in "".join(lines)


def test_nobody_rates_the_successes_of_a_recipe_as_published_where_nobody_is_to(monkeypatch: Any) -> None:
    monkeypatch.setattr("malaprop.assets.measures.why_no_judge", lambda *_, **__: "")  # there would be one
    found = attack(judge="none", measure=()).outcomes
    assert [(one.status, one.meaning, one.validity) for one in found] == [("success", None, None)] * 3
    with pytest.raises(SettingError, match="--validity valid needs a judge of meaning; leave out --judge none"):
        attack(judge="none", validity="valid")


def test_references_lower_the_judge_s_number_by_name_and_by_number() -> None:
    def other(texts: Any) -> Any:
        return [[0.8, 0.2] if "good" in text else [0.2, 0.8] for text in texts]

    class Sure:
        def kept(self, judgements: Any) -> list[float]:
            return [1.0] * len(judgements)

    made = {"named": victim(other, label_names=("positive", "negative")), "bare": victim(other)}
    one = Judgement("good", "bad", "positive", labelled=Labelled(("good",), ("bad",), 1))
    assert open_named("\nnamed", Sure, made.__getitem__).kept([one]) == [0.25]
    assert open_named("\nbare", Sure, made.__getitem__).kept([one]) == [1.0], "it gives label 0 to the original"
    pair = Judgement("good", "bad", labelled=Labelled(("good",), ("bad",), 0))
    assert open_named("\nbare", Sure, made.__getitem__).kept([pair]) == [0.25]


def test_references_that_cannot_help_are_refused(place: Path) -> None:
    (place / "others.py").write_text(
        "from toy import predict\nthree = lambda texts: [[0.2, 0.3, 0.5] for _ in texts]\n"
    )
    with pytest.raises(VictimError, match="is the victim itself"):
        attack(victim="others:predict", judge_reference=("others:predict",))
    with pytest.raises(DataError, match="others:three"):
        attack(victim="others:predict", judge_reference=("others:three",))
    found = attack(victim=toy.predict, judge_reference=("others:predict",))
    assert {one.status for one in found.outcomes} == {"success"}


def test_a_service_s_name_holds_the_judge_and_its_references() -> None:
    from malaprop.attacks.judge import Judge

    assert Judge().service == JUDGE
    assert Judge(name="causal:x").service == "judge:causal:x"
    assert Judge(references=("a", "b")).service == "judge:\na\nb"
    with pytest.raises(SettingError, match="no judge is called"):
        attack(judge="good")
