"""Where pre-trained encoders lie."""

from __future__ import annotations

from pathlib import Path

from malaprop.assets import store
from malaprop.training.card import ROLES, holds

CARD = ROLES["encoder"].file


def home(kind: str) -> Path:
    """Where an encoder of a kind lies when no folder is named."""
    return store.cache_root() / "pretrained" / kind


def found(kind: str) -> Path | None:
    """The encoder of a kind that was pre-trained last without naming a folder, if any."""
    folder = home(kind)
    return folder if holds(folder, "encoder") else None
