"""The playground over HTTP: what it answers, what it refuses, and what it never tells."""

from __future__ import annotations

import json
import re
import threading
import time
from html.parser import HTMLParser
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the pages are an extra")

import httpx
import numpy as np
import toy
from live_site import live, until
from starlette.testclient import TestClient

import malaprop as mp
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.text import Text
from malaprop.data.base import Dataset
from malaprop.features.playground.app import make_app
from malaprop.features.playground.jobs import name_heads
from malaprop.features.playground.victims import PlaygroundVictims, warm_up
from malaprop.frame.records.outcome import compare_key, from_json
from malaprop.frame.web.site import SiteLimits

BAD = '<script>window.hacked=1</script>"><img src=x onerror=alert(1)>'
TEXT = "a good film and a great plot"
pytestmark = pytest.mark.usefixtures("tiny_assets")


@pytest.fixture(autouse=True)
def toy_services(monkeypatch):
    """The real tagger, encoder and language model are assets."""
    shared = {name: made for name, made in toy.toy_services(toy.victim()).items() if name not in ("victim", "verify")}
    monkeypatch.setattr("malaprop.frame.runs.services.shared", lambda: shared)


def data() -> Dataset:
    return Dataset(name="toy", examples=tuple(toy.examples([TEXT, f"bad {BAD}"])), labels=("bad", "good"))


def room(*calls: Any, **settings: Any) -> PlaygroundVictims:
    return PlaygroundVictims([toy.victim(call) for call in calls or (toy.predict,)], data=data(), **settings)


@pytest.fixture
def client():
    with TestClient(make_app(room())) as made:
        yield made


def sent(text: str = TEXT, **more: Any) -> dict[str, Any]:
    return {"fields": {"text": text}, "victim": 0, **more}


