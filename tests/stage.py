"""The world in which the pages' commands are run, in small: victims, data and files by the names that pages use.

Models of the zoo have a few units and are trained for one epoch on a few texts; packaged and local datasets are a few
rows; numbers of texts and samples are small. Assets such as WordNet are the real ones.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

ABOUT = (
    ("a", "the", "this"),
    ("film", "story", "actor", "plot"),
    ("great", "funny", "moving", "dull", "awful", "poor"),
)
GOOD = ("great", "funny", "moving")
TEXTS = [(f"{a} {noun} is {word} and never {word}", int(word in GOOD)) for a, noun, word in product(*ABOUT)]
MODULE = '''
"""A model of few words: what a page calls my_model."""

import numpy as np

GOOD, BAD = {"great", "funny", "moving"}, {"dull", "awful", "poor"}
WORDS = {"dog": "Hund", "cat": "Katze", "fish": "Fisch", "ball": "Ball", "sees": "sieht", "the": "der", "a": "ein"}


def predict(texts):
    score = np.array([sum((w in GOOD) - (w in BAD) for w in str(text).lower().split()) for text in texts], float)
    good = 1 / (1 + np.exp(0.4 - score))  # without a word it knows it leans to negative
    return np.stack([1 - good, good], 1)


def labels(texts):
    return predict(texts).argmax(1)


def rate(texts):
    return 1 + 4 * predict(texts)[:, 1]


def translate(sources):
    return [" ".join(WORDS.get(word, word) for word in source.lower().replace(".", "").split()) for source in sources]
'''
PROMPT = "Is this review negative or positive?\n\nReview: {text}\nAnswer:"
NOUNS = (("dog", "Hund"), ("cat", "Katze"), ("fish", "Fisch"), ("ball", "Ball"), ("man", "Mann"), ("car", "Wagen"))
PAIRS = [(f"The {a} sees a {b}.", f"Der {c} sieht ein {d}.") for (a, c), (b, d) in product(NOUNS, NOUNS)]
PAIRS += [
    (f"I do not see a {one}.", f"je ne vois pas de {other}.") for one, other in (("dog", "chien"), ("cat", "chat"))
]
ENTAILED = [
    ({"premise": f"a {a} {runs}", "hypothesis": f"{other} {moves}"}, label)
    for a, runs in product(
        ("man", "dog", "child", "woman", "boy", "girl", "bird"), ("runs", "sleeps", "sits", "eats", "sings")
    )
    for label, (other, moves) in enumerate((("it", "moves"), ("a cat", "eats"), ("nobody", "rests")))
]

# What a number becomes: of an option, and of a setting.
FEW = {
    "n": 3, "jobs": 1, "samples": 20, "copies": 1, "trials": 6, "vocabulary": 20, "draws": 2, "minutes": 0.01,
    "shots": 2, "classifiers": 4, "refine": 2, "exact": 2, "budget": 60, "steps": 2, "epochs": 1,
    "dim": 8, "units": 8, "width": 4, "rounds": 2, "panel": 4, "pairs": 60, "draw": 10, "seeds": 1, "items": 4,
    "raters": 1, "cap": 60, "tries": 20, "generations": 2, "max-queries": 500, "lanes": 1,
    "sure": 0.1,
}  # fmt: skip

_RAW = "--validity paper"  # without the judge of meaning, which needs assets

# What is added where a page leaves it to the default.
FURTHER = {
    "attack": "--n 3", "audit": f"--n 3 {_RAW}", "check": f"--n 3 {_RAW}", "certify": "--n 3 --samples 20",
    "study attention": "--draws 2 --n 3", "study oneword": "--trials 6 --vocabulary 20 --n 3",
    "study defences": "--draws 1 --fresh 3 --samples 20 --n 3 --attack deepwordbug " + _RAW,
    "study hotflip": "--exact 2 --beam 2 --confidences 0 --n 3", "study leaderboard": f"--n 3 {_RAW}",
    "profile": f"--n 3 {_RAW}",
    "transfer": "--draw 6 --n 3 --attack deepwordbug", "tune": "--trials 2 --n 20 --attack deepwordbug --sampler plain",
    "translate attack": "--sweep 8 --tries 4 --n 3", "translate probe": "--sweep 8 --tries 4 --n 3",
    "translate typos": "--n 3", "tag attack": "--n 3", "qa attack": "--n 3",
    "natural": "--cap 60 --n 2", "rules measure": "--n 8",
}  # fmt: skip


def shrink(words: list[str], served: Mapping[str, str]) -> list[str]:
    """A command with its numbers made small and its servers those of here; the rest stays as it is on the page."""
    out = list(words)
    for name, own in served.items():
        out = [word.replace(name, own) for word in out]
    few = FEW | ({"n": 8} if words[:2] == ["rules", "measure"] else {})  # which wants texts of both labels
    for at, word in enumerate(out[:-1]):
        name, value = word.removeprefix("--"), out[at + 1]
        if word == "--set" and "=" in value:
            name, _, value = value.partition("=")
            if few.get(name) is not None and value.replace(".", "").isdigit():
                out[at + 1] = f"{name}={min(float(value), few[name]):g}"
        elif word.startswith("--") and few.get(name) is not None and value.replace(".", "").isdigit():
            out[at + 1] = f"{min(float(value), few[name]):g}"
        elif word in ("--n", "--size") and value == "all":
            out[at + 1] = "3"
    more = FURTHER.get(" ".join(words[:2])) or FURTHER.get(words[0], "")
    more = "" if "--baseline" in words else more  # which has its own
    for flag, value in zip(more.split()[::2], more.split()[1::2], strict=True):
        out += [] if flag in out else [flag, value]
    return out


def _small(shape: dict[str, Any]) -> dict[str, Any]:
    few = {"hidden": 8, "filters": 8, "inner": 16, "char_dim": 6, "units": 8, "widths": [2, 3]}
    return {name: _small(v) if isinstance(v, dict) else few.get(name, v) for name, v in shape.items()}


def _tables(root: Path) -> None:
    """The files of MALAPROP_DATA that the pages name."""
    sentiment = [{"text": text, "label": label, "textfooler1000": n % 3 == 0} for n, (text, label) in enumerate(TEXTS)]
    news = [{"text": text, "label": n % 4} for n, (text, _) in enumerate(TEXTS)]
    nli = [{**fields, "label": label} for fields, label in ENTAILED]
    pairs = [{"source": source, "target": target} for source, target in PAIRS]
    files = {
        "mr/mr_all": sentiment, "ag_news/train_part": news, "ag_news/test": news,
        **{f"nli/{name}": nli for name in ("mnli_train_part", "mnli_dev_matched")},
        **{f"nli/snli_{name}": nli for name in ("train_part", "dev", "test")},
        **{f"multi30k/{name}.en-de": pairs for name in ("train", "val", "test2016")},
    }  # fmt: skip
    for name, rows in files.items():
        path = root / f"{name}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _rows(path: Path, names: str, rows: Any) -> None:
    path.write_text(names + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def _files(root: Path) -> None:
    """What a page's reader brings: texts, a module, a prompt."""
    for name in ("reviews", "texts", "my", "train", "mails"):
        words = ("ham", "spam") if name == "mails" else ("negative", "positive")
        first = "so " if name == "train" else ""  # other texts than those of the test
        _rows(root / f"{name}.csv", "text,label", ((first + text, words[label]) for text, label in TEXTS))
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in TEXTS)
    (root / "reviews.jsonl").write_text(lines)
    _rows(root / "rated.csv", "text,label", ((text, 1 + 4 * label) for text, label in TEXTS))
    _rows(root / "pairs.csv", "source,target", PAIRS)
    _rows(root / "captions.csv", "source,target", PAIRS)
    pairs = [(*fields.values(), ("entailment", "neutral", "contradiction")[label]) for fields, label in ENTAILED]
    _rows(root / "entailment.csv", "premise,hypothesis,label", pairs)
    tabbed = [("premise", "hypothesis", "label"), *pairs]
    (root / "snli.tsv").write_text("".join("\t".join(row) + "\n" for row in tabbed))
    (root / "more.txt").write_text("".join(f"once more {text}\n" for text, _ in TEXTS))
    (root / "names.txt").write_text("Bond\nNew York\n")
    (root / "my_model.py").write_text(MODULE)
    (root / "my.py").write_text(MODULE)
    (root / "my_api.py").write_text(MODULE)
    (root / "prompt.txt").write_text(PROMPT)
    (root / "new-prompt.txt").write_text(PROMPT.replace("review", "text"))


