"""Word vectors that a model of the zoo starts from: packaged, given as a file, or trained on its own texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import store, vectorfiles
from malaprop.assets.download import say
from malaprop.assets.folders import appearing, locked, writing
from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.models.tokens.vocab import SPECIAL, UNKNOWN, tokens
from malaprop.training.splits import Labelled, Splits

Floats = NDArray[np.float32]
TRAINED = {"W2vec": "word2vec", "fastText": "fastText"}  # as in a name, and as their authors call them
_FASTTEXT = 793_712_314  # the number that a fastText model file begins with


class StartVectors(NamedTuple):
    """Vectors for words: `table` has zeros where a word is not `known`; `about` says where they come from."""

    table: Floats
    known: NDArray[np.bool_]
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipGram:
    """The settings of gensim: skip-gram with negative sampling, one thread, so that a seed decides the vectors."""

    dim: int = 100
    window: int = 5
    negative: int = 5
    epochs: int = 5
    rate: float = 0.025
    rows: int = 200_000  # of fastText's table of character n-grams
    seed: int = 0


def starting(kind: str, words: Sequence[str], data: Splits, given: Path | None = None) -> StartVectors:
    """Return vectors for the words of a vocabulary: `GloVe`, `W2vec` or `fastText`."""
    if given is not None or kind == "GloVe":
        return read_start(words, given)
    held, matrix = vectorfiles.load(find_or_train_vectors(kind, data))
    about = (
        f"Word vectors: {TRAINED[kind]}, a stand-in for the published ones: trained with gensim on the training texts "
        f"of {data.name} and WikiText-2, {matrix.shape[1]} dimensions."
    )
    return _chosen(words, held, matrix, about)


def read_start(words: Sequence[str], given: Path | None = None) -> StartVectors:
    """Read vectors for the words of a vocabulary from a file; without one from the packaged GloVe."""
    from malaprop.assets.vectors import open_vectors

    if given is not None:
        held, matrix = read_file(given)
        return _chosen(words, held, matrix, f"Word vectors: {given.name}, {len(held):,} words, as given.")
    vectors = open_vectors("glove")
    table, known = vectors.raw(words)
    return StartVectors(table, known, f"Word vectors: the packaged GloVe, {vectors.dim} dimensions.")


def _chosen(words: Sequence[str], held: Sequence[str], matrix: NDArray[np.floating], about: str) -> StartVectors:
    index = {word: row for row, word in reversed(list(enumerate(held)))}
    rows = np.fromiter((index.get(word, -1) for word in words), np.int64, len(words))
    table = matrix[rows].astype(np.float32)
    table[rows < 0] = 0
    return StartVectors(table, rows >= 0, about)


def find_or_train_vectors(kind: str, data: Splits, settings: SkipGram | None = None) -> Path:
    """Return the cached vectors of these texts; train them, announced in a line, where there are none."""
    how = settings or SkipGram()
    folder = home(kind, data, how)
    if not (folder / "vectors.npy").is_file():
        _need_gensim(kind, data)
        with writing(f"{kind} vectors"), locked(folder.name):
            if not (folder / "vectors.npy").is_file():
                say(f"training {TRAINED[kind]} vectors on {data.name} and WikiText-2 (once; kept in the cache)")
                with appearing(folder) as made:
                    vectorfiles.save(made, *_train(kind, data, how))
    return folder


def home(kind: str, data: Splits, settings: SkipGram | None = None) -> Path:
    """Return the folder of trained vectors; its name holds all that decides them."""
    recipe = [1, kind, asdict(settings or SkipGram()), data.fingerprint, store.key("wikitext")]
    recipe += [data.added.about] if data.added else []
    digest = sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in data.name)[:40]
    return store.cache_root() / "vectors" / f"{kind}-{plain}-{digest}"


def _need_gensim(kind: str, data: Splits) -> None:
    if find_spec("gensim") is None:
        raise AssetError(
            f"{kind} vectors for {data.name} are not in the cache and gensim, which trains them, is not installed; "
            "install malaprop[vectors], or give published ones with --vectors PATH"
        )


class _Texts:
    """Sentences as gensim reads them, several times over: the training texts, then WikiText's."""

    def __init__(self, data: Splits) -> None:
        from malaprop.zoo.pretrain.texts import corpus

        self.own = [tokens(value) for example in data.train for value in example.fields.values()]
        self.more = [tokens(text) for text in corpus("wikitext", _never).train]

    def __iter__(self) -> Iterator[list[str]]:
        yield from self.own
        yield from self.more


def _never(spec: str, *, split: str) -> Labelled:
    raise AssertionError(f"WikiText is no dataset: {spec}, {split}")


def _train(kind: str, data: Splits, how: SkipGram) -> tuple[list[str], Floats]:
    """Train vectors and return those of words in the training texts; words of WikiText alone are dropped."""
    gensim: Any = import_module("gensim.models")
    texts = _Texts(data)
    common = {
        "sentences": texts,
        "vector_size": how.dim,
        "window": how.window,
        "negative": how.negative,
        "epochs": how.epochs,
        "alpha": how.rate,
        "min_count": 1,
        "sg": 1,
        "workers": 1,
        "seed": how.seed,
    }
    model = gensim.FastText(**common, bucket=how.rows) if kind == "fastText" else gensim.Word2Vec(**common)
    kept = sorted({token for row in texts.own for token in row} - {*SPECIAL, UNKNOWN})
    return kept, np.stack([model.wv[word] for word in kept]).astype(np.float32)


def read_file(path: Path) -> tuple[list[str], NDArray[np.floating]]:
    """Read a published file: word2vec's `.bin`, or text (`.vec`, `.txt`, also packed) and `.npz`."""
    if path.suffix.lower() == ".bin":
        return _read_bin(path)
    return vectorfiles.read(path)


def _read_bin(path: Path) -> tuple[list[str], Floats]:
    """Read word2vec's binary format: two counts in a line, then for each word its name, a blank and its floats."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; --vectors takes a file") from None
    if int.from_bytes(data[:4], "little") == _FASTTEXT:
        raise DataError(f"{path} is a fastText model, of which only the .vec file is read; give that one")
    head, _, rest = data.partition(b"\n")
    counts = head.split()
    if len(counts) != 2 or not all(count.isdigit() for count in counts):
        raise DataError(f"{path} is not a word2vec .bin: expected two counts in its first line")
    many, dim = map(int, counts)
    words: list[str] = []
    matrix = np.empty((many, dim), np.float32) if many * dim * 4 <= len(rest) else None
    at = 0
    for row in range(many if matrix is not None and dim else 0):
        end = rest.find(b" ", at)
        if end < 0 or end + 1 + 4 * dim > len(rest):
            break
        words.append(rest[at:end].lstrip(b"\n").decode("utf-8", "replace"))
        matrix[row] = np.frombuffer(rest, "<f4", dim, end + 1)  # type: ignore[index]
        at = end + 1 + 4 * dim
    if matrix is None or not dim or len(words) < many:
        raise DataError(f"{path} is cut short: it says {many} vectors of {dim} numbers and holds {len(words)}")
    return words, matrix


def check_width(start: StartVectors, dim: int, name: str) -> StartVectors:
    """Return the vectors; raise where their width is not the network's `dim`."""
    if start.table.shape[1] != dim:
        raise SettingError(
            f"{name} should have {dim} dimensions, but its vectors have {start.table.shape[1]}; leave dim out, or "
            "give vectors of that width"
        )
    return start
