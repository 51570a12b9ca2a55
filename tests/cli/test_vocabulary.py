"""One vocabulary of options: one name a thing in all commands, one help text; old names work and are hidden."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import is_dataclass
from itertools import pairwise

import pytest
import typer

import malaprop as mp
from malaprop.cli.main import Commands, Table, app, main
from malaprop.core.errors import SettingError
from malaprop.features.audit.study import Audit
from malaprop.frame.command import settings_command
from malaprop.frame.study.commands import COMMANDS
from malaprop.frame.study.settings import build, flat, options, rename
from malaprop.frame.study.vocabulary import SECTIONS, VICTIM, VOCABULARY

MODEL = """
def predict(texts):
    leans = [("good" in t) - ("bad" in t) for t in texts]
    return [[0.5 - 0.2 * x, 0.5 + 0.2 * x] for x in leans]
"""
WITH_OTHER_VICTIMS = ("translate attack", "translate probe", "translate run", "translate typos", "natural", "tag", "qa")
# what an option must not be called, with what it is called: a second name for one thing
SECOND = {
    "victims": "victim", "target": "victim", "attacks": "attack", "recipe": "attack", "recipes": "attack",
    "defences": "defence", "defense": "defence", "goals": "goal", "searches": "search", "text": "text_column",
    "text_columns": "text_column", "label_columns": "label_column", "column": "text_column", "workers": "jobs",
    "processes": "jobs", "dataset": "data", "count": "n", "number": "n", "models": "victim", "output": "out",
    "folder": "out", "random_state": "seed", "gpu": "device", "dtype": "precision", "batch_size": "width",
}  # fmt: skip


def walk(words: str = "", group: Commands | None = None):
    """Every command by its words, as click has it."""
    for name in Table(words):
        held = Table(words)
        found = held[name]
        if not (inner := getattr(found, "commands", None)) or f"{words}{name}" in COMMANDS:
            yield f"{words}{name}", found
        if held.is_group(name):
            yield from walk(f"{words}{name} ")
        elif inner and not isinstance(found, Commands):
            yield from ((f"{words}{name} {one}", each) for one, each in inner.items())


ALL = {name: one for name, one in walk() if not hasattr(one, "commands")}


def shown(command) -> dict[str, str]:
    """The names of a command's options, without old ones, and their help."""
    return {one.opts[0].lstrip("-").replace("-", "_"): one.help or "" for one in settings_command.visible(command)}


