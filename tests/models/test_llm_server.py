"""A language model behind a real server that speaks OpenAI's protocol: every example is accounted for."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_causal
import toy
from http_server import serving
from llm_server import KEY, MODEL, Log, application

from malaprop.attacks.goals.goal import LabelOnly
from malaprop.cli.main import main
from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError, SettingError, VictimError
from malaprop.core.victim import NO_LABEL
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.records.summary import Summary
from malaprop.frame.runs.load_victim import load
from malaprop.frame.runs.local import run
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.models.llm.replies import find_label, join_stream, read_reply, weigh_top

WORDS = ("bad", "good")
FILMS = ("a good film", "a bad film about a great actor", "awful , bad story", "a fine , great movie", "this is a film")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Log, Any]]:
    folder = tiny_causal.folder(tmp_path_factory.mktemp("lm") / "llama", "llama")
    local: Any = load(f"causal:{folder}", labels=WORDS)
    log = Log()
    with serving(application(log, local.model, local.tokenizer, WORDS)) as url:
        yield url, log, local


def open_victim(url: str, mode: str, labels: tuple[str, ...] = WORDS, model: str = MODEL, **options: Any) -> Any:
    return load(f"openai:{model}@{url}/{mode}/v1", labels=labels, quiet=True, pause=0.01, retries=6, **options)


def attack(victim: Any, **parts: Any) -> dict[str, Any]:
    rows = [*toy.examples(FILMS, label=0), *toy.examples(FILMS, label=1)]
    return {o.id: o for o in run(toy.listed(**parts), victim, rows, width=8)}


def test_scores_are_those_of_the_likeliest_tokens(server: tuple[str, Log, Any]) -> None:
    url, _, local = server
    victim = open_victim(url, "healthy")
    assert victim.answers == "top"
    assert victim.offers >= {Capability.SCORES, Capability.LABELS}
    assert victim.label_names == (*WORDS, NO_LABEL)
    torch = pytest.importorskip("torch")
    asked = "\n".join(turn["content"] for turn in victim.template.messages((FILMS[0],)))
    with torch.inference_mode():
        logits = local.model(**local.tokenizer(asked, return_tensors="pt")).logits[0, -1]
    first = [local.tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in WORDS]
    np.testing.assert_allclose(victim.predict([FILMS[0]])[0, :2], logits[first].softmax(-1).numpy(), atol=1e-2)


def test_an_echo_tells_the_same_as_the_model_in_this_process(server: tuple[str, Log, Any]) -> None:
    url, _, local = server
    victim = open_victim(url, "echo", labels=("very good", "very bad"))
    same: Any = type(local)(
        name="same", model=local.model, tokenizer=local.tokenizer, template=victim.template, limit=256,
        label_names=("very good", "very bad"),
    )  # fmt: skip
    assert victim.answers == "echo"
    np.testing.assert_allclose(victim.predict(FILMS)[:, :2], same.predict(FILMS), atol=1e-4)


@pytest.mark.parametrize("mode", ["flaky", "limited", "slow", "cut", "stream", "uncounted"])
def test_a_troubled_server_changes_no_outcome(server: tuple[str, Log, Any], mode: str) -> None:
    url, log, _ = server
    wanted = attack(open_victim(url, "healthy"))
    before, counted = log.failed, log.tokens_in
    victim = open_victim(url, mode)
    found = attack(victim)
    assert {o.id: (o.status, o.queries.asked) for o in found.values()} == {
        o.id: (o.status, o.queries.asked) for o in wanted.values()
    }
    assert {o.status for o in found.values()} > {"skipped"}
    assert len(found) == 2 * len(FILMS)
    if mode in ("flaky", "limited", "cut"):
        assert log.failed > before
    if mode == "stream":
        assert any("streams though the request says not to" in note for note in victim.notes)
    if mode == "uncounted":
        assert any("estimates, 4 characters each" in note for note in victim.notes)
        assert victim.meter.tokens_in > 0
    elif mode != "cut":  # of which the server counts what never arrived
        assert victim.meter.tokens_in == log.tokens_in - counted


@pytest.mark.parametrize("mode", ["mute", "chats"])
def test_without_likelihoods_labels_alone_are_offered_and_said(server: tuple[str, Log, Any], mode: str) -> None:
    url, _, _ = server
    victim = open_victim(url, mode)
    assert victim.answers == "text"
    assert victim.offers == {Capability.LABELS}
    assert any("--goal label-only" in note for note in victim.notes)
    with pytest.raises(MalapropError, match=r"needs scores.*gives no likelihood of tokens.*--goal label-only"):
        attack(victim)
    assert {o.status for o in attack(victim, goal=LabelOnly()).values()} <= {"skipped", "failed", "success"}


def test_answers_that_name_no_label_are_counted(server: tuple[str, Log, Any]) -> None:
    url, _, _ = server
    found = Summary.of(attack(open_victim(url, "chatty"), goal=LabelOnly()).values())
    assert found.no_label > 0
    assert found.to_dict()["no_label"] == found.no_label
    assert "answered without a label" in found.apart
    assert sum(found.counts.values()) == 2 * len(FILMS)


def test_no_label_is_none_that_a_guess_could_give(server: tuple[str, Log, Any]) -> None:
    url, _, _ = server
    found = attack(open_victim(url, "healthy")).values()
    for names in (WORDS, (*WORDS, NO_LABEL)):
        assert Summary.of(found, names).chance == 0.5


def test_a_victim_travels_to_another_process_without_its_connections(server: tuple[str, Log, Any]) -> None:
    url, _, _ = server
    victim = open_victim(url, "healthy")
    again = pickle.loads(pickle.dumps(victim))
    np.testing.assert_array_equal(again.predict(FILMS), victim.predict(FILMS))


def test_a_command_accounts_for_every_example_and_shows_no_key(
    server: tuple[str, Log, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _, _ = server
    data, out = tmp_path / "films.csv", tmp_path / "out"
    data.write_text("text,label\n" + "".join(f'"{text}",{WORDS[at % 2]}\n' for at, text in enumerate(FILMS)))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    words = f"attack keyboard --victim openai:{MODEL}@{url}/flaky/v1#pause=0.01:retries=6 --n all --cache none --json"
    monkeypatch.setattr(sys, "argv", ["malaprop", *words.split(), "--data", str(data), "--out", str(out)])
    with suppress(SystemExit):
        main()
    shown = capsys.readouterr()
    found = json.loads(shown.out.splitlines()[-1])
    assert sum(found["counts"].values()) == len(FILMS)
    assert found["counts"]["error"] == 0
    assert found["labels"] == [*WORDS, NO_LABEL]
    written = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert KEY not in shown.out + shown.err + written


@pytest.mark.parametrize("mode", ["flaky", "limited"])
def test_money_is_counted_to_the_token_and_limited_and_no_text_is_paid_for_twice(
    server: tuple[str, Log, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    url, log, _ = server
    data = tmp_path / "films.csv"
    data.write_text("text,label\n" + "".join(f'"{text} {at}",{WORDS[at % 2]}\n' for at, text in enumerate(3 * FILMS)))
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    before = log.tokens_in, log.tokens_out

    def attack(limit: float) -> Any:
        given = {"recipe": "keyboard", "victim": f"openai:{MODEL}@{url}/{mode}/v1#pause=0.01:retries=6", "data": data}
        more = {"n": 0, "price_in": 10.0, "price_out": 20.0, "max_cost": limit, "device": "cpu", "resume": True}
        return conduct(build(AttackRun, {**given, **more, "out": tmp_path / "out", "quiet": True}))

    part = attack(0.05)
    spent = part.spent
    assert (spent.tokens_in, spent.tokens_out) == (log.tokens_in - before[0], log.tokens_out - before[1])
    assert spent.cost == pytest.approx((10 * spent.tokens_in + 20 * spent.tokens_out) / 1e6)
    assert spent.state == "budget"
    assert 0.03 < spent.cost < 0.055
    assert 0 < len(part.outcomes) < 15
    whole = attack(100.0)
    assert whole.state == "done"
    assert len(whole.outcomes) == 15
    assert whole.spent.tokens_in == log.tokens_in - before[0]


@pytest.mark.parametrize(
    ("mode", "given", "said"),
    [
        ("healthy", {"model": "larger"}, r"answered 404 .*`larger` does not exist.*model's name \(larger\)"),
        ("locked", {}, "answered 401 .*OPENAI_API_KEY"),
        ("healthy", {"labels": ("very good", "very bad"), "answers": "top"}, "begin with one token .* --label-words"),
        ("healthy", {"answers": "echo"}, "gives no likelihood of tokens by echo"),
        ("healthy", {"answers": "loud"}, "answers is auto, top, echo, text; got 'loud'"),
        ("healthy", {"concurrency": 0}, "concurrency must be at least 1"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    server: tuple[str, Log, Any], monkeypatch: pytest.MonkeyPatch, mode: str, given: dict[str, Any], said: str
) -> None:
    url, _, _ = server
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key-789")
    with pytest.raises(MalapropError, match=said) as error:
        open_victim(url, mode, **given)
    assert "\n" not in str(error.value)
    assert "sk-another-key-789" not in str(error.value)


def test_the_key_is_taken_from_the_environment(server: tuple[str, Log, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    url, _, _ = server
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    victim = open_victim(url, "locked")
    assert victim.predict(["a film"]).shape == (1, 3)
    assert KEY not in repr(victim)
    with pytest.raises(SettingError, match="MODEL@http://host/v1"):
        load("openai:tiny", labels=WORDS)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(VictimError, match="refuses connections"):
        load("openai:tiny@http://127.0.0.1:9/v1", labels=WORDS, quiet=True, retries=0)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("good", 1), (" Good.", 1), ("The review is bad", 0), ("not good, but bad", None), ("goodness", None),
        ("", None), ("**bad**, though it could be good", 0),
    ],
)  # fmt: skip
def test_an_answer_names_one_label_or_none(answer: str, label: int | None) -> None:
    assert find_label(answer, WORDS) == label


def test_tokens_count_for_the_label_that_they_begin() -> None:
    found, shared = weigh_top([(" Go", -0.5), ("good", -2.0), ("x", -3.0)], WORDS)
    assert not shared
    assert found is not None
    assert found[1] > found[0] > 0
    assert weigh_top([("x", -0.1)], WORDS) == (None, "")
    assert weigh_top([(" very", -0.1)], ("very good", "very bad")) == (None, " very")


def test_a_stream_that_ends_too_early_is_no_answer() -> None:
    with pytest.raises(ValueError, match="Unterminated"):
        join_stream('data: {"choices": []}\n\n')


@pytest.mark.parametrize("value", [1000.0, 0.5, float("nan"), float("inf")])
def test_a_log_probability_over_zero_is_no_answer(value: float) -> None:
    entry = {"token": "good", "logprob": value}
    chat = {"choices": [{"message": {"content": "good"}, "logprobs": {"content": [{"top_logprobs": [entry]}]}}]}
    echo = {"choices": [{"text": "good", "logprobs": {"token_logprobs": [None, value], "text_offset": [0, 1]}}]}
    for answer in (chat, echo):
        with pytest.raises(
            VictimError, match=r"^it answered with a log-probability of \w+(\.5)?; expected numbers of at most"
        ):
            read_reply(answer, "it")
    entry["logprob"] = float("-inf")
    assert read_reply(chat, "it")[0].top == (("good", float("-inf")),)
