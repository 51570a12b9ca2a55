"""Weights and tokenizer to start from: a transformers folder or a hub name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from malaprop.assets.folders import offline
from malaprop.core.errors import AssetError
from malaprop.models.folder import quietly
from malaprop.zoo.pretrain import tokenizer as subwords

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILES = (subwords.FILE, subwords.CONFIG, "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt")


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A model and tokenizer to start from; `keep` writes the tokenizer, `name` is None for random weights."""

    model: Any
    tokenizer: Tokenizer
    keep: Callable[[Path], None]
    name: str | None = None

    @property
    def limit(self) -> int:
        """Return the length of the longest row the model reads."""
        config = self.model.config
        before = config.pad_token_id + 1 if config.model_type == "roberta" else 0
        return int(config.max_position_embeddings) - before


def open_start(start: str, kind: str, *, name: str | None = None) -> Start:
    """Open a masked language model of the kind, `bert`, `roberta` or `albert`; a missing head starts at random."""
    folder = Path(start).expanduser()
    local = folder.is_dir()
    if not local and (offline() or "/" not in start.removeprefix("hub:") or start.startswith((".", "/", "~"))):
        raise AssetError(
            f"--start {start} is not a folder; give a transformers folder, or a hub name where one is in reach"
        )
    source = folder if local else start.removeprefix("hub:")
    model = _model(source, local)
    if model.config.model_type != kind:
        raise AssetError(f"{start} is a {model.config.model_type}, not a {kind}; start from one of that kind")
    if local:
        return Start(model, subwords.load(folder), partial(_copy, folder), name or folder.resolve().name)
    tokenizer = _hub_tokenizer(source)
    return Start(model, tokenizer.backend_tokenizer, tokenizer.save_pretrained, name or start)


def _model(source: str | Path, local: bool) -> Any:
    from transformers import AutoModelForMaskedLM

    try:
        with quietly():
            return AutoModelForMaskedLM.from_pretrained(
                source, dtype=torch.float32, local_files_only=local, trust_remote_code=False, use_safetensors=True
            )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise AssetError(f"{source} cannot be read as a masked language model: {reason}") from None


def _hub_tokenizer(source: str | Path) -> Any:
    from transformers import AutoTokenizer

    with quietly():
        found = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    if not getattr(found, "is_fast", False):
        raise AssetError(f"{source} has no fast tokenizer; start from a model that has one")
    return found


def _copy(source: Path, folder: Path) -> None:
    for name in _FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