@pytest.fixture
def type_in(tmp_path, tiny_assets, monkeypatch, capsys):
    (tmp_path / "vocabularytoy.py").write_text(MODEL)
    (tmp_path / "texts.csv").write_text("review,stars\n" + "a good film,1\na bad film,0\n" * 5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["malaprop", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    yield run
    sys.modules.pop("vocabularytoy", None)


def test_there_are_all_commands():
    assert {"audit", "attack", "natural", "natural compare", "humans export", "serve", "translate run"} <= {*ALL}
    assert {name for name, one in COMMANDS.items() if is_dataclass(one.load())} <= {*ALL}


@pytest.mark.parametrize("name", ALL)
def test_no_option_is_a_second_name_for_one_thing(name):
    for option in shown(ALL[name]):
        assert option not in SECOND, f"--{option} of {name} is --{SECOND.get(option)} elsewhere"


def test_one_name_has_one_help_text():
    """Of options that many commands share: their help is the vocabulary's, which a command may add to."""
    said = defaultdict(set)
    for name, command in ALL.items():
        for option, text in shown(command).items():
            if option in ("text_column", "label_column", "device", "jobs", "engine", "address", "json", "quiet"):
                said[option].add(text)
            if option == "victim" and not name.startswith(WITH_OTHER_VICTIMS):
                own = name in ("study oneword", "study attention", "bench")  # which train what they attack
                assert VICTIM in text or own, name
    said["quiet"].discard("Print no links and no token.")  # of `humans serve`
    said["jobs"].discard("The value of --jobs for commands that have it.")  # of `reproduce`
    assert {option: texts for option, texts in said.items() if texts != {VOCABULARY[option].help}} == {}


def test_help_of_victims_and_of_precision_names_all_kinds():
    for kind in ("ONNX", "http(s)", "ensemble:", "behind a defence", ".skops", "openai:", "hub name"):
        assert kind in VICTIM
    assert "int8" in VOCABULARY["precision"].help


@pytest.mark.parametrize("name", ALL)
def test_help_has_titled_sections_and_help_all_shows_every_option(type_in, name):
    code, common, _ = type_in(*name.split(), "--help")
    assert code == 0
    code, whole, _ = type_in(*name.split(), "--help-all")
    assert code == 0
    options = common[common.index(":\n  --") :]
    long = [a for a, b in pairwise(options.splitlines()) if b.startswith(" " * 10) and len(a) > 40]
    assert long == [], "the first sentence of an option's help fits one line"
    titles = [line[:-1] for line in whole.splitlines() if line.endswith(":") and not line.startswith(" ")]
    known = [title for title in titles if title in SECTIONS]
    assert known == [title for title in SECTIONS if title in known]
    lines = {line.split()[0].rstrip(",") for line in common.splitlines() if line.startswith("  --")}
    for param in ALL[name].params:
        if param.param_type_name != "option" or param.name == "resume":  # it does nothing, and is shown nowhere
            continue
        assert f"  {param.opts[0]}" in whole, param.opts
        rare = settings_command.is_rare(ALL[name], param)
        assert (param.opts[0] in lines) == (not rare and not param.hidden), param.opts
    if any(settings_command.is_rare(ALL[name], one) for one in settings_command.visible(ALL[name])):
        assert "--help-all" in lines


def test_examples_stay_in_help(type_in):
    assert "malaprop audit --n 50" in type_in("audit", "--help")[1]


def test_all_old_names_are_hidden_and_none_is_a_name_of_today():
    held = {name: ALL[name] for name in ALL if (settings_command.settings_of(ALL[name]))}
    assert len(held) > 30
    for name, command in held.items():
        settings = settings_command.settings_of(command)
        for option in settings.values():
            assert not {*option.old} & {*settings}, name
            assert {*option.old} <= {one.name for one in command.params if getattr(one, "hidden", False)}, name


OLD = [
    ("attack", ("--recipe", "typos"), {"attack": "typos"}),
    ("attack", ("typos",), {"attack": "typos"}),
    ("audit", ("--attacks", "typos,keyboard"), {"attack": ("typos", "keyboard")}),
    ("audit", ("--attack", "typos", "--attack", "keyboard"), {"attack": ("typos", "keyboard")}),
    ("audit", ("--attack", "typos,keyboard"), {"attack": ("typos", "keyboard")}),
    ("audit", ("--victim", "a:b", "--victim", "c:d,e:f"), {"victim": ("a:b", "c:d", "e:f")}),
    ("audit", ("--text", "review", "--label", "stars"), {"text_column": "review", "label_column": "stars"}),
    ("transfer", ("--victims", "a:b,c:d", "--recipe", "typos"), {"victim": ("a:b", "c:d"), "attack": "typos"}),
    ("study oneword", ("--models", "BERT", "--recipes", "random"), {"victim": ("BERT",), "attack": ("random",)}),
    ("study attention", ("--models", "BERT", "--recipe", "random"), {"victim": ("BERT",), "attack": "random"}),
    ("study defences", ("--defences", "none,five", "--attacks", "pwws"), {"defence": ("none", "five")}),
    ("study leaderboard", ("--victims", "a:b", "--attacks", "pwws"), {"victim": ("a:b",), "attack": ("pwws",)}),
    ("rules mine", ("--victims", "a:b", "--workers", "2"), {"victim": ("a:b",), "jobs": 2}),
    ("rules measure", ("f.csv", "--victims", "a:b"), {"victim": ("a:b",)}),
    ("natural compare", ("--victims", "a,b", "--searches", "hybrid"), {"victim": ("a", "b"), "search": ("hybrid",)}),
    ("detect fit", ("wdr", "--victim", "a:b", "--goals", "untargeted"), {"goal": ("untargeted",)}),
    ("harden", ("auto", "--attacks", "pwws", "--text", "t"), {"attack": ("pwws",), "text_column": "t"}),
    ("train", ("BERT", "--label", "stars"), {"label_column": "stars"}),
]


@pytest.mark.parametrize(("name", "words", "wanted"), OLD)
def test_old_names_are_read_on_the_command_line(monkeypatch, type_in, name, words, wanted):
    seen = []
    monkeypatch.setattr("malaprop.frame.command.settings_command.perform", seen.append)
    extra = ("--victim", "a:b") if name in ("attack", "certify") else ()
    code, _, said = type_in(*name.split(), *words, *extra)
    assert code == 0, said
    assert {key: value for key, value in flat(seen[0]).items() if key in wanted} == wanted


def test_old_names_are_read_in_toml_and_in_python(type_in, tmp_path):
    (tmp_path / "study.toml").write_text(
        'command = "audit"\nvictim = ["vocabularytoy:predict"]\nattacks = ["typos"]\ndata = "texts.csv"\n'
        'text = "review"\nlabel = "stars"\nworkers = 1\nn = 0\nout = "run"\nvalidity = "paper"\n'
    )
    code, _, said = type_in("run", "study.toml")
    assert code == 0, said
    assert 'attack = ["typos"]' in (tmp_path / "run/study.toml").read_text()
    found = mp.audit(
        "vocabularytoy:predict",
        attacks=["typos"],
        data="texts.csv",
        text="review",
        label="stars",
        n=0,
        workers=1,
        validity="paper",
    )
    again = mp.audit(
        "vocabularytoy:predict",
        attack=["typos"],
        data="texts.csv",
        text_column="review",
        label_column="stars",
        n=0,
        validity="paper",
    )
    assert [one.status for one in found.outcomes] == [one.status for one in again.outcomes]
    last = mp.run(tmp_path / "study.toml", attack=["keyboard"], out=tmp_path / "other")  # has the last word
    assert [name.endswith("keyboard") for name in last.runs] == [True]


def test_a_folder_of_an_older_release_goes_on(type_in, tmp_path):
    given = ("--data", "texts.csv", "--text-column", "review", "--label-column", "stars", "--n", "0", "--quiet")
    words = ("study", "leaderboard", "--victim", "vocabularytoy:predict", "--attack", "typos", *given, "--out", "run")
    words += ("--validity", "paper")
    assert type_in(*words)[0] == 0
    file = tmp_path / "run/study.toml"
    (outcomes,) = (tmp_path / "run").rglob("outcomes.jsonl")
    before = outcomes.read_bytes()
    new = file.read_text()
    older = new.replace("victim =", "victims =").replace("attack =", "attacks =")
    older = older.replace('validity = "paper"\n', "")  # which none had before there was the option
    older = older.replace("text_column =", "text =").replace("label_column =", "label =")
    assert older != new
    file.write_text(older)
    code, _, said = type_in(*words)
    assert code == 0, said
    assert file.read_text() == new
    file.write_text(f'validity = "paper"\n{older}')
    assert type_in("run", "run/study.toml")[0] == 0
    assert outcomes.read_bytes() == before
    file.write_text(older)
    code, _, said = type_in(*words, "--seed", "1")
    assert (code, "seed" in said) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "--attack", "typos", "--attacks", "pwws"), "--attack and --attacks are two names of one option"),
        (("attack", "typos", "--attack", "pwws", "--victim", "a:b"), "RECIPE and --attack are two names of one option"),
        (("attack", "typos", "--victim", "a:b", "--victim", "c:d"), "--victim takes one value here, got 2: a:b, c:d"),
        (("audit", "--text-column", "a", "--text", "b"), "--text-column and --text are two names of one option"),
        (("attack", "--victim", "a:b"), "Missing argument 'RECIPE'"),
        (("attack", "typos"), "Missing option '--victim' (The model: a function, folder, name or address)"),
        (("audit", "--atacks", "typos"), "No such option: --atacks (Possible options: --attack, --track)"),
    ],
)
def test_wrong_use_is_one_line(type_in, words, said):
    code, _, told = type_in(*words)
    assert code == 2
    assert said in told
    assert told.count("\n") == 1


def test_both_names_with_one_value_are_fine():
    assert flat(build(Audit, {"attack": ["typos"], "attacks": "typos"}))["attack"] == ("typos",)
    with pytest.raises(SettingError, match="give --jobs alone"):
        build(Audit, {"jobs": 1, "workers": 2})
    assert rename(Audit, {"attacks": 1, "what": 2}) == {"attack": 1, "what": 2}


def test_suites_are_attacks_too(type_in):
    given = (
        "--data",
        "texts.csv",
        "--text-column",
        "review",
        "--label-column",
        "stars",
        "--n",
        "2",
        "--quiet",
        "--json",
    )
    code, out, said = type_in(
        "audit", "--victim", "vocabularytoy:predict", "--attack", "quick", *given, "--dry-run", "--validity", "paper"
    )
    assert code == 0, said
    assert json.loads(out.splitlines()[-1])


def test_every_entry_of_the_vocabulary_is_an_option():
    used = {option.name for one in COMMANDS.values() if is_dataclass(cls := one.load()) for option in options(cls)}
    assert {*VOCABULARY} <= used
    assert typer.main.get_command(app) is not None
