"""A run over 20 examples against a real server: it survives whatever the server does."""

from __future__ import annotations

import json
import random
import sys

import pytest
import torch
import toy
from http_server import KEY, LEAKS, Log, serving
from word_edits import KNOWN, VOCABULARY, cut

from malaprop.cli.main import main
from malaprop.core.example import Example, number_rows
from malaprop.core.secrets import scrub
from malaprop.data.base import of
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.folder import run_to_folder
from malaprop.models.victims.http import HttpVictim
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.scorers.cnn import CnnEdits

QUICK = {"pause": 0.001, "batch": 8, "timeout": 5.0}


@pytest.fixture(scope="module")
def server():
    log = Log()
    with serving(log) as address:
        yield address, log


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("MALAPROP_KEY", raising=False)


@pytest.fixture(scope="module")
def rows() -> list[Example]:
    """17 texts that every route reads, 3 that some choke on."""
    plain = [r for r in toy.some_examples(60, words=10) if "awful" not in r.fields["text"]][:17]
    return [*plain[:9], *toy.examples(["an awful film", "awful, bad", "the plot was awful"]), *plain[9:]]


def attacked(url: str, rows: list[Example], **settings) -> list[Outcome]:
    victim = HttpVictim(url=url, **(QUICK | settings))
    try:
        return toy.attack_all(toy.listed(), rows, victim)
    finally:
        victim.close()


def told(outcomes: list[Outcome]) -> list[tuple]:
    return [(o.id, o.status, o.adversarial and o.adversarial.fields, o.queries) for o in outcomes]


@pytest.fixture(scope="module")
def healthy(server, rows) -> list[Outcome]:
    return attacked(f"{server[0]}/healthy", rows)


def test_a_healthy_server_gives_what_the_function_gives(healthy, rows):
    assert told(healthy) == told(toy.attack_all(toy.listed(), rows))
    assert {"success", "failed"} <= {o.status for o in healthy}


def test_a_server_that_fails_every_tenth_call_changes_no_outcome(server, healthy, rows):
    address, log = server
    assert told(attacked(f"{address}/flaky", rows, batch=2)) == told(healthy)
    assert log.failed > 3


def test_answers_that_were_cut_change_no_outcome(server, healthy, rows):
    address, log = server
    log.failed = 0
    assert told(attacked(f"{address}/cut", rows, batch=2)) == told(healthy)
    assert log.failed > 3


def test_garbage_is_the_fault_of_its_own_examples_alone(server, healthy, rows):
    outcomes = attacked(f"{server[0]}/garbage", rows, retries=1)
    bad = {o.id for o in outcomes if o.status == "error"}
    assert bad >= {o.id for o in outcomes if "awful" in o.original.fields["text"]}
    assert all(
        (o.reason and "answered with" in o.reason) or "answered 1 text" in o.reason for o in outcomes if o.id in bad
    )
    assert all("\n" not in o.reason for o in outcomes if o.id in bad)
    assert told([o for o in outcomes if o.id not in bad]) == told([o for o in healthy if o.id not in bad])


@pytest.mark.parametrize(
    ("route", "settings", "reason"),
    [
        ("nan", {}, "answered with nan for"),
        ("hangs", {"timeout": 0.35, "retries": 1}, "did not answer within 0.35 s"),
    ],
)
def test_only_the_examples_that_the_server_chokes_on_end_in_error(server, healthy, rows, route, settings, reason):
    outcomes = attacked(f"{server[0]}/{route}", rows, **settings)
    bad = [o for o in outcomes if o.status == "error"]
    assert bad
    assert all("awful" in o.original.fields["text"] for o in bad)
    assert all(reason in (o.reason or "") for o in bad)
    fine = {o.id for o in outcomes} - {o.id for o in bad}
    assert told([o for o in outcomes if o.id in fine]) == told([o for o in healthy if o.id in fine])


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        ("shape", "expected 1 row,"),
        ("html", "answered with HTML"),
        ("nowhere", "answered 404 Not Found"),
        ("locked", "answered 401 Unauthorized"),
    ],
)
def test_a_server_that_never_answers_well_makes_every_example_an_error(server, rows, route, reason):
    outcomes = attacked(f"{server[0]}/{route}", rows)
    assert {o.status for o in outcomes} == {"error"}
    assert all(reason in (o.reason or "") for o in outcomes)