def events(answer: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    found = re.findall(r"^event: (\w+)\ndata: (.*)\n\n", answer.text, re.MULTILINE)
    return [(kind, json.loads(values)) for kind, values in found]


def test_scores_come_with_the_text_cut_in_words(client):
    found = client.post("/api/scores", json=sent("Good, film")).json()
    assert found["fields"] == [
        {"name": "text", "before": "", "words": [{"word": "Good", "after": ", "}, {"word": "film", "after": ""}]}
    ]
    assert found["scores"] == pytest.approx(toy.predict(["good film"])[0])
    assert found["prediction"] == 1


def test_words_are_weighed(client):
    found = client.post("/api/words", json=sent("a good film", victim=0)).json()
    assert found["label"] == 1
    assert found["asked"] == 4
    assert found["weights"][0] == pytest.approx(0, abs=1e-5)
    assert found["weights"][1] > 0.3


def test_a_word_has_substitutes_and_what_each_does(client):
    found = client.post("/api/word", json=sent("a good film", victim=0, slot=1)).json()
    assert found["word"] == "good"
    assert [s["word"] for s in found["substitutes"]] == ["fine", "nice"]
    likely = toy.predict(["a fine film"])[0][1]
    assert found["substitutes"][0]["likelihood"] == pytest.approx(likely, abs=1e-4)
    assert client.post("/api/word", json=sent("a good film", victim=0, slot=0)).json()["substitutes"] == []


def test_an_attack_is_told_step_by_step(client):
    told = events(client.post("/api/attack", json=sent("a bad film", recipe="pwws")))
    kinds = [kind for kind, _ in told]
    assert kinds[0] == "text"
    assert kinds[-1] == "done"
    steps = [values for kind, values in told if kind == "step"]
    assert steps[0]["edits"] == []
    assert steps[-1]["edits"] == [{"field": "text", "slot": 1, "op": "replace", "from": "bad", "to": "okay"}]
    assert steps[-1]["reached"]
    assert [s["asked"] for s in steps] == sorted(s["asked"] for s in steps)
    (end,) = [values for kind, values in told if kind == "end"]
    assert end["status"] == "success"
    assert end["edits"] == steps[-1]["edits"]


@pytest.mark.parametrize("name", ["pwws", "deepwordbug", "genetic", "random", "beam"])
def test_it_is_the_attack_of_the_library(client, name):
    """The same engine and recipes: the record is the one a run would write, whatever the recipe."""
    told = events(client.post("/api/attack", json=sent(recipe=name, seed=3, label=1)))
    (end,) = [values for kind, values in told if kind == "end"]
    (expected,) = mp.attack(name, toy.victim(), [(TEXT, 1)], seed=3, budget=5_000)
    assert expected.status in ("success", "failed")
    assert compare_key(from_json(end["record"])) == compare_key(expected)
    assert json.loads(end["record"])["recipe"] == name


def test_two_victims_side_by_side():
    """The second is sure of the opposite, and can not be moved."""
    stubborn = lambda texts: [[0.9, 0.1] for _ in texts]  # noqa: E731
    with TestClient(make_app(room(toy.predict, stubborn))) as client:
        found = [client.post("/api/scores", json=sent(victim=number)).json() for number in (0, 1)]
        assert [one["prediction"] for one in found] == [1, 0]
        told = events(client.post("/api/attack", json=sent("a bad film", recipe="pwws")))
        ends = {values["victim"]: values["status"] for kind, values in told if kind == "end"}
        assert ends == {0: "success", 1: "failed"}
        page = client.get("/").text
        assert "toy (2)" in page


def test_the_true_label_may_be_given(client):
    told = events(client.post("/api/attack", json=sent("a bad film", recipe="pwws", label=1)))
    (end,) = [values for kind, values in told if kind == "end"]
    assert end["status"] == "skipped"
    assert end["scores"] is None


def test_the_page_escapes_what_it_shows(client):
    page = client.get("/", headers={"accept": "text/html"}).text
    tags: list[tuple[str, dict[str, Any]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.feed(page)
    assert len(tags) > 40
    for tag, attributes in tags:
        assert tag != "img"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        assert tag != "script" or attributes["src"].startswith("/"), "no inline script"


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("scores", "not json", 400, "not what the page expects"),
        ("scores", "[" * 5_000, 400, "not what the page expects"),
        ("scores", [], 400, "not what the page expects"),
        ("scores", {}, 400, "has no text for text"),
        ("scores", {"fields": {"text": 5}}, 400, "has no text for text"),
        ("scores", {"fields": {"other": "x"}}, 400, "has no text for text"),
        ("scores", sent("?!"), 400, "has no words"),
        ("scores", '{"fields": {"text": "a \\ud800 b"}}', 400, "lone surrogate"),
        ("scores", sent("a " * 2_001), 400, "2,001 words; the playground takes at most 2,000"),
        ("scores", sent("a" * 20_001), 400, "20,001 characters"),
        ("scores", "x" * 1_000_000, 413, "at most 128 KB"),
        ("words", sent("a " * 301, victim=0), 400, "at most 300 words"),
        ("words", sent(victim=None), 400, "victim must be a number from 0 to 0"),
        ("words", sent(victim=1), 400, "victim must be a number from 0 to 0"),
        ("word", sent(victim=0, slot=99), 400, "slot must be a number from 0 to 6"),
        ("word", sent(victim=0, slot=True), 400, "slot must be a number"),
        ("attention", sent(victim=0), 400, "needs attention, which toy does not offer"),
        ("attack", sent(recipe="pwsw"), 400, "did you mean pwws"),
        ("attack", sent(recipe=BAD), 400, "no recipe is called"),
        ("attack", sent(recipe="pwws", seed=-1), 400, "seed must be a number"),
        ("attack", sent(recipe="pwws", label="good"), 400, "label must be a number"),
    ],
)
def test_bad_input_meets_clear_words(client, path, body, status, words):
    given = {"content": body} if isinstance(body, str) else {"json": body}
    answer = client.post(f"/api/{path}", **given)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_victim_that_dies_leaves_the_others_and_the_server():
    alive = [True]

    def mortal(texts: Any) -> Any:
        if not alive[0]:
            raise RuntimeError("cannot open /home/me/key-abc123 of http://me:pw@host/x")
        return toy.predict(texts)

    with TestClient(make_app(room(mortal, toy.predict))) as client:
        assert "scores" in client.post("/api/scores", json=sent()).json()
        alive[0] = False
        dead, well = [client.post("/api/scores", json=sent("a bad film", victim=number)) for number in (0, 1)]
        assert dead.status_code == 503
        assert dead.json()["error"].startswith("toy did not answer")
        assert well.json()["prediction"] == 0
        refused = client.post("/api/words", json=sent(victim=0))
        assert refused.status_code == 503
        told = events(client.post("/api/attack", json=sent("a bad film", recipe="pwws")))
        assert [values["words"] for kind, values in told if kind == "problem"] == [dead.json()["error"]]
        assert [values["status"] for kind, values in told if kind == "end"] == ["success"]
        whole = refused.text + json.dumps(told) + dead.text
        assert not re.search(r"/home|abc123|http:|pw@|RuntimeError", whole)
        alive[0] = True
        assert "scores" in client.post("/api/scores", json=sent("a great film")).json()


def test_a_victim_that_dies_during_an_attack_is_an_outcome():
    count = [0]

    def mortal(texts: Any) -> Any:
        count[0] += 1
        if count[0] > 2:
            raise VictimError("http://secret:1/ is down")
        return toy.predict(texts)

    with TestClient(make_app(room(mortal))) as client:
        told = events(client.post("/api/attack", json=sent(recipe="pwws")))
    (end,) = [values for kind, values in told if kind == "end"]
    assert end["status"] == "error"
    assert end["reason"].startswith("toy did not answer")
    assert "secret" not in end["record"]


def test_too_many_requests_wait():
    with TestClient(make_app(room(), limits=SiteLimits(rate=0.01, burst=2))) as client:
        assert [client.post("/api/scores", json=sent()).status_code for _ in range(3)] == [200, 200, 429]


def test_few_attacks_at_once_and_those_left_alone_stop():
    """The victim never changes its mind, so the attacks go on for as long as they may."""
    rounds = [0]

    def slow(texts: Any) -> Any:
        rounds[0] += 1
        time.sleep(0.1)
        return [[0.9 - 1e-4 * (hash(text) % 9), 0.1 + 1e-4 * (hash(text) % 9)] for text in texts]

    wordy = " ".join(["good", "bad", "fine", "awful"] * 10)
    body = sent(wordy, recipe="genetic")
    made = room(slow, budget=1_000_000)
    with live(make_app(made)) as address, httpx.Client(base_url=address, timeout=30) as client:
        opened = [client.stream("POST", "/api/attack", json=body) for _ in range(3)]
        answers = [one.__enter__() for one in opened]
        assert [a.status_code for a in answers] == [200] * 3
        assert answers[0].headers["content-type"].startswith("text/event-stream")
        lines = answers[0].iter_lines()  # closed, and the answer with it, once nobody holds it
        assert next(lines) == "event: text"
        until(lambda: len(made.threads[0]._going) == 3)
        refused = client.post("/api/attack", json=body)
        assert refused.status_code == 429
        assert "you have 3 attacks running" in refused.json()["error"]
        for one in opened:
            one.__exit__(None, None, None)
        until(lambda: not made.threads[0]._going)
        after = rounds[0]
        told = events(client.post("/api/attack", json=sent("a bad film", recipe="pwws")))
        assert told[-1][0] == "done"
        assert rounds[0] - after < 10, "nothing of the abandoned attacks goes on"


def test_many_clients_ask_at_once():
    with live(make_app(room(), limits=SiteLimits(rate=None))) as address:
        found: list[tuple[str, Any]] = []

        def one(word: str) -> None:
            with httpx.Client(base_url=address, timeout=60) as client:
                for number in range(5):
                    text = f"a {word} film {number}"
                    scores = client.post("/api/scores", json=sent(text)).json()["scores"]
                    found.append((text, scores))

        threads = [threading.Thread(target=one, args=(word,)) for word in [*toy.WEIGHTS, "film", "the"]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 5 * len(threads)
    for text, scores in found:
        assert scores == pytest.approx(toy.predict([text])[0])


def test_pairs_have_two_fields():
    pairs = toy.examples([{"premise": "a good film", "hypothesis": "it is bad"}], label=0)
    made = PlaygroundVictims(
        [toy.victim()],
        data=Dataset(name="p", examples=tuple(pairs), labels=("a", "b"), fields=("premise", "hypothesis")),
    )
    with TestClient(make_app(made)) as client:
        assert 'data-field="hypothesis"' in client.get("/").text
        fields = {"premise": "a good film", "hypothesis": "it is bad"}
        found = client.post("/api/scores", json={"fields": fields, "victim": 0}).json()
        assert [field["name"] for field in found["fields"]] == ["premise", "hypothesis"]
        told = events(client.post("/api/attack", json={"fields": fields, "recipe": "pwws"}))
        assert [values["status"] for kind, values in told if kind == "end"]


class Looking:
    """The toy victim, with eyes for the first word alone."""

    offers = frozenset({Capability.SCORES, Capability.ATTENTION})

    def __init__(self) -> None:
        self.toy, self.parts = toy.victim(), {Capability.ATTENTION: self}

    def words(self, text: Text) -> Any:
        return np.tile(np.eye(1, text.slots, dtype=np.float32), (2, 1, text.slots, 1))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.toy, name)


def test_attention_is_shown_where_it_is_offered():
    with TestClient(make_app(PlaygroundVictims([Looking()]))) as client:
        found = client.post("/api/attention", json=sent("a good film")).json()
        assert found["words"] == ["a", "good", "film"]
        assert [one["name"] for one in found["maps"]] == ["all layers", "layer 1, head 1", "layer 2, head 1"]
        assert found["maps"][0]["weights"] == [[1.0, 0.0, 0.0]] * 3
        refused = client.post("/api/attention", json=sent("a " * 61))
        assert "at most 60 words" in refused.json()["error"]


def test_many_heads_are_shown_by_layer():
    maps = name_heads(np.full((3, 5, 1, 2), 0.5, np.float32), ["a", "b"])
    assert [one["name"] for one in maps] == ["all layers", *(f"layer {i}, all heads" for i in (1, 2, 3))]
    assert maps[1] == {"name": "layer 1, all heads", "queries": ["the whole text"], "weights": [[0.5, 0.5]]}
    assert [one["name"] for one in name_heads(np.ones((1, 1, 1, 2), np.float32), ["a", "b"])] == ["attention"]


def test_a_room_has_one_to_four_victims():
    for count in (0, 5):
        with pytest.raises(SettingError, match="1 to 4 victims"):
            PlaygroundVictims([toy.victim()] * count)


def test_warming_up_asks_every_victim_and_forgives(caplog):
    calls = toy.Calls()

    def broken(texts: Any) -> Any:
        raise RuntimeError("not yet")

    made = room(calls, broken)
    warm_up(made)
    made.close()
    assert any("warm and funny" in text for text in calls.texts)
    assert "not ready" in caplog.text
