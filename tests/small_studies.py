"""Every study in small, for a run of a second or two. A new study adds a line and gets all tests of this folder.

What stands behind a colon tells several of one study apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from papers.natural.small_images import brightest, write_bars
from papers.natural.small_sentences import SENTENCES as WORLD
from papers.natural.small_sentences import blank_model
from small_attentive import saved

from malaprop.frame.runs.load_victim import load
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.papers.natural.models import networks
from malaprop.papers.natural.models.images import ImageManifold
from malaprop.papers.natural.models.images import save as save_generator
from malaprop.papers.natural.models.networks import ImageShape
from malaprop.papers.natural.models.sentencemodel import save as save_sentences
from malaprop.training.card import Card

SENTENCES = ["a good film and a bad one", "nobody sleeps", "the man is not asleep", "a dog runs", "an animal moves"]
BUILT_ON = (
    "ensemble",
    "reproduce",
)  # which do other studies' work: tests/papers/universal and tests/papers/claims try them
_TIMES = (
    "began",
    "cost",
    "ratio",
    "seconds",
    "exact_seconds",
    "epoch_seconds",
    "made",
    "forwarded",
    "forwards_a_second",
    "tokens_per_second",
    "speed",
    "processor_seconds",
    "finding",
    "asking",
    "processor",
)  # or of the company
_LEFT_OUT = (
    "pace.json",
    "forecast.json",
    ".lock",
    "summary.json",
    "tasks.jsonl",
    "report.html",
    "study.toml",
    "README.md",
    "training.json",
)


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


def unlabelled(root: Path) -> str:
    path = root / "more.txt"
    path.write_text("".join(f"{text} again {n}\n" for n, text in enumerate(SENTENCES)))
    return str(path)


def detector(root: Path) -> str:
    """A detector for the model, beside the attack that it learnt from."""
    given = SMALL["detect fit"](root) | {"data": texts(root), "device": "cpu", "quiet": True}
    return str(conduct(build(find_study("detect fit"), given | {"out": root / "detector"})).folder)


WORDS = {"dog": "Hund", "cat": "Katze", "fish": "Fisch", "ball": "Ball", "sees": "sieht", "the": "der", "a": "ein"}


def translate(sources: list[str]) -> list[str]:
    """A translator of few words."""
    return [" ".join(WORDS.get(word, word) for word in source.replace(".", "").split()) for source in sources]


def no_fish(source: str, output: str) -> bool:
    return "Fisch" in output and "fish" not in source


def pairs(root: Path, ends: Sequence[str] = ("",)) -> str:
    nouns = ("dog", "cat", "ball"), ("dog", "cat", "fish")
    sources = [f"the {one} sees a {two}{end}" for one in nouns[0] for two in nouns[1] for end in ends]
    path = root / "pairs.tsv"
    rows = zip(sources, translate(sources), strict=True)
    path.write_text("src\ttgt\n" + "".join(f"{source}\t{target}\n" for source, target in rows))
    return str(path)


def tag(sentences: list[list[str]]) -> list[list[str]]:
    """A tagger that takes a word before "sleeps" for a person."""
    return [["I-PER" if after == "sleeps" else "O" for after in [*tokens[1:], ""]] for tokens in sentences]


def read_name(pairs: list[tuple[str, str]]) -> list[str]:
    """A reader that takes the last capitalised word of a context for the answer."""
    return [[word for word in context.rstrip(".").split() if word[:1].isupper()][-1] for _, context in pairs]


def asked(root: Path) -> str:
    path = root / "asked.jsonl"
    row = '{"question": "Who sleeps?", "context": "The old dog saw NAME.", "answers": ["NAME"]}\n'
    path.write_text("".join(row.replace("NAME", name) for name in ("Anna", "Boris", "Clara", "Dora")))
    return str(path)


def tagged(root: Path) -> str:
    path = root / "tagged.conll"
    path.write_text("".join(f"old O\n{name} I-PER\nsleeps O\n. O\n\n" for name in ("Anna", "Boris", "Clara", "Dora")))
    return str(path)


def swaps(root: Path) -> str:
    path = root / "swaps.csv"
    path.write_text("from,to\ngood,fine\nbad,poor\nfilm,movie\ndog,hound\nruns,moves\nasleep,awake\n")
    return str(path)


def rules(root: Path) -> str:
    path = root / "own.csv"
    path.write_text("label,from,to,salience\n0,bad,fine,1\n0,dog,awake,1\n1,good,poor,1\n1,film,hound,1\n")
    return str(path)


def digits(root: Path) -> dict[str, Any]:
    """Images, and a generative model of them that has learnt nothing."""
    import torch

    data, folder = write_bars(root / "bars.npz", many=300), root / "vae"
    torch.manual_seed(0)
    shape = ImageShape.of((1, 8, 8), dim=4, width=4)
    card = Card(
        role="image generator", kind="vae", shape=shape.plain(), data="bars", data_fingerprint="", seed=0, figures={}
    )
    nets = networks.generator(shape).eval(), networks.inverter(shape, 2 * shape.dim).eval()
    save_generator(folder, ImageManifold(card=card, generator=nets[0], inverter=nets[1]))
    found = {"data": data, "generator": str(folder), "force": True, "set": {"samples": 20, "step": 0.5}}
    return {**found, "cap": 400}


def eats(texts: list[str]) -> Any:
    hit = np.asarray(["eats" in text for text in texts], float)
    return np.stack([1 - hit, hit], 1)


def darkest(images: Any) -> Any:
    """A victim of one line, other than the brightest bar."""
    return 1 - brightest(images)


def sentences(root: Path) -> dict[str, Any]:
    """Short texts, and a sentence model that has learnt nothing."""
    model, folder = blank_model(), root / "sentences"
    card = replace(model.card, shape=asdict(model.net.shape))
    save_sentences(folder, card, model.net, model.codec.vocab, WORLD)
    path = root / "small.csv"
    path.write_text("text,label\n" + "".join(f"{text},{int('eats' in text)}\n" for text in WORLD[:12]))
    return {
        "data": str(path),
        "generator": str(folder),
        "force": True,
        "set": {"samples": 10},
        "cap": 60,
    }


def world(root: Path) -> str:
    path = root / "world.txt"
    path.write_text("\n".join(WORLD) + "\n")
    return str(path)


_TRANSLATED = {"victim": "small_studies:translate", "split": "all"}
_LEARN = {"epochs": 1, "batch": 16, "dim": 6, "hidden": 4}
SMALL: dict[str, Callable[[Path], dict[str, Any]]] = {
    "attack": lambda root: {"recipe": "deepwordbug", "victim": model(root), "n": 12},
    "certify": lambda root: {"victim": model(root), "n": 3, "samples": 20},
    "detect fit": lambda root: {
        "method": "rde:dim=2", "victim": model(root), "attack": ["deepwordbug"], "goals": ["untargeted"], "n": 75,
        "keep": False,
    },
    "detect score": lambda root: {"folder": detector(root), "data": [str(root / "detector")]},
    "audit": lambda root: {"victim": ["toy:predict", model(root)], "attacks": ["typos"], "n": 8, "validity": "paper"},
    "check": lambda root: {
        "victim": model(root), "attacks": ["typos"], "min": {"accuracy": 0.1}, "n": 8,
        "validity": "paper",
    },
    "study defences": lambda root: {
        "victim": model(root), "attacks": ["deepwordbug"], "defences": ["none", "ranmask:keep=0.5:samples=2"], "n": 2,
        "draws": 1, "fresh": 2, "samples": 8, "validity": "paper",
    },
    "transfer": lambda root: {
        "victims": ["toy:predict", model(root)], "recipe": "deepwordbug", "draw": 20, "n": 8,
    },
    "translate attack": lambda root: {
        **_TRANSLATED, "data": pairs(root), "keyword": ["Fisch"], "n": 4, "sweep": 8, "tries": 4,
    },
    "translate typos": lambda root: {**_TRANSLATED, "data": pairs(root), "n": 6},
    "translate probe": lambda root: {
        **_TRANSLATED, "data": pairs(root), "probe": "small_studies:no_fish", "n": 4, "sweep": 8, "tries": 4,
    },
    "tag attack": lambda root: {
        "victim": "small_studies:tag", "data": tagged(root), "attacks": ["deepwordbug"], "n": 4,
    },
    "qa attack": lambda root: {
        "victim": "small_studies:read_name", "data": asked(root), "attacks": ["addany"], "n": 4,
        "settings": {"words": 2, "passes": 1, "each": 2},
    },
    "rules mine": lambda root: {"victims": ["toy:predict", model(root)], "swaps": swaps(root), "split": "all"},
    "rules measure": lambda root: {
        "files": [rules(root)], "victims": ["toy:predict", model(root)], "n": 20, "split": "all",
    },
    "natural": lambda root: {**sentences(root), "victim": "small_studies:eats", "n": 6},
    "natural compare": lambda root: {
        **digits(root), "victims": ["small_studies:brightest", "small_studies:darkest"], "n": 6, "judge": "none",
    },
    "natural sweep": lambda root: {**digits(root), "set": {"samples": 10}, "classifiers": 4, "n": 4, "epochs": 1},
    "natural synthetic": lambda root: {"n": 2, "steps": 2},
    "train": lambda root: {"spec": "all63", "only": ["CNN-W-Random-1", "LSTM-W-Random-1"], "set": _LEARN},
    "train: a model of texts": lambda root: {"spec": "CNN-W-Random-1", "set": {"epochs": 1, "dim": 6, "filters": 4}},
    "train: a translator": lambda root: {
        "spec": "nmt-lstm", "data": pairs(root, ("", " here", " again", " too", " now")),
        "set": {"dim": 8, "units": 8, "epochs": 1, "vocab": 60, "tokens": 64, "limit": 16},
    },
    "train: a generator of images": lambda root: {
        "spec": "vae", "data": write_bars(root / "bars.npz", many=300),
        "set": {"width": 4, "dim": 4, "steps": 4, "batch": 16},
    },
    "train: a classifier of images": lambda root: {
        "spec": "mlp", "data": write_bars(root / "bars.npz", many=300), "set": {"epochs": 1, "widths": 4},
    },
    "train: a model of sentences": lambda root: {
        "spec": "text-vae", "data": world(root),
        "set": {"filters": [4, 4, 4], "code": 8, "latent": 4, "hidden": 8, "dim": 6, "batch": 8, "least": 1,
                "steps": 2},
    },
    "pretrain": lambda root: {
        "kind": "elmo", "steps": 2,
        "set": {"dim": 8, "hidden": 12, "char_dim": 4, "filters": [[1, 4], [2, 4]], "length": 8, "batch": 4},
    },
    "tune": lambda root: {
        "defence": "five", "victim": model(root), "attack": "deepwordbug", "n": 8, "trials": 3, "sampler": "plain",
        "fix": {"samples": 4},
    },
    "harden: the best of several": lambda root: {
        "method": "auto", "model": "CNN-W-Random-1", "methods": ["flooding"], "attacks": ["deepwordbug"], "n": 6,
        "set": {"epochs": 2, "dim": 6, "filters": 4},
    },
    "harden: texts without labels": lambda root: {
        "method": "blackbox", "model": "CNN-W-Random-1", "unlabelled": unlabelled(root),
        "teacher": "toy:predict", "sure": 0.5, "set": {"epochs": 1, "dim": 6, "filters": 4},
    },
    "profile": lambda root: {
        "victim": ["toy:predict", model(root)], "attack": ["deepwordbug"], "n": 8, "validity": "paper",
    },
    "study leaderboard": lambda root: {
        "victims": ["toy:predict", model(root)], "attacks": ["deepwordbug", "hotflip-char"], "n": 8,
        "validity": "paper",
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
    found = {"device": "cpu", "quiet": True, **SMALL[name](root)}
    return found if "data" in found or name == "natural synthetic" else {"data": texts(root), **found}


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
