"""The folder of a model, written whole or not at all; another model never overwrites a finished one."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from malaprop.core.errors import SettingError
from malaprop.core.files import find_partial_files, partial_path, write_whole
from malaprop.core.settings import first_difference, plain
from malaprop.training.card import ROLES, with_article


@contextmanager
def write_folder(target: Path, role: str = "classifier") -> Iterator[Path]:
    """Yield a folder to fill, which becomes `target` in one step at the end, and never if the block fails."""
    check_target(target, role)
    room: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        room = partial_path(target)
        shutil.rmtree(room, ignore_errors=True)  # of a dead process that had this one's number
        made = room / "made"
        made.mkdir(parents=True)
        yield made
        if target.exists():
            target.rename(room / "old")
        made.rename(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "no room left on the disk" if full else error.strerror or str(error)
        raise SettingError(f"cannot write {target}: {reason}; name another folder") from None
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


def _mend(target: Path) -> None:
    """Clear the leftovers of killed processes beside a model; finish a replacement that one had begun."""
    for room in find_partial_files(target.parent):
        if not room.name.startswith(f".{target.name}."):
            continue
        with suppress(OSError):
            if (room / "old").is_dir() and not target.exists():
                (room / "made").rename(target)
            shutil.rmtree(room)


def check_target(target: Path, role: str = "classifier") -> None:
    """Raise, before any work, on a folder that holds anything but an earlier model of the role."""
    _mend(target)
    known = ROLES[role]
    if target.exists() and not (target.is_dir() and ((target / known.file).is_file() or not any(target.iterdir()))):
        raise SettingError(f"{target} exists and is not {with_article(known.noun)}; name another folder")


FILE = "training.json"


def refuse_other(folder: Path, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise where the finished model in a folder was trained otherwise, naming the first setting that differs."""
    made, held = (json.loads(json.dumps(plain(table))) for table in (ours, theirs))
    if (difference := first_difference(made, held)) is not None:
        raise SettingError(f"{folder} holds a finished model: {difference}; name another folder, or delete that one")


def keep_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Write the recipe of a finished model into its folder."""
    write_whole(folder / FILE, json.dumps(plain(recipe), ensure_ascii=False) + "\n")


def check_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Raise where the model in a folder was made with another recipe, or does not say with which."""
    try:
        held = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingError(
            f"{folder} holds a finished model that does not say how it was trained; name another folder, or delete it"
        ) from None
    refuse_other(folder, recipe, held)
