"""Restores what pack.py made: `python tools/fullsize/unpack.py IN TARGET`; needs numpy and safetensors alone.

TARGET then holds data (MALAPROP_DATA), cache (MALAPROP_CACHE) and site, the packages that this Python lacks. Archives
of which a piece is missing are named and left out: call it again when the piece has come.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import io
import json
import os
import shutil
import struct
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import rows

CONTENTS, PACKED = "payload.json", "rows.bin"
GLOVE = "glove.6B.100d.top81k.float16.npz"
PARTS = {"train": slice(0, 60_000), "t10k": slice(60_000, None)}  # of MNIST, as its files are called
_STAMP = 1_700_000_000  # one time for all files: names in the cache hang on it


def _zip(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, 1, mtime=0))


def _restore_model(folder: Path, tensors: rows.Tensors) -> None:
    from safetensors.numpy import save_file

    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def _restore_images(folder: Path) -> None:
    """Restore MNIST from bytes of two pixels in 16 greys each, followed by the labels."""
    raw = np.frombuffer((folder / "greys.bin").read_bytes(), np.uint8)
    many = len(raw) // (28 * 14 + 1)
    pairs, labels = raw[: many * 28 * 14].reshape(many, 28, 14), raw[many * 28 * 14 :]
    images = np.stack([pairs >> 4, pairs & 15], -1).reshape(many, 28, 28) * np.uint8(17)
    for name, part in PARTS.items():
        some, marks = images[part], labels[part]
        _zip(folder / f"{name}-images-idx3-ubyte.gz", struct.pack(">4I", 2051, len(some), 28, 28) + some.tobytes())
        _zip(folder / f"{name}-labels-idx1-ubyte.gz", struct.pack(">2I", 2049, len(marks)) + marks.tobytes())
    (folder / "greys.bin").unlink()


def _restore_wordnet(folder: Path) -> None:
    with zipfile.ZipFile(folder.parent / "wordnet.zip", "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, f"wordnet/{path.name}")
    shutil.rmtree(folder)


def _take_packages(folder: Path) -> None:
    """Put the packages that this Python lacks into `site`; packages that it has stay in use."""
    site = folder / "site"
    for package in sorted((folder / "packages").glob("*")):
        tops = [one for one in package.iterdir() if one.is_dir() or one.suffix == ".py"]
        names = [one.name.removesuffix(".py") for one in tops if "-" not in one.name and "." not in one.stem]
        if any(importlib.util.find_spec(name) is None for name in names):
            shutil.copytree(package, site, dirs_exist_ok=True)
    shutil.rmtree(folder / "packages", ignore_errors=True)


def restore(folder: Path) -> None:
    """Convert the files of an archive to the form that malaprop reads."""
    for path in sorted(folder.rglob("*.jsonl")):
        _zip(path.with_name(f"{path.name}.gz"), path.read_bytes())
        path.unlink()
    for path in sorted(folder.rglob(PACKED)):
        tensors, home = rows.decode(path.read_bytes()), path.parent
        path.unlink()
        if home.name == "glove":
            np.savez(home / GLOVE, vectors=tensors["vectors"])
            _zip(home / "vocab.txt.gz", (home / "vocab.txt").read_bytes())
            (home / "vocab.txt").unlink()
        elif home.parent.name == "vectors":
            np.save(home / "vectors.npy", tensors["vectors"])
        else:
            _restore_model(home, tensors)
    if (images := folder / "data" / "mnist").is_dir():
        _restore_images(images)
    if (words := folder / "data" / "nltk_data" / "corpora" / "wordnet").is_dir():
        _restore_wordnet(words)
    _take_packages(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (_STAMP, _STAMP))
    for path in folder.glob("cache/assets/*/asset.json"):
        _note_times(path)


def _note_times(path: Path) -> None:
    """Note in an asset's list of files that they are of this time, so that they are not hashed at each use."""
    listed = json.loads(path.read_text(encoding="utf-8"))
    for noted in listed["files"].values():
        noted["time"] = _STAMP * 10**9
    path.write_text(json.dumps(listed, indent=1), encoding="utf-8")


def join(source: Path, name: str, told: dict[str, object]) -> bytes | None:
    """Join an archive from its pieces; return None if a piece is missing or incomplete."""
    try:
        whole = b"".join((source / f"{name}.{number}").read_bytes() for number in range(int(str(told["pieces"]))))
    except FileNotFoundError:
        return None
    return whole if sha256(whole).hexdigest() == told["sha256"] else None


def unpack(source: Path, target: Path) -> list[str]:
    """Restore each archive once; return the names of those that are not complete yet, or wait for another."""
    missing = []
    contents = json.loads((source / CONTENTS).read_text(encoding="utf-8")).items()
    for name, told in sorted(contents, key=lambda pair: "after" in pair[1]):
        mark = target / f"{name}.json"
        if mark.is_file() and json.loads(mark.read_text(encoding="utf-8")) == told:
            continue
        waits = "after" in told and not (target / f"{told['after']}.json").is_file()
        if waits or (whole := join(source, name, told)) is None:
            missing.append(name)
            continue
        part = target / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
            tar.extractall(part, filter="data")
        restore(part)
        for path in sorted(one for one in part.rglob("*") if one.is_file()):
            place = target / path.relative_to(part)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
        shutil.rmtree(part)
        mark.write_text(json.dumps(told), encoding="utf-8")
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("target", type=Path, metavar="TARGET")
    asked = parser.parse_args()
    missing = unpack(asked.source, asked.target)
    for name in missing:
        print(f"{name}: not all pieces are there; call this again when they are")
    return int("base" in missing)


if __name__ == "__main__":
    sys.exit(main())
