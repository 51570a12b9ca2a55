"""The folder of a model: names of its files, its fingerprint, and transformers without its reports while it is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from inspect import signature
from pathlib import Path
from typing import Any

from malaprop.core.errors import VictimError, plain

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


_OFFSET = ("roberta", "camembert", "xlm-roberta")  # kinds whose first two positions are taken
_SPACED = ("roberta", "gpt2", "longformer")  # kinds whose tokenizers tell words by the space before them


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskModel:
    """A model of transformers for one task, with its tokenizer."""

    config: Any
    model: Any
    tokenizer: Any
    most: int  # sub-words that it reads
    inputs: frozenset[str]  # the names of what it reads


def open_task_model(folder: Path, task: str, *, device: str, words: bool = False) -> TaskModel:
    """Open a local folder for a task such as "token classification", without running code that comes with it.

    `words`: texts come as lists of words. Raise `VictimError` on another task's folder.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise VictimError(f"{folder} needs the transformers library; install malaprop[hf]") from None
    name = task.title().replace(" ", "")
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    try:
        with quietly():
            config = transformers.AutoConfig.from_pretrained(folder, **options)
            maker = getattr(transformers, f"AutoModelFor{name}")
            model = maker.from_pretrained(folder, use_safetensors=True, dtype=torch.float32, **options)
            spaced = {"add_prefix_space": True} if words and config.model_type in _SPACED else {}
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True, **spaced, **options)
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        raise VictimError(f"{folder} cannot be loaded as a model of {task}: {plain(error)[:200]}") from None
    if not any(name in one for one in config.architectures or ()):
        named = ", ".join(config.architectures or ()) or "nothing"
        raise VictimError(f"{folder} is no model of {task}: its config.json says {named}")
    if not tokenizer.is_fast:
        raise VictimError(f"{folder} has no fast tokenizer (tokenizer.json), which tells where sub-words stand")
    most = int(getattr(config, "max_position_embeddings", 0) or 512) - 2 * (config.model_type in _OFFSET)
    return TaskModel(
        config=config, model=model.eval().to(device), tokenizer=tokenizer,
        most=min(most, int(min(tokenizer.model_max_length, 10**6))),
        inputs=frozenset(signature(model.forward).parameters),
    )  # fmt: skip
