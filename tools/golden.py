"""Golden records: the output and the files of every command on tiny data, to compare before and after a change.

    python tools/golden.py make before               run nearly all commands, two minutes on a free core; --long: all
    python tools/golden.py make after                run them again, after the change
    python tools/golden.py compare before after      show differences; exit 1 if something changed or is gone

    python tools/golden.py make after --only audit,transfer          run these commands and those that they need
    python tools/golden.py make after --only transfer --also "--jobs 2"    add options

One thread, one seed, the CPU, no download. The records leave out times, dates, versions, the path of the work folder
and what else differs between two runs of one code (`_NOISE`). They hold the exit code and the output of each command
(`said.txt`), its line of `--json` (`json.json`), help pages, and below `files` each file that it wrote, outcomes sorted
by id, weights as hashes. `compare` reports a new file or key, but does not count it as a fault: records may grow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

_CLOCK = """
seconds wall busy floor scoring epoch_seconds exact_seconds cost queries_a_second started created minutes versions version
ratio forwards_a_second trained time times rate_a_second pid seconds_a_text duration mean_seconds share_of_floor
tokens_per_second
"""
TIMES = frozenset(_CLOCK.split())
_TIMED = re.compile(r"\d[\d,]*(\.\d+)?(e-?\d+)?( ?(s|ms|seconds|x|asked a second|minutes|of the attacks)\b)")
_SECONDS = re.compile(r"(seconds?) [\d.,]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
_NOISE = (  # kept files, and a key of theirs, or None for the file, that differ between two runs of one code
    ("*/study.toml.json", "content"),  # marks of model folders, whose cards hold training times
    ("humans-score/*.json", "study"),  # the random id of a human evaluation
    ("rules-mine/files/*/shards/*", None),  # arrays of mined shards, with the seconds that each took
)
_SHOWN = 12  # differences of one file


@dataclass(frozen=True)
class Step:
    """A command line, and the steps whose files it needs; --json is added if `json` is set."""

    name: str
    words: str
    after: tuple[str, ...] = ()
    json: bool = True
    long: bool = False  # trains for half a minute: runs only if it is named, or with --long


_SMALL = "--set dim=12 --set hidden=8 --set epochs=3 --set batch=16 --set rate=0.02 --device cpu"
_CHARS = "--set char_dim=6 --set filters=16 --set width=3 --set hidden=12 --set epochs=2 --set batch=16 --set rate=0.02 --device cpu"
_NMT = "--set dim=16 --set units=16 --set epochs=2 --set vocab=100 --set tokens=256 --set limit=24 --device cpu"
_IMAGES = "--data bars.npz --generator vae --device cpu"
_TEXTS = "--data small.csv --generator arae --force --n 2 --set samples=10 --cap 60 --device cpu"
_ARAE = "--set filters=[16,16,16] --set code=32 --set latent=8 --set hidden=32 --set dim=16 --set batch=16 --set least=1 --set steps=20"
_ELMO = '--set dim=8 --set hidden=12 --set char_dim=4 --set "filters=[[1, 4], [2, 4]]" --set length=8 --set batch=4'
_DATA = "--data rows.csv"

STEPS = (
    Step("list", "list recipes"),
    Step("list-models", "list models"),
    Step("train-lstm", f"train LSTM-W-Random-1 {_DATA} --out lstm {_SMALL}"),
    Step("train-cnn", f"train CNN-W-Random-1 {_DATA} --out cnn --set dim=12 --set epochs=2 --device cpu"),
    Step("train-chars", f"train CharCNN-LSTM {_DATA} --out chars {_CHARS}"),
    Step("train-zoo", f"train all63 {_DATA} --only LSTM-W-Random-1 --only CNN-W-Random-1 --jobs 1 --out zoo {_SMALL}"),
    Step("train-nmt", f"train nmt-lstm --data pairs.tsv --out nmt {_NMT}"),
    Step("train-vae", "train vae --data bars.npz --set width=8 --set dim=4 --set steps=100 --set batch=32 --out vae --device cpu"),
    Step("train-wgan", "train wgan --data bars.npz --set width=8 --set dim=4 --set steps=20 --set batch=32 --set inverter_steps=20 --out wgan --device cpu"),
    Step("train-mlp", "train mlp --data bars.npz --out mlp --device cpu"),
    Step("train-arae", f"train arae --data small.txt --out arae --device cpu {_ARAE}"),
    Step("train-text-vae", f"train text-vae --data small.txt --out textvae --device cpu {_ARAE}"),
    Step("pretrain", f"pretrain elmo --data texts.txt --steps 2 --out elmo --device cpu {_ELMO}"),
    Step("attack", "attack homoglyph --victim toymodel:predict --data reviews.csv --out attack"),
    Step("attack-model", "attack deepwordbug --victim lstm --data rows.csv --n 12 --out attack-model --device cpu", ("train-lstm",)),
    Step("attack-white", "attack hotflip-char --victim chars --data rows.csv --n 6 --out attack-white --device cpu", ("train-chars",)),
    Step("audit", "audit --victim toymodel:predict,lstm --data rows.csv --n 10 --attack homoglyph,keyboard,deepwordbug --out audit --device cpu", ("train-lstm",)),
    Step("defences", f"study defences --victim lstm --data rows.csv --attack deepwordbug --defence none,twin,ranmask:keep=0.5:samples=8 --out defences --n 6 --draws 2 --fresh 3 --samples 40 {_SMALL}", ("train-lstm",)),
    Step("explain", 'explain "the story was great" --victim lstm --device cpu --no-substitutes', ("train-lstm",)),
    Step("augment", "augment --method keyboard:r=0.1 --data rows.csv --n 20 --copies 1 --out more.csv"),
    Step("harden-blackbox", f"harden blackbox --model LSTM-W-Random-1 {_DATA} --out hard-blackbox {_SMALL}"),
    Step("harden-miyato", f"harden miyato --model LSTM-W-Random-1 {_DATA} --out hard-miyato {_SMALL}"),
    Step("harden-hotflip", f"harden hotflip --r 0.3 {_DATA} --out hard-hotflip {_CHARS}"),
    Step("harden-ranmask", f"harden ranmask:keep=0.5 --model LSTM-W-Random-1 {_DATA} --out ranmask {_SMALL}"),
    Step("tune", "tune fuse --victim lstm --data rows.csv --n 16 --trials 2 --attack deepwordbug --fix similarity=off --sampler plain --test --out tune --device cpu", ("train-lstm",), long=True),
    Step("certify", "certify --victim ranmask --defence ranmask:keep=0.5 --data rows.csv --n 5 --samples 60 --out certify --device cpu", ("harden-ranmask",)),
    Step("study-hotflip", f"study hotflip {_DATA} --n 4 --methods hotflip --confidences 0,0.6 --beam 2 --exact 2 --out hotflip {_CHARS}"),
    Step("study-oneword", "study oneword --data words.jsonl --victim BiLSTM-Attention,LSTM-W-Random-1 --n 4 --attack gs-gr,gs-ec,asmax-gr,random --vocabulary 5 --trials 20 --set epochs=3 --set rate=0.02 --set batch=16 --set hidden=8 --out oneword --device cpu"),
    Step("study-attention", "study attention --victim oneword/models/BiLSTM-Attention --data words.jsonl --n 4 --attack random --set trials=20 --draws 2 --out attention --device cpu", ("study-oneword",)),
    Step("transfer", "transfer --victim toymodel:predict,toymodel:eager,toymodel:sour --data reviews.csv --attack homoglyph --out transfer"),
    Step("ensemble", "ensemble --from transfer --size 2", ("transfer",)),
    Step("rules-mine", "rules mine --victim lstm --data rows.csv --split all --n 30 --out mined --device cpu", ("train-lstm",)),
    Step("rules-pmi", "rules pmi --data rows.csv --split all --out pmi"),
    Step("rules-apply", "rules apply pmi --data rows.csv --n 20 --out changed.csv", ("rules-pmi",)),
    Step("rules-show", "rules show pmi --data rows.csv --split all --least 1 --top 3 --out shown", ("rules-pmi",)),
    Step("rules-measure", "rules measure pmi mined --victim lstm --data rows.csv --split all --n 20 --out measured --device cpu", ("rules-pmi", "rules-mine")),
    Step("natural", f"natural --victim mlp --n 2 --search boundary --set samples=20 --out natural {_IMAGES}", ("train-vae",), long=True),
    Step("natural-compare", f"natural compare --victim forest,mlp --search boundary --n 5 --set boundary.samples=30 --out natural-compare {_IMAGES}", ("train-vae",)),
    Step("natural-sweep", f"natural sweep --classifiers 4 --n 4 --epochs 2 --set samples=20 --out natural-sweep {_IMAGES}", ("train-vae",)),
    Step("natural-synthetic", "natural synthetic --n 1 --out natural-synthetic", long=True),
    Step("natural-text", f"natural --victim toymodel:eats --out natural-text {_TEXTS}", ("train-arae",), long=True),
    Step("natural-text-compare", f"natural compare --victim toymodel:eats,toymodel:longer --out natural-text-compare {_TEXTS}", ("train-arae",)),
    Step("translate-attack", "translate attack --victim nmt --data pairs.tsv --keyword Hund,Katze --n 3 --tries 4 --out translate-attack --device cpu", ("train-nmt",)),
    Step("translate-bleu", "translate attack --victim toymodel:translate --data pairs.tsv --n 10 --goal bleu --drop 0.3 --out translate-bleu"),
    Step("translate-typos", "translate typos --victim toymodel:translate --data pairs.tsv --n 10 --out translate-typos"),
    Step("translate-probe", "translate probe --victim toymodel:translate --data pairs.tsv --n 10 --probe translation-disappears:cat --out translate-probe"),
    Step("translate-run", "translate run --victim toymodel:translate --data pairs.tsv --n 10 --out translate-run"),
    Step("humans-export", "humans export audit --ask label,naturalness --items 3 --raters 2 --seed 4 --out study.db --json-file tasks.json", ("audit",)),
    Step("humans-import", "humans import study.db answers.json", ("humans-export",)),
    Step("humans-score", "humans score study.db --pass-mark 0 --out humans", ("humans-import",)),
    Step("reproduce", "reproduce --list", json=True),
    Step("report", "report audit --out page.html", ("audit",)),
    Step("refused-option", "attack homoglyph --victim toymodel:predict --data reviews.csv --budget 0"),
    Step("refused-data", "audit --victim toymodel:predict --data nothing.csv"),
    Step("refused-victim", "attack homoglyph --victim toymodel:nothing --data reviews.csv"),
)  # fmt: skip

MODEL = """
import numpy as np

