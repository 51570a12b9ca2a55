"""A folder holds one study with one set of settings: the same settings resume it, others are refused by name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import MalapropError, RecordError, SettingError
from malaprop.core.settings import read_toml, to_toml
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions
from malaprop.frame.study.settings import flat, known_names, lasting, lasting_names, options, rename, show
from malaprop.frame.tasks.events import LOG

if TYPE_CHECKING:
    from malaprop.frame.study.study import Study

if sys.platform != "win32":  # which has no such locks; there two drivers are the user's own care
    import fcntl

LOCK = ".lock"
_PRINTED = re.compile(r"output-\d+\.txt|done\.json")  # of malaprop reproduce, which keeps what commands print


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock a folder for one driver inside `with`, or raise; the system releases the lock if the process is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RecordError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from None
    try:
        if sys.platform != "win32":
            _take(held, folder)
        yield
    finally:
        os.close(held)


def _take(held: int, folder: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RecordError(f"another process is at work in {folder}; wait for it, or choose another --out") from None
    except OSError:
        return  # a file system without locks


FILE = "study.toml"
MARKS = "content"  # the table of study.toml with a hash of each file and model folder that a setting names
_BETWEEN = re.compile(r"[(),+]|(?<=\w\w):(?!//)")
_WEIGHTY = (".json", ".toml", ".safetensors", ".npz", ".bin", ".pt", ".onnx", ".skops", ".model", ".txt", ".vocab")
_PART = 32 << 20  # so many bytes of a file's beginning and end are hashed, with its size
# Settings that do not decide whether a study is finished. --precision does: a victim in bf16 has its own fingerprint.
_UNSAID = ("out", "resume")
_INDIFFERENT = {one.name for group in (RunOptions, OutputOptions, BudgetOptions) for one in options(group)} - {
    "precision"
} | {"width"}


@contextmanager
def agree(study: Study, root: Path) -> Iterator[bool]:
    """Write study.toml, or raise if the folder holds a study of other settings; give whether all settings are the same.

    If the study fails before it writes a result, or the folder's older runs refuse it, a new study.toml is removed, so
    that the next study may have other settings. An older study.toml is restored if the folder's results refuse the new
    settings.
    """
    from malaprop.core.files import write_whole
    from malaprop.frame.records.run import FILE as RUN_FILE

    path = root / getattr(study, "file", FILE)
    said = {name: show(value) for name, value in flat(study).items() if value is not None and name not in _UNSAID}
    marks = _mark_files(study, root)
    before, same = None, False
    if path.is_file():
        there = rename(type(study), read_toml(path))
        validity = known_names(type(study)).get("validity")
        if validity is not None and validity.default is not None:
            there = {"validity": "paper", **there}  # as all attacks were before there was the option
        _refuse_other(root, study, marks, there)
        before = path.read_text(encoding="utf-8")
        same = _decisive(said) == _decisive(there) and marks == there.get(MARKS)
    elif not (root / FILE).is_file():
        _refuse_strange(root)
    new, held = before is None, {one.name for one in root.iterdir()}
    others = new and next(root.rglob(RUN_FILE), None) is not None  # runs that no study wrote
    write_whole(path, to_toml({"command": study.command, **said, MARKS: marks}))
    try:
        yield same
    except MalapropError as error:
        empty = {one.name for one in root.iterdir()} <= {*held, FILE, LOG, LOCK}
        if new and (empty or (others and isinstance(error, RecordError))):
            for name in {path.name, LOG} - held:
                (root / name).unlink(missing_ok=True)
        elif before is not None and isinstance(error, (RecordError, SettingError)):
            write_whole(path, before)
        raise


def _decisive(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of study.toml that decide whether a study is finished."""
    return {
        name: _unify(value)
        for name, value in said.items()
        if name not in _INDIFFERENT and name not in ("command", MARKS)
    }


