"""HttpVictim against a real server: each kind of answer, each kind of failure with one clear reason."""

from __future__ import annotations

import json
import pickle
import socket
import time

import numpy as np
import pytest
import toy
from http_server import KEY, NAMES, Log, serving

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.frame.runs.load_victim import load, wrap
from malaprop.frame.runs.victims import assume_labels
from malaprop.models.victims import endpoint
from malaprop.models.victims.answers import sort_key
from malaprop.models.victims.endpoint import _ends_early, in_line, split_address
from malaprop.models.victims.http import HttpVictim

TEXTS = [("a good film",), ("bad",), ("great, great plot",), ("poor",), ("the end",)]


@pytest.fixture(scope="module")
def server():
    log = Log()
    with serving(log) as address:
        yield address, log


@pytest.fixture
def at(server, monkeypatch):
    """A victim at a route, impatient enough for tests; its log begins anew."""
    address, log = server
    log.__init__()
    monkeypatch.delenv("MALAPROP_KEY", raising=False)
    made = []

    def victim(route: str, **settings) -> HttpVictim:
        quick = {"timeout": 5.0, "pause": 0.001, "batch": 2}
        made.append(HttpVictim(url=f"{address}/{route}", **(quick | settings)))
        return made[-1]

    yield victim
    for one in made:
        one.close()


def expected(texts):
    return np.asarray(toy.predict([t[0] if len(t) == 1 else t for t in texts]), np.float32)


@pytest.mark.parametrize(("route", "send_as"), [("healthy", "texts"), ("bare", "texts"), ("named", "inputs")])
def test_answers_of_every_kind(at, route, send_as):
    victim: Victim = at(route, send_as=send_as)
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS))
    assert victim.labels == 2
    assert victim.predict([]).shape == (0, 2)


def test_labels_alone_score_one_and_winners_what_they_say(at):
    scores = expected(TEXTS)
    alone = at("labels", order=("NEGATIVE", "POSITIVE"))
    assert np.array_equal(alone.predict(TEXTS), np.eye(2)[(scores[:, 1] > scores[:, 0]).astype(int)])
    assert "answers with labels alone" in alone.notes[0]
    turned = at("winners", send_as="inputs", order=("positive", "negative"))
    assert np.allclose(turned.predict(TEXTS), scores[:, ::-1], atol=1e-6)
    assert turned.label_names == ("positive", "negative")
    assert turned.notes == ()
    one = at("sigmoid")
    assert np.allclose(one.predict(TEXTS), scores, atol=1e-6)
    assert "probability of the second label" in one.notes[0]


def test_options_behind_the_address(server, monkeypatch):
    address, log = server
    monkeypatch.delenv("MALAPROP_KEY", raising=False)
    log.__init__()
    victim = load(f"{address}/winners#send_as=inputs:order=positive/negative:batch=3&timeout=5", quiet=True)
    assert (victim.batch, victim.timeout, victim.name) == (3, 5.0, f"{address}/winners")
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS)[:, ::-1], atol=1e-6)
    assert log.calls["winners"] == 3  # one of them asked whether anybody is there
    victim.close()
    for wrong, reason in (
        ("bach=3", "no option of .* is called 'bach'; did you mean batch"),
        ("batch=many", "batch must be a whole number, got 'many'"),
        ("batch", "options of a victim are written .*#name=value:name=value, got 'batch'"),
        ("say=x", "no option of .* is called 'say'"),
        ("batch=0", "batch and concurrency must be at least 1"),
    ):
        with pytest.raises(SettingError, match=reason):
            load(f"{address}/winners#{wrong}", quiet=True)


def test_pairs_travel_as_lists(at, server):
    pairs = [("good", "awful film"), ("fine", "it is")]
    assert np.allclose(at("healthy").predict(pairs), expected(pairs))
    assert server[1].texts["healthy"] == pairs


def test_requests_hold_a_batch_and_reuse_connections(at, server):
    victim = at("healthy", concurrency=1)
    for _ in range(3):
        victim.predict(TEXTS)
    assert server[1].calls["healthy"] == 9
    assert len(server[1].ports) == 1


def test_answers_keep_their_order_and_requests_run_side_by_side(at, server):
    texts = [("good",), ("bad",)] * 4  # a good text takes longer
    victim = at("slow", batch=1, concurrency=3)
    assert np.allclose(victim.predict(texts), expected(texts))
    assert 2 <= server[1].most <= 3