@contextmanager
def serve(models: Path) -> Iterator[dict[str, str]]:
    """Servers on this machine in the place of those that pages name: what is typed there, and what to type here."""
    from fastapi import FastAPI
    from http_server import serving
    from llm_server import MODEL, Log, application
    from transformers import AutoModelForCausalLM, AutoTokenizer

    scores, own = FastAPI(), dict[str, Any]()
    exec(MODULE, own)

    @scores.post("/score")
    def score(body: dict[str, Any]) -> Any:
        return {"scores": own["predict"](body.get("texts") or body["inputs"]).tolist()}

    causal = folders(models)["causal"]
    model, tokenizer = AutoModelForCausalLM.from_pretrained(causal), AutoTokenizer.from_pretrained(causal)
    spoken = application(Log(), model, tokenizer, ("negative", "positive"))
    with serving(scores) as one, serving(spoken) as two:
        yield {
            "http://localhost:8000/score": f"{one}/score",
            "https://models.example/score": f"{one}/score",
            "http://host/v1": f"{two}/healthy/v1",
            "openai:MODEL@": f"openai:{MODEL}@",
            "openai:small@": f"openai:{MODEL}@",
        }


@contextmanager
def stage(root: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder whose files a page finds, with the small world around it, and the servers of that world."""
    from malaprop.assets.folders import cache_root
    from malaprop.core.example import number_rows
    from malaprop.data.base import Dataset
    from malaprop.data.matching import ENTAILMENT
    from malaprop.zoo import finetune
    from malaprop.zoo import names as zoo

    files, data, cache = root / "files", root / "data", root / "cache"
    for folder in (files, data, cache):
        folder.mkdir()
    for name in ("assets", "neighbours"):  # what is fetched and what is made of it
        (cache_root() / name).mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(cache_root() / name)
    _tables(data)
    _files(files)
    reviews = Dataset(
        name="mr:test", examples=tuple(number_rows(({"text": t}, y) for t, y in TEXTS)), labels=("negative", "positive")
    )
    entailed = Dataset(
        name="entailment-synthetic:test", examples=tuple(number_rows(ENTAILED, ("hypothesis",))), labels=ENTAILMENT,
        fields=("premise", "hypothesis"),
    )  # fmt: skip
    shape, training, source = zoo.shape, zoo.training, finetune.source_of

    def small_source(spec: Any, start: str | None) -> Any:
        if start is not None and Path(start).is_dir():
            return source(spec, start)
        return folders(root / "models")["base"]

    with pytest.MonkeyPatch.context() as patch, serve(root / "models") as served:
        patch.setenv("MALAPROP_CACHE", str(cache))
        patch.setenv("MALAPROP_DATA", str(data))
        patch.setattr(
            "malaprop.data.packaged.load", lambda name, split="test": replace(reviews, name=f"{name}:{split}")
        )
        patch.setattr(
            "malaprop.data.synthetic.load", lambda name, split="test", **_: replace(entailed, name=f"{name}:{split}")
        )
        patch.setattr(zoo, "shape", lambda *given, **more: _small(shape(*given, **more)))
        patch.setattr(zoo, "training", lambda *given: replace(training(*given), epochs=3, rate=0.01, batch=8))
        patch.setattr(finetune, "source_of", small_source)
        yield files, served


def folders(root: Path) -> dict[str, Path]:
    """Transformers folders with fresh weights, made when first asked for."""
    import tiny_causal
    import tiny_folders

    kinds = {"bert": ("bert", 2), "distilbert": ("distilbert", 2), "nli": ("bert", 3), "rating": ("distilbert", 1)}
    made = {name: root / name for name in (*kinds, "causal", "base")}
    for name, path in made.items():
        if path.is_dir():
            continue
        if name == "causal":
            tiny_causal.folder(path, "llama")
        elif name == "base":  # without a head, to be fine-tuned
            tokenizer = tiny_folders.tokenizer_of("bert")
            tokenizer.save_pretrained(path)
            tiny_folders.classifier("bert", len(tokenizer)).base_model.save_pretrained(path)
        else:
            tiny_folders.folder(path, kinds[name][0], labels=kinds[name][1])
    return made


# Folders that a page takes for granted: a model of the kind, or the command that makes it.
MODELS = {
    "my-distilbert": "distilbert", "my-bert": "bert", "new-model": "distilbert", "mine": "bert", "harder": "bert",
    "nli": "nli", "models/plain": "bert", "models/mine": "distilbert", "models/ranmask": "bert",
    "models/hard": "bert", "rating-model": "rating", "models/BERT": "bert", "smollm2": "causal",
}  # fmt: skip
_RUN = "--victim my_model:predict --data reviews.csv --n 12 --quiet"
MADE = {
    "models/nmt": "train nmt-lstm --data pairs.csv --set dim=8 --set units=8 --set epochs=1 --set vocab=90 --quiet",
    "models/fact": "harden fact --model BERT --data reviews.csv --quiet",
    "models/safer": "harden safer --model BERT --data reviews.csv --quiet",
    "models/pairs": "train Pair-LSTM --data entailment-synthetic --quiet",
    "models/pair-lstm": "train Pair-LSTM --data snli --quiet",
    "models/Transformer-3": "train Transformer-3 --quiet",
    "lstm": "train Pair-BiLSTM-Attention --data entailment-synthetic --quiet",
    "transformer": "train Pair-Transformer --data entailment-synthetic --quiet",
    "models/arae": "train text-vae --data reviews.csv --set filters=[4,4,4] --set code=8 --set latent=4 --set hidden=8 "
    "--set dim=6 --set batch=8 --set least=1 --set steps=2 --quiet",
    "runs/pwws": f"attack deepwordbug {_RUN}",
    "runs/textfooler": f"attack typos {_RUN}",
    "runs/mine": f"audit {_RAW} --attack typos {_RUN}",
    "runs/texts": f"audit {_RAW} --attack typos {_RUN}",
    "runs/monday": f"attack typos {_RUN}",
    "runs/tuesday": f"attack deepwordbug {_RUN}",
    "runs/hardened": f"attack typos {_RUN}",
    "runs/plain": f"attack typos {_RUN}",
    "baseline": f"audit {_RAW} --attack typos {_RUN}",
    "runs/uawr": "rules mine --victim my_model:predict,LSTM-W-Random-1 --data reviews.csv --quiet",
    "runs/pmi": "rules pmi --data reviews.csv --quiet",
}


def call(words: list[str]) -> Any:
    """Runs a command in this process, as its user would."""
    from typer.testing import CliRunner

    from malaprop.cli.main import app

    return CliRunner().invoke(app, words)


def provide(name: str, files: Path) -> Path:
    """A folder that pages take for granted, made once."""
    made = files.parent / "made" / name
    if name in MODELS:
        return folders(files.parent / "models")[MODELS[name]]
    if not made.is_dir():
        made.parent.mkdir(parents=True, exist_ok=True)
        here = os.getcwd()
        os.chdir(files)
        try:
            found = call([*MADE[name].split(), "--out", str(made)])
        finally:
            os.chdir(here)
        assert found.exit_code == 0, f"{name}: {found.exception or found.output}"
    return made


def furnish(commands: list[list[str]], files: Path, folder: Path) -> None:
    """Puts the files into a page's folder, and of the folders those that its commands name and do not make."""
    for file in files.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    own = {words[words.index("--out") + 1] for words in commands if "--out" in words[:-1]}
    text = "\n".join(" ".join(words) for words in commands)
    for name in (*MODELS, *MADE):
        if name not in own and re.search(rf"(?<![\w/-])(\./)?{re.escape(name)}(?![\w-])", text):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(provide(name, files), folder / name)
