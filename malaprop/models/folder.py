"""The folder of a model: names of its files, its fingerprint, and transformers without its reports while it is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path

WEIGHTS, VOCAB = "model.safetensors", "vocab.txt"
FINE_TUNED = {"BERT": "bert", "RoBERTa": "roberta", "ALBERT": "albert", "MPNet": "mpnet"}  # ours to the library's kinds


def fingerprint(folder: Path, more: str = "") -> str:
    """Return sixteen hex digits of the weights, of the files that say how to read them, and of what `more` says."""
    digest = sha256()
    for name in (WEIGHTS, VOCAB, "tokenizer.json", "config.json"):
        if (path := folder / name).is_file():
            digest.update(f"{name}:{os.stat(path).st_size}:".encode())
            with path.open("rb") as stream:
                digest.update(file_digest(stream, sha256).digest())
    digest.update(more.encode())
    return digest.hexdigest()[:16]


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and reports of transformers within the block, and restore its settings behind it."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
