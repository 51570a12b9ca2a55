"""Write our word vectors to the folder where TextAttack reads its own: all tools propose the same candidates."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import DataError
from malaprop.core.text import word_pattern

FOLDER = Path("word_embeddings") / "paragramcf"
INSTALLED = "post_install_check_3"


def export(words: Sequence[str], matrix: NDArray[np.floating], near: NDArray[np.integer], cache: Path) -> Path:
    """Write vectors [word, dim] and neighbours [word, k], nearest first, below the peer's cache folder.

    The peer expects each word as its own first neighbour, and reads the word list and two empty stores of distances as
    pickles. They are written for it alone; nothing here reads one. A neighbour that is not a word (a comma, a bracket)
    is replaced by the word itself, which is never a candidate: the peer's genetic search fails on it.
    """
    if len(matrix) != len(words) or len(near) != len(words):
        raise DataError(
            f"{len(words)} words need as many vectors and neighbour rows, got {len(matrix)} and {len(near)}"
        )
    if len(near) and (near.min() < 0 or near.max() >= len(words)):
        raise DataError(f"neighbours must be numbers from 0 to {len(words) - 1}, got {near.min()} to {near.max()}")
    own = np.arange(len(words))[:, None]
    is_word = np.asarray([word_pattern().fullmatch(word) is not None for word in words], np.bool_)
    table = np.concatenate([own, np.where(is_word[near], near, own)], axis=1).astype(np.int64)
    out = cache / FOLDER
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "paragram.npy", np.asarray(matrix, np.float32))
    np.save(out / "nn.npy", table)
    (out / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    index = {word: number for number, word in enumerate(words)}
    for name, value in (
        ("wordlist.pickle", index),
        ("mse_dist.p", defaultdict(dict)),
        ("cos_sim.p", defaultdict(dict)),
    ):
        (out / name).write_bytes(pickle.dumps(value))
    return out


def mark_installed(cache: Path) -> None:
    """Mark the cache as complete, so that the peer does not start its post-install downloads."""
    cache.mkdir(parents=True, exist_ok=True)
    (cache / INSTALLED).touch()
