"""A victim's files packed as one value, for machines that do not share the driver's disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from malaprop.core.errors import VictimError

MOST = 8 << 30  # bytes; beyond that a model belongs on a shared disk or in the workers' image


@dataclass(frozen=True, slots=True)
class VictimArchive:
    """The contents of a model's file or folder; `name` is its path among `files`, after which the victim is named."""

    name: str
    files: Mapping[str, bytes]


def pack(path: Path) -> VictimArchive:
    """Read a model's file or folder into memory."""
    path = path.expanduser().resolve()
    base, found = path.parent, [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    if path.suffix.lower() == ".onnx":  # its tokenizer, names of labels and large weights lie beside it
        beside = (f"{path.name}*data", "*.json", "*/*.json")
        base, found = base.parent, [path, *(p for pattern in beside for p in sorted(path.parent.glob(pattern)))]
    if (size := sum(p.stat().st_size for p in found)) > MOST:
        raise VictimError(
            f"{path} holds {size / 1e9:.0f} GB, too much to send to every machine; put it on a disk they share and "
            "start the workers there"
        )
    try:
        name = path.relative_to(base).as_posix()
        return VictimArchive(name, {p.relative_to(base).as_posix(): p.read_bytes() for p in found})
    except OSError as error:
        raise VictimError(f"{path} cannot be read: {error.strerror or error}") from None


@contextmanager
def unpack(archive: VictimArchive) -> Iterator[str]:
    """Write the files to a temporary folder and give the victim's path in it; the folder goes when the block ends."""
    with TemporaryDirectory(prefix="malaprop-") as folder:
        for name, content in archive.files.items():
            place = Path(folder, PurePosixPath(name))
            if not place.resolve().is_relative_to(Path(folder).resolve()):
                raise VictimError(f"the archive of {archive.name} holds a file with a path outside itself: {name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield os.path.join(folder, archive.name)


def portable(thing: Any) -> Any:
    """Return a victim's name in a form that workers understand: for a file or folder its absolute path.

    A zoo model that was not trained yet is trained here first, else each worker would train its own.
    """
    from malaprop.data.base import load
    from malaprop.zoo import names as zoo
    from malaprop.zoo.cache import find_or_train

    if not isinstance(thing, (str, os.PathLike)):
        return thing
    name = os.fspath(thing)
    path = Path(name).expanduser()
    if not path.exists() and zoo.is_name(name):
        path = find_or_train(name, read=load)
    return str(path.resolve()) if path.exists() else name