def test_the_key_is_in_no_record(server, rows, monkeypatch, tmp_path):
    monkeypatch.setenv("MALAPROP_KEY", KEY)
    victim = HttpVictim(url=f"{server[0]}/locked", **QUICK)
    data = of([(row.fields["text"], row.label) for row in rows[:3]])
    outcomes = run_to_folder(toy.listed(), victim, data, tmp_path / "run")
    victim.close()
    assert {o.status for o in outcomes} & {"success", "failed"}
    written = "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "run").iterdir() if p.is_file())
    assert json.dumps(f"{server[0]}/locked") in written
    assert KEY not in written
    assert "Bearer" not in written


@pytest.mark.parametrize("way", LEAKS)
def test_what_a_server_says_of_the_key_is_neither_shown_nor_written(way, server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MALAPROP_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("text,label\na good film,1\nan awful film,0\na great plot,1\nawful,0\n")
    address = f"{server[0]}/leak/{way}"
    words = ("attack", "homoglyph", "--victim", address, "--data", "texts.csv", "--out", "run", "--json")
    monkeypatch.setattr(sys, "argv", ["malaprop", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    shown = "".join(capsys.readouterr())
    written = [path.read_text(encoding="utf-8") for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert sum(line.count('"status": "error"') + line.count('"status":"error"') for line in written) == 2
    assert "2 of 4 examples ended in an error" in shown
    for text in (shown, *written):
        assert scrub(text, [KEY]) == text
        assert KEY[:6] not in text


def command(monkeypatch, capsys, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it says."""
    monkeypatch.setattr(sys, "argv", ["malaprop", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), "".join(capsys.readouterr())


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = ["a good film,positive", "a bad plot,negative", "a great end,positive", "a poor film,negative"]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


def test_a_server_that_fails_ends_the_run_before_it_begins(server, reviews, tmp_path, monkeypatch, capsys):
    address, log = server
    log.__init__()
    words = [
        "attack",
        "deepwordbug",
        "--victim",
        f"{address}/fails",
        "--data",
        str(reviews),
        "--out",
        str(tmp_path / "o"),
    ]
    code, said = command(monkeypatch, capsys, *words)
    assert code == 2
    assert [line for line in said.splitlines() if line.strip()] == [said.strip()]
    assert "answered 500 Internal Server Error" in said
    assert log.calls["fails"] == 4  # a word and a pair, twice each


def test_labels_alone_are_read_by_the_names_of_the_data(server, reviews, tmp_path, monkeypatch, capsys):
    """The victim names no label before it is asked; the data's order is assumed, said, and used."""
    given = ["--data", str(reviews), "--json", "--out", str(tmp_path / "o")]
    address = f"{server[0]}/winners#send_as=inputs"
    code, said = command(monkeypatch, capsys, "attack", "deepwordbug", "--victim", address, *given)
    assert code == 0, said
    assert "taken in this order: negative is 0, positive is 1" in said
    found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    assert found["clean_accuracy"]["hits"] == 4


def test_folders_that_are_made_hold_no_mark_that_ends_an_address(server, reviews, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    address = f"{server[0]}/healthy#batch=2"
    code, said = command(
        monkeypatch,
        capsys,
        "audit",
        "--validity",
        "paper",
        "--victim",
        address,
        "--attacks",
        "deepwordbug",
        "--data",
        str(reviews),
    )
    assert code == 0, said
    made = [path.name for path in (tmp_path / "runs").rglob("*")]
    assert any("healthy" in name for name in made)
    assert not any("#" in name for name in made)


def test_a_zoo_model_behind_an_address_falls_as_it_does_at_home():
    torch.manual_seed(0)
    model = WordCNN(VOCABULARY, 2, dim=8, filters=6, widths=(1, 2)).eval()
    home = TokenVictim(name="cnn", cut=cut, forward=model, scorer=CnnEdits(model=model), labels=2, limit=40)
    names = [*KNOWN][:25]
    dice = random.Random(0)
    texts = [" ".join(dice.choices(names, k=dice.randint(2, 9))) for _ in range(20)]
    fields = [(t,) for t in texts]
    with torch.no_grad():  # about as many of one label as of the other
        model.head.bias -= torch.tensor(home.predict(fields)).log().mean(0)
    labels = home.predict(fields).argmax(1).tolist()
    rows = list(number_rows(({"text": t}, label) for t, label in zip(texts, labels, strict=True)))
    attack = toy.listed({name: tuple(dice.sample(names, 4)) for name in names})
    with serving(Log(), home) as address:
        away = HttpVictim(url=f"{address}/zoo", **QUICK)
        far, near = (toy.attack_all(attack, rows, one) for one in (away, home))
        away.close()
    assert [(o.status, o.adversarial and o.adversarial.fields, o.queries.asked) for o in far] == [
        (o.status, o.adversarial and o.adversarial.fields, o.queries.asked) for o in near
    ]
    assert sum(o.status == "success" for o in far) > 3
