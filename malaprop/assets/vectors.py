"""Word vectors and the nearest words of each word, found by blocked matrix products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import store, vectorfiles
from malaprop.assets.folders import appearing, locked, writing
from malaprop.core.errors import SettingError
from malaprop.core.text import word_pattern

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
MOST = 50  # neighbours kept of each word
WIDE = 100  # neighbours of each word in the wider table, for recipes that filter most of them out
_ROWS, _COLUMNS = 256, 8192  # of one matrix product: 8 MB, which stays in the processor's cache
_SAMPLE = 2048  # columns from which a row's bar is taken


def nearest(matrix: Floats, k: int = MOST) -> tuple[Ints, NDArray[np.float16]]:
    """Return for each unit vector the k others of highest cosine; ties go to the lower number.

    A spread sample of the columns gives each row a bar that about 3k cosines pass; only those are sorted. The bar is
    lowered for a row where fewer than k pass, so it changes the time alone.
    """
    many = len(matrix)
    k = min(k, many - 1)
    table, cosines = np.zeros((many, k), np.int32), np.zeros((many, k), np.float16)
    sample = matrix[:: max(1, many // _SAMPLE)]
    place = max(0, len(sample) - 2 - 3 * k * len(sample) // many)  # one more down: a row may be in its own sample
    for start in range(0, many if k > 0 else 0, _ROWS):
        rows = np.arange(start, min(start + _ROWS, many))
        bar = np.partition(matrix[rows] @ sample.T, place, axis=1)[:, place]
        while True:
            at, columns, values = passing(matrix, rows, bar)
            short = np.bincount(at, minlength=len(rows)) < k
            if not short.any():
                break
            bar = np.where(short, np.float32(-2), bar)
        order = np.lexsort((columns, -values, at))
        first = np.searchsorted(at[order], np.arange(len(rows)))
        best = order[first[:, None] + np.arange(k)]
        table[rows], cosines[rows] = columns[best], values[best]
    return table, cosines


def passing(
    matrix: Floats, rows: NDArray[np.int64], bar: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Find the vectors whose cosine reaches the row's bar: place among `rows`, number of the vector, cosine."""
    ats, columns, values = [], [], []
    for start in range(0, len(matrix), _COLUMNS):
        block = matrix[rows] @ matrix[start : start + _COLUMNS].T
        at, column = np.divmod(np.flatnonzero(block >= bar[:, None]), block.shape[1])
        other = rows[at] != column + start
        ats.append(at[other])
        columns.append(column[other] + start)
        values.append(block[at[other], column[other]])
    return np.concatenate(ats), np.concatenate(columns), np.concatenate(values)


