"""Files of word vectors: text in, arrays out; half precision on disk for fast loading."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.archives import Members
from malaprop.core.errors import DataError

Floats = NDArray[np.float32]
Table = tuple[list[str], NDArray[np.floating]]


def load(folder: Path) -> Table:
    """Read words and vectors that `save` has written."""
    words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")
    return words, np.load(folder / "vectors.npy", allow_pickle=False)


def save(folder: Path, words: Sequence[str], matrix: NDArray[np.floating]) -> None:
    """Write words and vectors, in half precision: cosines move by less than 0.001 and the file is half as long."""
    (folder / "words.txt").write_text("\n".join(words), encoding="utf-8")
    np.save(folder / "vectors.npy", matrix.astype(np.float16), allow_pickle=False)


def read(path: Path) -> Table:
    """Read vectors: `word number ...` lines (.txt, .vec, also .gz or .bz2), or .npz with `words` and `vectors`."""
    if not path.is_file():
        raise DataError(f"no file of word vectors at {path}; give a .txt, .vec or .npz file, or the name of an asset")
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as held:
                return [str(w) for w in held["words"]], held["vectors"]
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is not an .npz with `words` and `vectors` as plain arrays: {error}") from None
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else bz2.decompress(data) if path.suffix == ".bz2" else data
    return parse(data.decode("utf-8", "replace"), str(path))


def parse(text: str, where: str) -> Table:
    """Parse `word number ...` lines; a first line of two counts, as in .vec files, is skipped."""
    lines = text.splitlines() if "\r" in text else text.split("\n")
    if lines and len(head := lines[0].split()) == 2 and all(part.isdigit() for part in head):
        lines = lines[1:]
    pairs = [line.rstrip(" ").partition(" ") for line in lines if line.strip()]
    if not pairs:
        raise DataError(f"{where} holds no word vectors")
    width = pairs[0][2].count(" ") + 1
    for number, (word, _, rest) in enumerate(pairs, 1):
        if rest.count(" ") + 1 != width or not rest:
            got = rest.count(" ") + 1 if rest else 0
            raise DataError(f"{where}: vector {number} ({word!r}) has {got} numbers, expected {width} as in the first")
    try:
        flat = np.fromstring(" ".join(rest for _, _, rest in pairs), dtype=np.float32, sep=" ")
        matrix = flat.reshape(len(pairs), width)
    except (ValueError, DeprecationWarning):
        raise DataError(f"{where} holds a cell that is not a number; expected lines of a word and its vector") from None
    return [word for word, _, _ in pairs], matrix


def convert(found: Members, out: Path) -> None:
    """Store GloVe from its text file, from the npm package's JSON, or from a local .npz with its list of words."""
    by_kind = {name.rpartition(".")[2]: opener for name, opener in found.items()}
    if "bz2" in by_kind:
        with by_kind["bz2"]() as stream:
            save(out, *parse(bz2.decompress(stream.read()).decode("utf-8"), "GloVe"))
    elif "json" in by_kind:
        with by_kind["json"]() as stream:
            save(out, *_from_json(stream.read()))
    else:
        with by_kind["npz"]() as packed, by_kind["gz"]() as zipped:
            words = gzip.decompress(zipped.read()).decode("utf-8").split("\n")
            with np.load(io.BytesIO(packed.read()), allow_pickle=False) as held:
                save(out, words[: len(held["vectors"])], held["vectors"])


def _from_json(data: bytes) -> Table:
    held = json.loads(data)
    words: list[str] = held["words"]
    width = int(held["dimensions"])
    return words, np.asarray([held["vectors"][word][:width] for word in words], np.float32)