WORTH = {"good": 2.0, "great": 3.0, "bad": -2.0, "awful": -3.0}
GERMAN = {"a": "ein", "dog": "Hund", "cat": "Katze", "man": "Mann", "runs": "rennt", "sees": "sieht", "sleeps": "schläft",
          "the": "der", "fish": "Fisch", "eats": "isst", "old": "alte", "here": "hier"}


def _of(texts, worth, bias=0.0):
    s = bias + np.array([sum(worth.get(w, 0.0) for w in t.lower().replace(",", " ").split()) for t in texts])
    p = 1 / (1 + np.exp(-s))
    return np.stack([1 - p, p], 1)


def predict(texts):
    return _of(texts, WORTH, -0.5)


def eager(texts):
    return _of(texts, {**WORTH, "good": 4.0}, -0.3)


def sour(texts):
    return _of(texts, {**WORTH, "dull": -2.0}, 0.5)


def eats(texts):
    hit = np.asarray(["eats" in text for text in texts], float)
    return np.stack([1 - hit, hit], 1)


def longer(texts):
    hit = np.asarray([len(text) > 22 for text in texts], float)
    return np.stack([1 - hit, hit], 1)


def translate(texts):
    return [" ".join(GERMAN.get(w, w) for w in text.rstrip(".").split()) + "." for text in texts]
