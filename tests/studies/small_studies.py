"""Every study in small, for a run of a second or two. A new study adds a line and gets all tests of this folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from small_attentive import saved

from malaprop.models.victims.load import load

SENTENCES = ["a good film and a bad one", "nobody sleeps", "the man is not asleep", "a dog runs", "an animal moves"]
BUILT_ON = ("ensemble", "reproduce")  # which do other studies' work: tests/transfer and tests/reproduce try them
LOCAL = ("study defences",)  # which measure this machine
_TIMES = (
    "cost",
    "ratio",
    "seconds",
    "exact_seconds",
    "epoch_seconds",
    "made",
    "forwarded",
    "forwards_a_second",
    "speed",
    "processor_seconds",
    "finding",
    "asking",
    "processor",
)  # or of the company
_LEFT_OUT = (".lock", "summary.json", "tasks.jsonl", "report.html", "study.toml", "README.md", "training.json")


def model(root: Path) -> str:
    return str(saved(root / "Transformer-3", "Transformer-3"))


def texts(root: Path) -> str:
    """Texts labelled as the model answers, so that there is something to break."""
    made = [f"{one} {two} {'good ' * (n % 4)}" for n, one in enumerate(SENTENCES * 3) for two in SENTENCES]
    answers = load(model(root)).predict([(text,) for text in made]).argmax(1).tolist()
    path = root / "texts.jsonl"
    labels = [n % 2 if n % 3 == 0 else answer for n, answer in enumerate(answers)]
    rows = ({"text": f"{text}{n}", "label": label} for n, (text, label) in enumerate(zip(made, labels, strict=True)))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


WORDS = {"dog": "Hund", "cat": "Katze", "fish": "Fisch", "ball": "Ball", "sees": "sieht", "the": "der", "a": "ein"}


def translate(sources: list[str]) -> list[str]:
    """A translator of few words."""
    return [" ".join(WORDS.get(word, word) for word in source.replace(".", "").split()) for source in sources]


def no_fish(source: str, output: str) -> bool:
    return "Fisch" in output and "fish" not in source


def pairs(root: Path) -> str:
    sources = [f"the {one} sees a {two}" for one in ("dog", "cat", "ball") for two in ("dog", "cat", "fish")]
    path = root / "pairs.tsv"
    rows = zip(sources, translate(sources), strict=True)
    path.write_text("src\ttgt\n" + "".join(f"{source}\t{target}\n" for source, target in rows))
    return str(path)


def swaps(root: Path) -> str:
    path = root / "swaps.csv"
    path.write_text("from,to\ngood,fine\nbad,poor\nfilm,movie\ndog,hound\nruns,moves\nasleep,awake\n")
    return str(path)


def rules(root: Path) -> str:
    path = root / "own.csv"
    path.write_text("label,from,to,salience\n0,bad,fine,1\n0,dog,awake,1\n1,good,poor,1\n1,film,hound,1\n")
    return str(path)


_TRANSLATED = {"victim": "small_studies:translate", "split": "all", "resume": True}
SMALL: dict[str, Callable[[Path], dict[str, Any]]] = {
    "attack": lambda root: {"recipe": "deepwordbug", "victim": model(root), "n": 12, "resume": True},
    "certify": lambda root: {"victim": model(root), "n": 3, "samples": 20, "resume": True},
    "audit": lambda root: {"victim": ["toy:predict", model(root)], "attacks": ["typos"], "n": 8, "resume": True},
    "study defences": lambda root: {
        "victim": model(root), "attacks": ["deepwordbug"], "defences": ["none", "ranmask:keep=0.5:samples=4"], "n": 4,
        "draws": 1, "fresh": 3, "samples": 20,
    },
    "transfer": lambda root: {
        "victims": ["toy:predict", model(root)], "recipe": "deepwordbug", "draw": 20, "n": 8, "resume": True,
    },
    "translate attack": lambda root: {
        **_TRANSLATED, "data": pairs(root), "keyword": ["Fisch"], "n": 4, "sweep": 8, "tries": 4,
    },
    "translate typos": lambda root: {**_TRANSLATED, "data": pairs(root), "n": 6},
    "translate probe": lambda root: {
        **_TRANSLATED, "data": pairs(root), "probe": "small_studies:no_fish", "n": 4, "sweep": 8, "tries": 4,
    },
    "rules mine": lambda root: {"victims": ["toy:predict", model(root)], "swaps": swaps(root), "split": "all"},
    "rules measure": lambda root: {
        "files": [rules(root)], "victims": ["toy:predict", model(root)], "n": 20, "split": "all", "resume": True,
    },
    "study leaderboard": lambda root: {
        "victims": ["toy:predict", model(root)], "attacks": ["deepwordbug", "hotflip-char"], "n": 8,
    },
    "study oneword": lambda root: {
        "models": [model(root)], "recipes": ["list"], "vocabulary": 5, "n": 6,
        "split": "all",
    },
    "study attention": lambda root: {
        "models": [model(root)], "recipe": "deepwordbug", "draws": 2, "n": 6, "split": "all",
    },
    "study hotflip": lambda root: {
        "model": "CNN-C-Random-1", "methods": [], "confidences": [0], "beam": 2, "exact": 2, "n": 5,
        "set": {"epochs": 1, "batch": 16, "dim": 6, "filters": 8},
    },
}  # fmt: skip


def settings(name: str, root: Path) -> dict[str, Any]:
    return {"data": texts(root), "device": "cpu", "quiet": True, **SMALL[name](root)}


def content(root: Path) -> dict[str, Any]:
    """All that a study leaves, without times; lines by their ids, as workers finish in any order."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name not in _LEFT_OUT and not path.name.startswith("."):
            found[path.relative_to(root).as_posix()] = _plain(path)
    return found


def _plain(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return sorted(json.dumps(_timeless(json.loads(line))) for line in path.read_text().splitlines())
    if path.suffix == ".json":
        return _timeless(json.loads(path.read_text()))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as held:
            rest = json.loads(held["rest"].tobytes())
            return {"rest": _timeless(rest), **{name: held[name].round(4).tolist() for name in held if name != "rest"}}
    if path.name == "run.toml":
        return re.sub("started = .*", "", path.read_text().partition("[versions]")[0])
    return path.read_bytes()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(inner) for key, inner in value.items() if key not in _TIMES}
    if isinstance(value, list):
        return [_timeless(inner) for inner in value]
    return round(value, 5) if isinstance(value, float) else value  # a score's last digit may move with its batch