def _refuse_strange(root: Path) -> None:
    """Raise if a folder holds files that no malaprop command wrote."""
    from malaprop.frame.records.folder_contents import list_contents

    there = sorted(one.name for one in root.iterdir() if not one.name.startswith(".") and one.name != LOG)
    odd = [name for name in there if not _PRINTED.fullmatch(name)]
    if not odd or (root / LOG).is_file():
        return
    held = list_contents([root])
    if not (held.studies or held.runs or held.records):
        raise RecordError(f"{root} holds something else than a run ({odd[0]}); choose another --out")


def _refuse_other(root: Path, study: Study, marks: Mapping[str, str], theirs: Mapping[str, Any]) -> None:
    """Raise for the first lasting setting, or marked file, that differs from those of the folder's study."""
    ours, kept = {"command": study.command, **lasting(study)}, lasting_names(study)
    growing = {option.name for option in options(type(study)) if option.grows}
    for name in ("command", *kept):
        here, there, said = ours.get(name), theirs.get(name), name
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            odd = next((key for key in (*here, *there) if here.get(key) != there.get(key)), None)
            here, there, said = (None, None, name) if odd is None else (here.get(odd), there.get(odd), f"{name} {odd}")
        grew = name in growing and isinstance(here, list) and isinstance(there, list)
        if _unify(here) == _unify(there) or (grew and all(one in _unify(here) for one in _unify(there))):
            continue
        raise RecordError(
            f"{root} holds a study with {said} = {there!r}, and here it is {here!r}; use the same settings, or choose "
            "another --out"
        )
    for named, before in theirs.get(MARKS, {}).items():
        name, _, place = named.partition(": ")
        if name in kept and marks.get(named, before) != before:
            raise RecordError(
                f"{root} holds a study of another {name}: {place} had the fingerprint {before} then, and now it is "
                f"{marks[named]}; restore what it held, or choose another --out"
            )


def _unify(value: Any) -> Any:
    """Return a setting for comparison: files and folders become real paths, so that models/x equals ./models/x."""
    if isinstance(value, list):
        return [_unify(one) for one in value]
    if isinstance(value, str) and value and os.path.exists(place := os.path.expanduser(value)):
        return os.path.realpath(place)  # os.path, because Path raises for some texts
    return value


def _mark_files(study: Study, root: Path) -> dict[str, str]:
    """Return a hash of the contents of each file and model folder that a setting names."""
    found = {}
    for name, value in flat(study).items():
        if name not in _INDIFFERENT:
            for place in _read_places(value):
                if (mark := _mark(Path(place).expanduser(), root)) is not None:
                    found[f"{name}: {place}"] = mark
    return found


def _read_places(value: Any) -> Iterator[str]:
    """Yield what may be a path in a setting: all of it, and parts such as models/mine in five(models/mine)."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _read_places(one)
    elif isinstance(value, (str, os.PathLike)) and os.fspath(value):
        typed = os.fspath(value)
        yield from dict.fromkeys([typed, *(part.removeprefix("@") for part in _BETWEEN.split(typed) if part)])


def _mark(path: Path, root: Path) -> str | None:
    """Return the hash of a file or folder; None for no file, and for a folder without a model or records."""
    try:
        if path.is_file():
            files = [path]
        elif path.is_dir() and not root.resolve().is_relative_to(path.resolve()):
            files = sorted(one for one in path.iterdir() if one.suffix in _WEIGHTY and one.is_file())
        else:
            return None
        sizes = [(one.name if path.is_dir() else "", one.stat().st_size) for one in files]
        if not any(one.suffix in (".json", ".toml") for one in files) and not path.is_file():
            return None
        digest = blake2b(repr(sizes).encode(), digest_size=8)
        for one, (_, size) in zip(files, sizes, strict=True):
            with one.open("rb") as file:
                digest.update(file.read(_PART))
                if size > _PART:
                    file.seek(max(_PART, size - _PART))
                    digest.update(file.read(_PART))
    except (OSError, ValueError):  # a text that cannot be a path, or an unreadable file
        return None
    return digest.hexdigest()
