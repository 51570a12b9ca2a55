"""The commands as a user types them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tiny_study import TYPO, two_runs, write_run

from malaprop.cli.main import app, main

ROOT = Path(__file__).parents[3]
COMMANDS = typer.main.get_command(app).commands["humans"].commands


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["malaprop", "humans", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path / "runs")


def test_the_commands_are_those_promised():
    assert list(COMMANDS) == ["export", "serve", "import", "score"]


def test_export_import_score(type_in, runs, tmp_path):
    study = tmp_path / "study.db"
    code, out, err = type_in("export", runs, "--items", 4, "--raters", 2, "--out", study, "--json", "--csv",
                             tmp_path / "tasks.csv", "--json-file", tmp_path / "tasks.json", "--label-studio",
                             tmp_path / "ls.json")  # fmt: skip
    assert code == 0, err
    summary = json.loads(out.splitlines()[-1])
    assert (summary["raters"], summary["checks"], summary["turns"]) == (2, 8, [24, 24])
    assert summary["items"]["readability"] == {"synonym vs typo": 4}
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    answers = [{"task": t["task"], "rater": t["rater"], "answer": t["choices"][0]} for t in tasks]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    assert type_in("import", study, tmp_path / "answers.json")[0] == 0
    code, out, err = type_in("score", study, "--pass-mark", 0, "--out", tmp_path / "scores", "--json")
    assert code == 0, err
    scores = json.loads(out.splitlines()[-1])
    assert scores["counted"] == 32
    assert json.loads((tmp_path / "scores" / "humans.json").read_text())["counted"] == 32


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "{runs}/typo", "--ask", "similarity"), "these runs hold only one (typo on toy)"),
        (("export", "{runs}", "--ask", "beauty"), "question"),
        (("export", "{runs}/nothing"), "no such folder"),
        (("score", "nothing.db"), "no such study"),
        (("import", "nothing.db", "x.csv"), "no such study"),
        (("serve", "nothing.db", "--port", "0"), "no such study"),
        (("serve", "x.db", "--host", "0.0.0.0"), "--expose"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(type_in, runs, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = type_in(*(word.format(runs=runs) for word in words))
    assert code == 2
    assert told in err
    assert len(err.strip().splitlines()) == 1


def test_a_port_in_use(type_in, runs, tmp_path):
    study = tmp_path / "study.db"
    type_in("export", runs, "--out", study)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = type_in("serve", study, "--port", taken.getsockname()[1])
    assert code == 2
    assert "in use" in err


def test_exposing_says_what_it_means_and_links_are_for_the_owner_alone(tmp_path):
    write_run(tmp_path / "runs", "typo", TYPO)
    command = [sys.executable, "-m", "malaprop", "humans"]
    subprocess.run([*command, "export", tmp_path / "runs", "--out", tmp_path / "s.db"], check=True, timeout=60)
    links = tmp_path / "links.csv"
    serve = [
        *command,
        "serve",
        tmp_path / "s.db",
        "--expose",
        "--port",
        "0",
        "--links",
        links,
        "--quiet",
        "--url",
        "https://x.org/",
    ]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
        lines = []
        for line in server.stderr:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        server.terminate()
        server.wait(20)
    said = "".join(lines)
    assert "exposed: whoever reaches" in said
    assert "token" not in said
    assert "/r/" not in said
    assert len(re.findall("r[123],https://x.org/r/[123][.]", links.read_text())) == 3
    assert os.stat(links).st_mode & 0o077 == 0


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom malaprop.cli.main import main\nsys.argv = ['malaprop', 'humans', 'export', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print({n.partition('.')[0] for n in sys.modules} & {'numpy', 'torch', 'fastapi', 'jinja2', 'sqlite3'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout.splitlines()[-1] == "set()"