def test_variants_are_sent_once_each(at, server):
    table = Words()
    base = Text.of("a good film", table)
    pool = Pool([Variants.at(base, 1, table.ids(["bad", "good", "bad", ""])), Variants.itself(base)])
    victim = at("healthy")
    scores = victim.finish(victim.begin(pool, np.arange(pool.size)))
    assert np.allclose(scores, expected([t.values() for t in pool.texts(np.arange(pool.size))]))
    assert sorted(server[1].texts["healthy"]) == ["a bad film", "a film", "a good film"]
    assert victim.classes(table) is None


FAILURES = [
    ("nan", [("good",), ("awful",)], r"answered with nan for 'awful' \(1 of 2 texts\)"),
    ("shape", TEXTS[:2], "answered 2 texts with 1 x 2; expected 2 rows"),
    ("flat", TEXTS[:2], "one number a text, 3 among them; expected the probability of the second label"),
    ("html", TEXTS[:2], r"answered with HTML \(Log in, please\); expected JSON"),
    ("empty", TEXTS[:2], "answered with an empty body; expected JSON"),
    ("text", TEXTS[:2], r"answered with what is not JSON \(scores: \[31m0.1 0.9\); expected JSON"),
    ("loading", TEXTS[:2], r"answered with an error \(Model is still loading\)"),
    (
        "first-only",
        TEXTS[:2],
        "labels alone, such as 'POSITIVE'; name all of them .*first-only#label_names=no/yes",
    ),
    ("nowhere", TEXTS[:2], r"answered 404 Not Found .*; check the path"),
    ("locked", TEXTS[:2], "answered 401 Unauthorized .*; put the key into the environment variable MALAPROP_KEY"),
    ("elsewhere", TEXTS[:2], r"redirects to another place \(http://other.invalid\), which is not followed"),
    ("round", TEXTS[:2], "redirects more than 3 times"),
]


@pytest.mark.parametrize(("route", "texts", "reason"), FAILURES, ids=[f[0] for f in FAILURES])
def test_a_failure_has_one_clear_reason_and_is_not_tried_again(at, server, route, texts, reason):
    victim = at(route)
    with pytest.raises(VictimError, match=reason) as error:
        victim.predict(texts)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    assert f"/{route}" in str(error.value)
    assert server[1].calls.get(route, 1) == (3 if route == "round" else 1)


def test_a_hanging_server_is_given_up_after_its_retries(at, server):
    victim = at("hangs", timeout=0.4, retries=1)
    with pytest.raises(VictimError, match=r"/hangs did not answer within 0.4 s \(2 attempts\)"):
        victim.predict([("awful",)])
    assert server[1].calls["hangs"] == 2
    with pytest.raises(VictimError, match=r"\(1 attempt\)"):  # once out of reach, no patience until it answers
        victim.predict([("awful",)])
    assert np.allclose(victim.predict([("good",)]), expected([("good",)]))
    with pytest.raises(VictimError, match=r"\(2 attempts\)"):
        victim.predict([("awful",)])


def test_an_answer_drop_by_drop_must_be_done_in_time(at):
    began = time.perf_counter()
    with pytest.raises(VictimError, match=r"did not answer within 0\.2 s"):
        at("drips", timeout=0.2, retries=0).predict([("good",)])
    assert time.perf_counter() - began < 1.5


def test_busy_is_tried_again(at, server):
    assert at("busy").predict([("good",)]).shape == (1, 2)
    assert server[1].calls["busy"] == 3


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def test_nobody_there():
    victim = HttpVictim(url=f"http://127.0.0.1:{free_port()}/x", pause=0.001, retries=2)
    with pytest.raises(VictimError, match=r"refuses connections; start the server or check the address \(3 attempts\)"):
        victim.predict([("a",)])
    with pytest.raises(VictimError, match="refuses connections"):
        victim.probe()


def test_a_dead_server_is_left_alone_after_a_while(monkeypatch):
    monkeypatch.setattr(endpoint, "_PATIENCE", 3)
    victim = HttpVictim(url=f"http://127.0.0.1:{free_port()}/x", pause=0.001, retries=0)
    for _ in range(3):
        with pytest.raises(VictimError, match=r"refuses connections.*\(1 attempt\)$"):
            victim.predict([("a",)])
    with pytest.raises(VictimError, match=r"refuses connections.*; left alone for a while after 3 failures in a row"):
        victim.predict([("a",)])


def test_a_line_that_is_cut_without_an_answer():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        import threading

        def slam():
            for _ in range(2):
                caller, _ = door.accept()
                caller.recv(65536)
                caller.close()

        threading.Thread(target=slam, daemon=True).start()
        victim = HttpVictim(url=f"http://127.0.0.1:{door.getsockname()[1]}/", pause=0.001, retries=1)
        with pytest.raises(VictimError, match=r"closes the connection without an answer \(2 attempts\)"):
            victim.predict([("a",)])


