"""A finished model is never trained over: the same training finds it done, another one is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from malaprop.core.errors import SettingError
from malaprop.core.settings import first_difference, plain
from malaprop.core.whole_files import write_whole

FILE = "training.json"


def refuse_other(folder: Path, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raises where the finished model in a folder was trained otherwise, naming the first setting that differs."""
    made, held = (json.loads(json.dumps(plain(table))) for table in (ours, theirs))
    if (difference := first_difference(made, held)) is not None:
        raise SettingError(f"{folder} holds a finished model: {difference}; name another folder, or delete that one")


def keep_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """What a finished model was made with, beside it."""
    write_whole(folder / FILE, json.dumps(plain(recipe), ensure_ascii=False) + "\n")


def check_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Raises where the model in a folder was made with another recipe, or does not say with which."""
    try:
        held = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingError(
            f"{folder} holds a finished model that does not say how it was trained; name another folder, or delete it"
        ) from None
    refuse_other(folder, recipe, held)
