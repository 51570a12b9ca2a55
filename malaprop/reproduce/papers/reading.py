"""Records of a step, or one line on what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from malaprop.core.errors import RecordError

Made = TypeVar("Made")


def need(read: Callable[[Path], Made | None], folder: Path) -> Made:
    """The record of a folder."""
    found = read(folder)
    if found is None:
        raise RecordError(f"{folder} holds no record of it; run malaprop reproduce without --read")
    return found


def values(path: Path) -> dict[str, Any]:
    """A JSON object that a command wrote."""
    try:
        found = json.loads(path.read_text(encoding="utf-8").strip().splitlines()[-1])
    except (OSError, ValueError, IndexError) as error:
        raise RecordError(f"{path} cannot be read ({str(error)[:80] or type(error).__name__}); run it again") from None
    if not isinstance(found, dict):
        raise RecordError(f"{path} holds no JSON object; run it again")
    return found


def whole(path: Path) -> dict[str, Any]:
    """A JSON object that fills a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{path} cannot be read ({str(error)[:80] or type(error).__name__}); run it again") from None
    if not isinstance(found, dict):
        raise RecordError(f"{path} holds no JSON object; run it again")
    return found