class Vectors:
    """Words and their vectors, each of length one; `lengths` has what they were before."""

    __slots__ = ("index", "lengths", "matrix", "words")

    def __init__(self, words: Sequence[str], matrix: NDArray[np.floating]) -> None:
        raw = matrix.astype(np.float32)
        self.words = list(words)
        self.index = dict(zip(self.words, range(len(self.words)), strict=True))
        self.lengths: Floats = np.sqrt(np.einsum("nd,nd->n", raw, raw))
        self.matrix: Floats = raw
        self.matrix /= np.maximum(self.lengths, np.float32(1e-12))[:, None]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    def ids(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each word, else of its lower-case form; -1 where there is none."""
        get = self.index.get
        return np.fromiter((get(w, get(w.lower(), -1)) for w in words), np.int64)

    def cosine(self, word: str, others: Sequence[str]) -> Floats:
        """Return the cosine of each of the others with the word, -1 to 1; nan where one of the two is unknown."""
        rows, here = self.ids(others), int(self.ids([word])[0])
        if here < 0:
            return np.full(len(others), np.nan, np.float32)
        near = self.matrix[rows] @ self.matrix[here]
        return np.where(rows < 0, np.float32("nan"), near).astype(np.float32)

    def raw(self, words: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return vectors of their own lengths, to start an embedding from, 0 for unknown words; flag known words."""
        rows = self.ids(words)
        known = rows >= 0
        table = self.matrix[rows] * self.lengths[rows, None]
        table[~known] = 0
        return table, known


class Neighbours:
    """A table of neighbours: `table` [word, k] of word numbers, nearest first, and their `cosines`."""

    def __init__(self, vectors: Vectors, table: Ints, cosines: NDArray[np.float16], k: int = MOST) -> None:
        self.vectors, self.table, self.cosines, self.k = vectors, table, cosines, min(k, table.shape[1])

    @property
    def words(self) -> list[str]:
        return self.vectors.words

    @property
    def index(self) -> dict[str, int]:
        return self.vectors.index

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Return the place [word] of each word when all words are sorted by string."""
        words = self.vectors.words
        out = np.empty(len(words), np.int64)
        out[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
        return out

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Flag the words [word] that can fill a slot; punctuation, and numbers with punctuation, cannot."""
        fits = word_pattern().fullmatch
        return np.fromiter((fits(word) is not None for word in self.vectors.words), np.bool_, len(self.vectors))

    @cached_property
    def parts(self) -> NDArray[np.uint8]:
        """Return the usual parts of speech [word] of each word, as bits (see `malaprop.assets.wordnet`)."""
        from malaprop.assets.wordnet import open_wordnet

        return np.fromiter(map(open_wordnet().usual, self.vectors.words), np.uint8, len(self.vectors))

    def of(self, word: str) -> tuple[tuple[str, ...], Floats]:
        """Return the nearest words, nearest first and without the word itself, with cosines; empty if it is unknown."""
        row = self.vectors.index.get(word)
        if row is None:
            return (), np.empty(0, np.float32)
        words = self.vectors.words
        return tuple(words[i] for i in self.table[row, : self.k].tolist()), self.cosines[row, : self.k].astype(
            np.float32
        )


@cache
def open_vectors(name: str = "glove") -> Vectors:
    """Open the vectors of an asset (`glove`, `glove-100d`, `counter-fitted`) or of a file, read once a process."""
    if name in store.entries():
        return Vectors(*vectorfiles.load(store.locate(name)))
    return read_vectors(Path(name))


def read_vectors(path: Path) -> Vectors:
    """Read vectors: `word number ...` lines (.txt, .vec, also .gz or .bz2), or .npz with `words` and `vectors`."""
    return Vectors(*vectorfiles.read(path))


@cache
def open_neighbours(name: str = "counter-fitted", k: int = MOST) -> Neighbours:
    """Open the neighbours of an asset's words, 50 of each, or 100 if k is above 50; build a missing table."""
    if not 1 <= k <= WIDE:
        raise SettingError(f"the table of neighbours holds 1 to {WIDE} a word, got k={k}")
    folder = store.locate(name)
    vectors = open_vectors(name)
    if k > MOST or not (folder / "neighbours.npy").is_file():
        folder = _build_neighbours(name, folder, WIDE if k > MOST else MOST)
        vectors = Vectors(*vectorfiles.load(folder))
    table, cosines = (np.load(folder / f"{part}.npy", allow_pickle=False) for part in ("neighbours", "cosines"))
    return Neighbours(vectors, table, cosines, k)


def _build_neighbours(name: str, source: Path, k: int, most: int = 60_000) -> Path:
    """Return the folder of the neighbours among an asset's first words, built in the cache where it is missing."""
    own = "" if k == MOST else f"-{k}"
    target = store.cache_root() / "neighbours" / f"{name}{own}-{store.key(name)}"
    with writing(f"the neighbours of {name}"), locked(f"neighbours-{name}{own}"):
        if not target.is_dir():
            words, matrix = vectorfiles.load(source)
            with appearing(target) as folder:
                keep(folder, words[:most], matrix[:most], k)
    return target


def keep(folder: Path, words: Sequence[str], matrix: NDArray[np.floating], k: int = MOST) -> None:
    """Store vectors, scaled to length one, with their neighbours, which the rounded vectors on disk decide."""
    vectorfiles.save(folder, words, Vectors(words, matrix).matrix)
    table, cosines = nearest(Vectors(*vectorfiles.load(folder)).matrix, k)
    np.save(folder / "neighbours.npy", table, allow_pickle=False)
    np.save(folder / "cosines.npy", cosines, allow_pickle=False)
