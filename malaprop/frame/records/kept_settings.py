"""What a folder's results were made with, for commands whose same --out goes on: others are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError, SettingError
from malaprop.core.files import write_whole
from malaprop.core.settings import first_difference, plain, read_toml, to_toml

FILE = "settings.toml"


def keep_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Writes the settings at the first start; later ones that differ are refused."""
    compare_settings(folder, settings)
    if not (folder / FILE).is_file():
        write_whole(folder / FILE, to_toml(plain(settings)))


def compare_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raises where the folder holds results of other settings, naming the first that differs."""
    path = folder / FILE
    if not path.is_file():
        return
    try:
        theirs = read_toml(path)
    except SettingError as error:
        raise RecordError(f"{error}; choose another --out") from None
    if (difference := first_difference(plain(settings), theirs)) is not None:
        raise RecordError(
            f"{folder} holds results of other settings: {difference}; use the same settings or choose another --out"
        )
