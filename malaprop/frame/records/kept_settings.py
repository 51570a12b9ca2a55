"""The settings file of a result folder: a command that continues in the folder must have the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError, SettingError
from malaprop.core.files import write_whole
from malaprop.core.settings import first_difference, plain, read_toml, to_toml

FILE = "settings.toml"


def keep_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings to the folder at the first start; later, raise if they differ from the file."""
    compare_settings(folder, settings)
    if not (folder / FILE).is_file():
        write_whole(folder / FILE, to_toml(plain(settings)))


def compare_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise if the folder holds results of other settings; the message names the first difference."""
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
