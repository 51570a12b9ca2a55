"""Answers that are paid for: each is written as it comes, and what is written as spent is what a server charges for."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import toy
from counting_server import Book, counting

from malaprop.core.errors import MalapropError
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

LABELS = {"negative": 0, "positive": 1}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    names = list(LABELS)
    rows = "".join(f'"{row.fields["text"]}",{names[int(row.label)]}\n' for row in toy.some_examples(12))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    return tmp_path


def attack(victim: str, **more: Any) -> Any:
    given = {"recipe": "keyboard", "victim": victim, "data": "rows.csv", "n": 0, "device": "cpu", "quiet": True}
    return conduct(build(AttackRun, {**given, "price_in": 1.0, "price_out": 2.0, **more}))


def chat(address: str, mode: str = "well", options: str = "") -> str:
    return f"openai:m@{address}/{mode}/v1#labels=negative/positive:pause=0.001{options}"


def plain(address: str, mode: str = "well", options: str = "") -> str:
    return f"{address}/{mode}#label_names=negative/positive:pause=0.001{options}"


def spent(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "spending.json").read_text())
    return found


def attack_in_silence(victim: str, more: dict[str, Any]) -> None:
    """In a process of its own, which may be killed."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    attack(victim, **more)


def attack_and_kill(book: Book, victim: str, kills: int, **more: Any) -> None:
    """Attacks that are killed after a few requests each, then one that ends."""
    dice = random.Random(0)
    for _ in range(kills):
        enough = book.requests + dice.randint(2, 20)
        worker = multiprocessing.get_context("fork").Process(target=attack_in_silence, args=(victim, more))
        worker.start()
        while worker.is_alive() and book.requests < enough:
            time.sleep(0.0005)
        assert worker.is_alive(), "it ended before it was killed"
        os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
        until = time.monotonic() + 10
        while book.inside and time.monotonic() < until:  # of which nobody hears the answers
            time.sleep(0.005)
    attack(victim, **more)