def test_a_kept_connection_that_the_server_closed_costs_no_attempt():
    answer = b'{"scores": [[0.5, 0.5]]}'
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        import threading

        def once_each():
            for _ in range(2):
                caller, _ = door.accept()
                caller.recv(65536)
                caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
                caller.close()

        threading.Thread(target=once_each, daemon=True).start()
        victim = HttpVictim(url=f"http://127.0.0.1:{door.getsockname()[1]}/", retries=0)
        for _ in range(2):
            assert victim.predict([("a",)]).tolist() == [[0.5, 0.5]]
        victim.close()


def test_the_key_is_sent_and_shown_nowhere(at, server, monkeypatch):
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    victim = at("locked", key_env="MY_KEY")
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS))
    assert server[1].headers[0]["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("MY_KEY", "wrong-key-xyz")
    with pytest.raises(VictimError, match="401") as error:
        victim.predict(TEXTS)
    assert "not a key of ours" in str(error.value)
    assert "wrong-key-xyz" not in str(error.value)
    for shown in (repr(victim), victim.name, victim.fingerprint, pickle.dumps(victim).decode("latin-1")):
        assert KEY not in shown
        assert "wrong-key" not in shown


def test_no_key_goes_to_another_host(at, server, monkeypatch):
    monkeypatch.setenv("MALAPROP_KEY", KEY)
    assert np.allclose(at("moved").predict(TEXTS[:1]), expected(TEXTS[:1]))
    with pytest.raises(VictimError, match="not followed"):
        at("elsewhere").predict(TEXTS)


@pytest.mark.parametrize(
    ("value", "reason"), [("", "is not set"), ("a\x00b", "no key can have"), ("schlüssel", "no key")]
)
def test_keys_that_cannot_be(at, monkeypatch, value, reason):
    if "\x00" in value:
        monkeypatch.setattr(endpoint.os, "environ", {"MY_KEY": value})
    else:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(SettingError, match=reason) as error:
        at("healthy", key_env="MY_KEY").predict(TEXTS)
    assert not value or value not in str(error.value)


def test_an_address_that_holds_the_key_is_refused(monkeypatch):
    monkeypatch.setenv("MALAPROP_KEY", KEY)
    with pytest.raises(SettingError, match="holds the key that is in MALAPROP_KEY") as error:
        HttpVictim(url=f"https://models.example/v1/{KEY}/score")
    assert KEY not in str(error.value)


def test_a_key_in_the_clear_is_said(monkeypatch):
    monkeypatch.setenv("MALAPROP_KEY", KEY)
    heard = []
    assert HttpVictim(url="http://models.example/x", say=heard.append).notes == tuple(heard)
    assert "unencrypted" in heard[0]
    assert KEY not in heard[0]
    for quiet in ("https://models.example/x", "http://localhost:8000/x", "http://127.0.0.1/"):
        assert HttpVictim(url=quiet).notes == ()


def test_what_was_answered_is_not_asked_again_when_another_request_failed(at, server):
    victim = at("nan", batch=1, concurrency=1)
    table = Words()
    pool = Pool([Variants.itself(Text.of(t, table, i)) for i, t in enumerate(["good", "fine", "awful", "nice"])])
    for wanted in (range(4), range(4), [0, 1], [2, 3], [3]):
        try:
            scores = victim.begin(pool, np.asarray(wanted))
        except VictimError:
            assert 2 in wanted
        else:
            assert np.allclose(scores, expected([("good",), ("fine",), ("awful",), ("nice",)])[list(wanted)])
    sent = server[1].texts["nan"]
    assert {text: sent.count(text) for text in sent} == {"good": 1, "fine": 1, "nice": 1, "awful": 3}
    victim.predict([("good",)])  # the plain road remembers nothing
    assert sent.count("good") == 2


def test_a_wrong_address_is_asked_once_not_for_every_batch(at, server):
    with pytest.raises(VictimError):
        at("locked", batch=1).predict(TEXTS)
    assert server[1].calls["locked"] == 1


def test_probe_finds_what_no_answer_can_come_from(at):
    at("healthy").probe()
    for route in ("nowhere", "html", "locked"):
        with pytest.raises(VictimError):
            at(route).probe()


def test_probe_ends_soon_where_the_server_fails(at, server):
    """With one retry: a word and a pair, twice each."""
    began = time.perf_counter()
    with pytest.raises(VictimError, match=r"answered 500 .*no model.*, and again for a pair; .*send_as=text") as error:
        at("fails", pause=0.3).probe()  # the retries of the work would be over 4 s, twice
    assert time.perf_counter() - began < 3
    assert "\n" not in str(error.value)
    assert server[1].texts["fails"] == ["a", "a", ("a", "a"), ("a", "a")]
    with pytest.raises(VictimError, match=r"answered 500 Internal Server Error .* and again for a pair"):
        at("named").probe()  # wants another list


def test_probe_tries_once_more_where_that_may_help_and_never_past_its_time(at, server):
    with pytest.raises(VictimError, match=r"answered 429 .*\(2 attempts\)"):
        at("busy").probe()
    began = time.perf_counter()
    with pytest.raises(VictimError, match=r"did not answer within 0\.4 s \(1 attempt\)"):
        at("drips", timeout=0.4).probe()
    assert time.perf_counter() - began < 1
    with pytest.raises(VictimError, match=r"refuses connections.*\(2 attempts\)"):
        HttpVictim(url=f"http://127.0.0.1:{free_port()}/x", pause=0.001).probe()


@pytest.mark.parametrize(
    "form", ["scores", "rows", "bare", "named", "inner", "number", "score", "winner", "list", "label"]
)
def test_a_server_that_takes_one_text_a_request(at, server, form):
    order = NAMES if form in ("winner", "list", "label") else ()
    victim = at(f"single/{form}", send_as="text", batch=32, concurrency=4, order=order)
    scores = expected(TEXTS)
    wanted = np.eye(2)[scores.argmax(1)] if form == "label" else scores
    victim.probe()
    assert np.allclose(victim.predict(TEXTS), wanted, atol=1e-6)
    assert sorted(server[1].texts["single"]) == sorted(["a", *(text for (text,) in TEXTS)])
    assert 2 <= server[1].most <= 4
    pairs = [("good", "awful film"), ("fine", "it is")]
    assert np.allclose(victim.predict(pairs).argmax(1), expected(pairs).argmax(1))


def test_what_one_text_a_request_cannot_be_read_from(at, server):
    with pytest.raises(VictimError, match="answered with the keys answer; expected"):
        at("single/wrong", send_as="text").predict(TEXTS)
    with pytest.raises(VictimError, match=r'answered 422 .*it was sent \{"texts": \["..."\]\}.*#send_as=text'):
        at("single/bare").predict(TEXTS)
    victim = load(f"{server[0]}/single/bare#send_as=text", quiet=True)
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS))
    victim.close()


