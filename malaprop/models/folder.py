"""The folder of a model: names of its files, and the fingerprint that tells it from others."""

from __future__ import annotations

import os
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