"""


def furnish(place: Path) -> None:
    """Write small data files and the module of toy victims to the work folder."""
    import numpy as np

    (place / "toymodel.py").write_text(MODEL, encoding="utf-8")
    worth, things = ("awful", "great", "bad", "good"), ("story", "film", "idea", "scene")
    rows = [f"the {things[i % 4]} {i} was {worth[i % 4]},{i % 2}" for i in range(160)]
    (place / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    kinds = [
        (word, "pos" if word in ("good", "great") else "neg") for word in ("good", "great", "bad", "awful", "dull")
    ]
    texts = [f"a {word} film about {what},{label}" for word, label in kinds for what in ("dogs", "cats", "nothing")]
    (place / "reviews.csv").write_text("text,label\n" + "\n".join(texts) + "\n")
    patterns = ("a {} film of the year", "the {} story and a {} end", "it is {} , truly {}")
    lines = []
    for number in range(150):
        for label, words in ((0, ("bad", "awful", "poor")), (1, ("good", "great", "nice"))):
            picked = [words[(number + i) % 3] for i in range(2)]
            lines.append(json.dumps({"text": f"{patterns[number % 3].format(*picked)} {number}", "label": label}))
    (place / "words.jsonl").write_text("\n".join(lines) + "\n")
    who, does, what = ("cat", "dog", "bird", "man"), ("sees", "likes", "eats"), ("fish", "tree", "house", "bread")
    made = [f"the {a} {b} the {c}." for a, b, c in product(who, does, what)]
    (place / "small.txt").write_text("\n".join(made) + "\n")
    (place / "small.csv").write_text("text,label\n" + "\n".join(f"{s},{int('eats' in s)}" for s in made[:12]) + "\n")
    (place / "texts.txt").write_text("\n".join(f"the cat saw bird number {n % 7} and bird {n}" for n in range(40)))
    subjects = [
        f"{the}{old}{who}" for the, old, who in product(("a ", "the "), ("", "old "), ("dog", "cat", "man", "fish"))
    ]
    english = [
        f"{a} {b} {c}."
        for a, b, c in product(subjects, ("runs", "sleeps", "sees", "eats"), ("here", "the fish", "a dog"))
    ]
    scope: dict[str, Any] = {}
    exec(compile(MODEL, "toymodel", "exec"), scope)
    pairs = [f"{source}\t{target}" for source, target in zip(english, scope["translate"](english), strict=True)]
    (place / "pairs.tsv").write_text("src\ttgt\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 3
    images = np.zeros((400, 28, 28), np.float32)
    for image, label in zip(images, labels, strict=True):
        image[:, 4 + 8 * label : 9 + 8 * label] = 0.5 + 0.5 * rng.random()
    images = np.clip(images + rng.normal(0, 0.05, images.shape), 0, 1)
    cut = {"train": slice(0, 300), "test": slice(300, 400)}
    arrays = {
        f"{kind}_{part}": (images if kind == "x" else labels)[where] for part, where in cut.items() for kind in "xy"
    }
    np.savez(place / "bars.npz", **{n: (a * 255).astype(np.uint8) if n[0] == "x" else a for n, a in arrays.items()})


def answer(place: Path) -> None:
    """Write answers for `humans import`: each rater takes the first choice of each task."""
    tasks = place / "tasks.json"
    if tasks.is_file():
        answers = [
            {"task": t["task"], "rater": t["rater"], "answer": t["choices"][0]} for t in json.loads(tasks.read_text())
        ]
        (place / "answers.json").write_text(json.dumps(answers))


def call(place: Path, words: Sequence[str], said: Path) -> int:
    """Run a command in a fork, which has the libraries loaded; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        os.chdir(place)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(said.with_suffix(f".{name}"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        sys.path[0] = str(place)
        sys.argv = ["malaprop", *words]
        from malaprop.cli.main import main

        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each help page, and the words of its command line."""
    import typer

    from malaprop.cli.main import app

    def below(command: Any, words: list[str]) -> Iterator[tuple[str, list[str]]]:
        yield "-".join(words) or "malaprop", [*words, "--help"]
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            yield from below(inner, [*words, name])

    yield from below(typer.main.get_command(app), [])


def tidy(value: Any, place: str) -> Any:
    """Return a value without times, dates, versions and the folder; nan and inf become strings."""
    if isinstance(value, dict):
        return {name: tidy(inner, place) for name, inner in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [tidy(inner, place) for inner in value]
    if isinstance(value, str):
        return plain(value, place)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def is_noise(name: Path, key: str | None = None) -> bool:
    """Return whether a kept file, or one of its keys, differs between two runs of one code."""
    return any(key == noisy and fnmatch(name.as_posix(), pattern) for pattern, noisy in _NOISE)


def without_noise(name: Path, value: Any) -> Any:
    """Return the value of a kept file without the keys that differ between two runs of one code."""
    return {key: inner for key, inner in value.items() if not is_noise(name, key)} if isinstance(value, dict) else value


def plain(text: str, place: str) -> str:
    """Return a text without times, dates and the path of the work folder."""
    return _DATE.sub("DATE", _TIMED.sub(r"N\3", _SECONDS.sub(r"\1 N", text.replace(place, "."))))


def _rows(path: Path, place: str) -> list[Any]:
    """Return the rows of a JSON lines file, sorted by id, without times."""
    rows = [tidy(json.loads(line), place) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return sorted(rows, key=lambda row: str(row.get("id", "")) if isinstance(row, dict) else "")


_READ: dict[str, Callable[[Path, str], Any]] = {
    ".json": lambda path, place: tidy(json.loads(path.read_text(encoding="utf-8")), place),
    ".jsonl": _rows,
    ".toml": lambda path, place: tidy(tomllib.loads(path.read_text(encoding="utf-8")), place),
    ".csv": lambda path, _: path.read_text(encoding="utf-8").splitlines(),
    ".safetensors": lambda path, _: hashlib.sha256(path.read_bytes()).hexdigest(),
    ".npz": lambda path, _: hashlib.sha256(path.read_bytes()).hexdigest(),
}


def keep(step: Step, before: dict[Path, int], place: Path, out: Path, code: int, said: Path) -> None:
    """Store the output of a step and each file that it wrote or changed."""
    folder = out / step.name
    folder.mkdir(parents=True, exist_ok=True)
    output, errors = (said.with_suffix(end).read_text(encoding="utf-8", errors="replace") for end in (".out", ".err"))
    lines = output.splitlines()
    if code == 0 and step.json and lines:
        write(out, Path(step.name, "json.json"), tidy(json.loads(lines.pop()), str(place)))
    printed = [line.rstrip() for line in (f"exit {code}", *lines, *(errors.splitlines() if code else ()))]
    (folder / "said.txt").write_text(plain("\n".join(printed) + "\n", str(place)), encoding="utf-8")
    for path, stamp in stamps(place).items():
        if before.get(path) != stamp and path.suffix in _READ:
            name = Path(step.name, "files", f"{path.relative_to(place)}.json")
            write(out, name, _READ[path.suffix](path, str(place)))


def write(out: Path, name: Path, value: Any) -> None:
    """Write a value as JSON without noise; write nothing for a file that is noise."""
    if is_noise(name):
        return
    path, value = out / name, without_noise(name, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def stamps(place: Path) -> dict[Path, int]:
    """Return the time of change of each file in the work folder, in nanoseconds; the cache is left out."""
    return {
        path: path.stat().st_mtime_ns
        for path in sorted(place.rglob("*"))
        if path.is_file() and "cache" not in path.relative_to(place).parts[:1]
    }


def choose(only: str, long: bool) -> list[Step]:
    """Return the steps whose names begin with those in `only`, and the steps they need, in order; without names all.

    Steps that take half a minute are among all steps only if `long` is set.
    """
    asked = [name for name in only.split(",") if name]
    names = {s.name for s in STEPS if any(s.name == a or s.name.startswith(f"{a}-") for a in asked)}
    names = names or {step.name for step in STEPS if long or not step.long}
    for step in reversed(STEPS):
        if step.name in names:
            names.update(step.after)
    return [step for step in STEPS if step.name in names]


def settle(place: Path) -> None:
    """Create the work folder: data, victims, and an empty cache that links the assets of the user's cache."""
    os.environ.update(OMP_NUM_THREADS="1", MALAPROP_OFFLINE="1", COLUMNS="120", NO_COLOR="1")
    cache = Path(os.environ.get("MALAPROP_CACHE") or Path.home() / ".cache" / "malaprop").resolve()
    (place / "cache").mkdir(parents=True)
    if (cache / "assets").is_dir():
        (place / "cache" / "assets").symlink_to(cache / "assets")
    os.environ["MALAPROP_CACHE"] = str(place / "cache")
    furnish(place)


def keep_help(place: Path, out: Path, said: Path) -> None:
    """Store each help page."""
    for name, words in pages():
        call(place, words, said)
        target = out / "help" / f"{name}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(said.with_suffix(".out"), target)


def make(place: Path, out: Path, steps: Sequence[Step], also: Sequence[str], *, help: bool) -> int:
    """Run the steps in the work folder; return 1 if one of them ended with an unexpected exit code."""
    settle(place)
    import torch

    import malaprop.cli.main

    torch.set_num_threads(1)
    print(f"commands of {Path(malaprop.__file__).parent}")
    said, failed = place / "cache" / "said", 0
    if help:
        keep_help(place, out, said)
    for step in steps:
        before, begun = stamps(place), time.perf_counter()
        code = call(place, [*shlex.split(step.words), *(("--json",) if step.json else ()), *also], said)
        shutil.rmtree(out / step.name, ignore_errors=True)
        keep(step, before, place, out, code, said)
        answer(place)
        odd = code != (2 if step.name.startswith("refused") else 0)
        failed += odd
        last = (said.with_suffix(".err").read_text(errors="replace").splitlines() or [""])[-1]
        took = f"{time.perf_counter() - begun:5.1f} s"
        print(f"{step.name:22} exit {code}  {took}{f'  {last}' if odd else ''}", flush=True)
    print(f"{failed} commands ended with an unexpected exit code" if failed else "all exit codes are as expected")
    return int(failed > 0)


def differences(old: Any, new: Any, where: str = "") -> Iterator[tuple[bool, str]]:
    """Yield a line for each difference, and whether it is a fault; a new key is not a fault."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            at = f"{where}.{name}" if where else name
            if name not in new:
                yield True, f"{at} is gone (was {_short(old[name])})"
            elif name not in old:
                yield False, f"{at} is new ({_short(new[name])})"
            else:
                yield from differences(old[name], new[name], at)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield True, f"{where}: {len(old)} entries became {len(new)}"
        for number, (one, two) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, two, f"{where}[{number}]")
    elif old != new:
        yield True, f"{where}: {_short(old)} became {_short(new)}"


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def compare(one: Path, two: Path) -> int:
    """Print the differences of two folders of records; return 1 if a file changed or is gone."""
    faults = grown = 0
    names = [{p.relative_to(root) for p in root.rglob("*") if p.is_file()} for root in (one, two)]
    made = {path.parts[0] for path in names[0]} & {path.parts[0] for path in names[1]}  # the steps that both have
    for name in sorted(names[0] | names[1]):
        if name.parts[0] not in made or is_noise(name):
            continue
        if name not in names[1] or name not in names[0]:
            gone = name not in names[1]
            faults, grown = faults + gone, grown + (not gone)
            print(f"{name}: {'is gone' if gone else 'is new'}")
            continue
        old, new = ((root / name).read_text(encoding="utf-8") for root in (one, two))
        if old == new:
            continue
        if name.suffix == ".json":
            found = list(differences(*(without_noise(name, json.loads(text)) for text in (old, new))))
            if not found:
                continue
        else:
            lines = list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
            found = [(True, line) for line in lines if not line.startswith("@@")]
        faults, grown = faults + any(bad for bad, _ in found), grown + any(not bad for bad, _ in found)
        print(f"{name}: {len(found)} differences")
        for _, line in found[:_SHOWN]:
            print(f"    {line}")
        if len(found) > _SHOWN:
            print(f"    and {len(found) - _SHOWN} more")
    apart = {path.parts[0] for path in names[0] ^ names[1]} - made
    if apart:
        print(f"only one folder has: {', '.join(sorted(apart))}")
    print(f"{len(made)} commands compared: {faults} files changed or gone, {grown} grown")
    return int(faults > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="what", required=True)
    making = parts.add_parser("make", help="run the commands and store their output and files")
    making.add_argument("out", type=Path)
    making.add_argument("--only", default="", help="steps, by name or by its beginning, separated by commas")
    making.add_argument("--also", default="", help="options to add to every command")
    making.add_argument("--long", action="store_true", help="run also the four steps that take half a minute each")
    making.add_argument("--work", type=Path, help="a new folder to work in, which stays")
    comparing = parts.add_parser("compare", help="show the differences between two folders that make wrote")
    comparing.add_argument("one", type=Path)
    comparing.add_argument("two", type=Path)
    asked = parser.parse_args()
    if asked.what == "make":
        steps, also = choose(asked.only, asked.long), shlex.split(asked.also)
        with tempfile.TemporaryDirectory(prefix="golden") as held:
            place = (asked.work or Path(held) / "work").resolve()
            return make(place, asked.out.resolve(), steps, also, help=not asked.only)
    return compare(asked.one, asked.two)


if __name__ == "__main__":
    sys.exit(main())