def test_labels_alone_are_read_by_the_names_of_the_data_where_nobody_told_others(at):
    victim = at("winners", send_as="inputs")
    victim.probe()
    assume_labels(victim, ("positive", "negative"))
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS)[:, ::-1], atol=1e-6)
    assert victim.label_names == ()
    numbers = at("winners", send_as="inputs")
    assume_labels(numbers, ("0", "1"))
    with pytest.raises(VictimError, match="name all of them"):
        numbers.predict(TEXTS)
    others = at("winners", send_as="inputs")
    assume_labels(others, ("ham", "spam"))
    with pytest.raises(VictimError, match=r"answered with the label '(NEG|POS)ITIVE'; expected ham, spam"):
        others.predict(TEXTS)
    plain = at("named", send_as="inputs")  # tells all names, though nobody asked before the work
    assume_labels(plain, ("negative", "positive"))
    assert np.allclose(plain.predict(TEXTS), expected(TEXTS))


def test_labels_have_the_names_that_the_server_gives_them(at):
    """So that data whose labels come in another order is matched by name. Nothing changes once work has begun."""
    asked = at("named", send_as="inputs")
    asked.probe()
    assert asked.label_names == ("NEGATIVE", "POSITIVE")
    late = at("named", send_as="inputs")
    late.predict(TEXTS)
    assert late.label_names == ()
    given = at("healthy", order=("positive", "negative"))
    given.probe()
    assert given.label_names == ("positive", "negative")
    plain = at("healthy")
    plain.probe()
    assert plain.label_names == ()


def test_names_that_a_library_made_up_are_none(at):
    victim = at("numbered")
    victim.probe()
    assert victim.label_names == ()
    assert victim.predict([("good",)]).tolist() == [[0.25, 0.75]]


def test_a_server_that_wants_pairs_is_asked_for_its_names_with_one(at, server):
    victim = at("named-pairs")
    victim.probe()
    assert victim.label_names == ("NEGATIVE", "POSITIVE")
    assert server[1].calls["named-pairs"] == 2


