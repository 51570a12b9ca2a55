"""Open some members of an archive as streams, by name, without unpacking the rest."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO

from malaprop.core.errors import AssetError

Members = Mapping[str, Callable[[], IO[bytes]]]


def _safe(name: str) -> str:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or "\0" in name:
        raise AssetError(f"the archive holds a member that points outside it: {name!r}; it is not used")
    return name


def _within(names: Iterable[str], folder: str, wanted: tuple[str, ...]) -> dict[str, str]:
    """Return the wanted names relative to the folder, each with its full name."""
    lead = f"{folder}/" if folder else ""
    inside = {_safe(name[len(lead) :]): name for name in names if name.startswith(lead) and len(name) > len(lead)}
    return {short: name for short, name in inside.items() if any(fnmatch(short, pattern) for pattern in wanted)}


def _stream(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = archive.extractfile(name)
    assert stream is not None, "only plain files are listed"
    return stream


@contextmanager
def members(path: Path, folder: str = "", wanted: tuple[str, ...] = ("*",)) -> Iterator[Members]:
    """Open a .whl, .zip or .tgz; yield the wanted members under a folder of it."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as zipped:
                names = [info.filename for info in zipped.infolist() if not info.is_dir()]
                yield {s: _zip_opener(zipped, n) for s, n in _within(names, folder, wanted).items()}
        else:
            with tarfile.open(path) as tarred:
                names = [info.name for info in tarred if info.isfile()]  # no links, no devices
                yield {s: _tar_opener(tarred, n) for s, n in _within(names, folder, wanted).items()}
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise AssetError(f"{path.name} is not a whole archive ({error}); fetch it again") from None


def _zip_opener(archive: zipfile.ZipFile, name: str) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(name)


def _tar_opener(archive: tarfile.TarFile, name: str) -> Callable[[], IO[bytes]]:
    return lambda: _stream(archive, name)


def copy(found: Members, out: Path) -> None:
    """Write the members unchanged to a folder."""
    for name, opener in found.items():
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with opener() as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