KILLED = [
    (chat, {"width": 1}, 4, 3),
    (chat, {"width": 4}, 4, 3),
    (plain, {"width": 4}, 16, 2),
    pytest.param(chat, {"width": 1}, 4, 20, marks=pytest.mark.slow),
    pytest.param(chat, {"width": 4}, 4, 20, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("spec", "more", "at_a_time", "kills"), KILLED)
def test_after_a_kill_only_requests_that_were_in_flight_are_paid_for_again(spec, more, at_a_time, kills):
    options = ":batch=1" if spec is plain else ""
    whole = Book(delay=0.03)
    with counting(whole) as address:
        wanted = attack(spec(address, options=options), out="whole", **more)
    assert spent("whole")["queries"] == whole.requests
    os.environ["MALAPROP_CACHE"] = str(Path("other").resolve())
    book = Book(delay=0.03)
    with counting(book) as address:
        attack_and_kill(book, spec(address, options=options), kills, out="killed", resume=True, **more)
    again = book.requests - whole.requests
    assert again <= kills * (at_a_time + 1)  # one more, which is sent at each start to see that the server answers
    assert book.repeated - whole.repeated <= kills * (at_a_time + 1)
    found = spent("killed")
    lost = kills * (2 * at_a_time + 1)  # in flight, or written some milliseconds late
    assert abs(found["queries"] - book.requests) <= lost
    if spec is chat:
        each = book.tokens_in / book.requests
        assert abs(found["tokens_in"] - book.tokens_in) <= 1.5 * each * lost
    other = Path("killed")
    assert {compare_key(o) for o in wanted.outcomes} == {compare_key(o) for o in attack_result(other)}
    assert not list(other.glob("checked*"))


def attack_result(folder: Path) -> list[Any]:
    from malaprop.frame.records.store import find_runs, iter_outcomes

    return [outcome for run in find_runs([folder]) for outcome in iter_outcomes(run)]


@pytest.mark.parametrize("spec", [chat, plain])
def test_a_limit_of_one_is_one_request(spec):
    book = Book()
    with counting(book) as address, pytest.raises(MalapropError, match="--max-queries 1"):
        attack(spec(address), max_queries=1, out="out")
    assert book.requests == 1


@pytest.mark.parametrize(
    ("mode", "options"), [("well", ""), ("refuses", ":retries=6"), ("late", ":timeout=0.2:retries=6")]
)
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_server_gets_no_more_requests_than_the_limit_whatever_it_does(mode, options, jobs):
    book = Book(delay=0.002)
    with counting(book) as address:
        found = attack(chat(address, mode, options), max_queries=60, out="out", width=4, jobs=jobs)
    assert found.state == "budget"
    assert 50 < book.requests <= 60
    assert spent("out")["queries"] == book.requests


def test_a_request_that_nobody_receives_costs_nothing():
    with counting(Book()) as address:
        pass
    with pytest.raises(MalapropError, match="refuses connections"):
        attack(chat(address, options=":retries=1"), out="out")
    assert not Path("out/spending.json").exists() or spent("out")["queries"] == 0


def test_tokens_of_requests_that_fail_are_counted():
    book = Book()
    with counting(book) as address:
        found = attack(chat(address, "breaks"), out="out", width=4)
    assert {"error"} < {outcome.status for outcome in found.outcomes}
    assert (found.spent.tokens_in, found.spent.tokens_out) == (book.tokens_in, book.tokens_out)
    assert found.spent.queries == book.requests


def test_answers_that_come_too_late_are_estimated():
    book = Book()
    with counting(book) as address:
        found = attack(chat(address, "late", ":timeout=0.2:retries=6"), out="out", width=4)
    assert found.spent.queries == book.requests
    assert found.spent.tokens_in == pytest.approx(book.tokens_in, rel=0.5)
    assert found.spent.tokens_in > 0.9 * sum(book.texts.values())


@pytest.mark.parametrize("mode", ["minus", "absurd"])
def test_a_count_of_tokens_that_cannot_be_is_not_believed(mode, capsys):
    book = Book()
    with counting(book) as address:
        found = attack(chat(address, mode), out="out", max_tokens=2_000, quiet=False)
    assert found.state == "budget"
    assert 0 < found.spent.tokens_in <= 2_000
    assert capsys.readouterr().err.count("not believed") == 1


def never(texts):
    return [[float("nan"), 0.5] for _ in texts]


def only_first(texts):
    """NaN for texts that an attack has changed."""
    known = {row.fields["text"] for row in toy.some_examples(12)}
    return [toy.predict([text])[0] if text in known else [float("nan"), 0.5] for text in texts]


@pytest.mark.parametrize(("function", "limit"), [(never, 100), (never, 5), (only_first, 100), (only_first, 8)])
def test_a_victim_that_answers_nan_is_named(function, limit):
    try:
        found = attack(function, max_queries=limit, out="out", price_in=0.0, price_out=0.0)
        said = " ".join(outcome.reason or "" for outcome in found.outcomes)
    except MalapropError as error:
        said = str(error)
    assert "answered with nan for" in said
    assert "smaller than one example takes" not in said


def test_a_server_that_answers_nan_is_named():
    with counting(Book()) as address, pytest.raises(MalapropError, match="answered with nan"):
        attack(plain(address, "nan"), max_queries=5, out="out")


def test_an_earlier_file_of_answers_is_read_on(place, monkeypatch):
    """Files hold a table of keys and scores, as they did before answers were written one by one."""
    import sqlite3

    book = Book()
    with counting(book) as address:
        attack(chat(address), out="first")
        (file,) = (place / "cache/answers").glob("*.sqlite")
        (place / "earlier/answers").mkdir(parents=True)
        with sqlite3.connect(file) as base, sqlite3.connect(place / "earlier/answers" / file.name) as earlier:
            base.backup(earlier)
            earlier.execute("PRAGMA journal_mode=DELETE")
        monkeypatch.setenv("MALAPROP_CACHE", str(place / "earlier"))
        before = book.requests
        second = attack(chat(address), out="second")
    won = [outcome for outcome in second.outcomes if outcome.status == "success"]
    assert book.requests - before == 1 + len(won)  # the probe, and a fresh answer for each success