def test_fingerprint_follows_address_version_and_order():
    made = [
        HttpVictim(url="http://a/x").fingerprint,
        HttpVictim(url="http://a/y").fingerprint,
        HttpVictim(url="http://a/x", version="2").fingerprint,
        HttpVictim(url="http://a/x", order=("b", "a")).fingerprint,
    ]
    assert len(set(made)) == 4
    assert made[0] == HttpVictim(url="http://a/x", batch=7, timeout=1).fingerprint


def test_travels_to_another_process_as_settings(at):
    victim = at("healthy", version="3")
    victim.predict(TEXTS)
    twin = pickle.loads(pickle.dumps(victim))
    for name in (
        "name",
        "fingerprint",
        "offers",
        "url",
        "batch",
        "concurrency",
        "timeout",
        "retries",
        "pause",
        "version",
    ):
        assert getattr(twin, name) == getattr(victim, name)
    assert np.allclose(twin.predict(TEXTS), expected(TEXTS))
    twin.close()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://host/x", "written http://host"),
        ("http:///x", "written http://host"),
        ("http://host:notaport/x", "no valid host or port"),
        ("http://[bad/x", "no valid host or port"),
        ("http://me:hunter2@host/x", "holds a user or password"),
        ("https://host/x?api_key=hunter2", r"holds a secret \(api_key=\)"),
        ("https://host/x?model=a&access-token=hunter2", "holds a secret"),
    ],
)
def test_addresses_that_are_refused(url, reason):
    with pytest.raises(SettingError, match=reason) as error:
        HttpVictim(url=url)
    assert "hunter2" not in str(error.value)


def test_addresses_that_are_taken():
    for url in ("http://host", "https://host:8/a%20b/ü?model=keyword&monkey=1", "http://[::1]:80/"):
        assert split_address(url).hostname
        assert HttpVictim(url=url).name == url


@pytest.mark.parametrize("settings", [{"batch": 0}, {"concurrency": 0}, {"timeout": 0}, {"retries": -1}, {"pause": -1}])
def test_settings_are_checked(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        HttpVictim(url="http://host/x", **settings)


def test_labels_have_one_order():
    names = ["LABEL_10", "LABEL_2", "LABEL_0"]
    assert sorted(names, key=sort_key) == ["LABEL_0", "LABEL_2", "LABEL_10"]
    names = ["neutral", "Entailment", "contradiction"]
    assert sorted(names, key=sort_key) == ["contradiction", "Entailment", "neutral"]
    assert sorted(["10", "9"], key=sort_key) == ["9", "10"]


def test_named_labels_must_stay_the_same(at):
    victim = at("named", send_as="inputs", order=("POSITIVE", "NEGATIVE"))
    assert np.allclose(victim.predict(TEXTS), expected(TEXTS)[:, ::-1])
    with pytest.raises(VictimError, match="the labels NEGATIVE, POSITIVE; expected yes, no for every text"):
        at("named", send_as="inputs", order=("yes", "no")).predict(TEXTS)


def test_an_excerpt_is_one_printable_line():
    assert in_line(b"a\n\x1b[2J\tb \xff") == "a [2J b \N{REPLACEMENT CHARACTER}"
    assert in_line(b"<html><body>no title</body>") == ""
    assert len(in_line(b"x" * 9999)) == 120


def test_an_address_is_a_name_like_any_other(at, server, capsys):
    victim = wrap(f"{server[0]}/healthy", batch=2, version="7")
    assert isinstance(victim, HttpVictim)
    assert (victim.batch, victim.version) == (2, "7")
    assert server[1].texts["healthy"] == ["a"]  # the probe
    assert np.allclose(load(f"{server[0]}/bare").predict(TEXTS), expected(TEXTS))
    with pytest.raises(VictimError, match="404"):
        load(f"{server[0]}/nowhere")
    both = load(f"ensemble:{server[0]}/healthy+{server[0]}/bare", quiet=True)
    assert np.allclose(both.predict(TEXTS), expected(TEXTS), atol=1e-6)
    assert capsys.readouterr().err == ""


def test_json_that_was_cut_is_told_from_what_never_was_json():
    whole = json.dumps({"scores": [[0.25, 0.75], [1, 2e-3]], "names": ['a"b', "c"], "right": True})
    for end in range(1, len(whole)):
        with pytest.raises(json.JSONDecodeError) as error:
            json.loads(whole[:end])
        assert _ends_early(error.value), whole[:end]
    for other in ("scores: 1", "{'a': 1}", "[1, 2]]", "hello", "", "[1 2]", '{"a" 1}'):
        with pytest.raises(json.JSONDecodeError) as error:
            json.loads(other)
        assert not _ends_early(error.value), other
