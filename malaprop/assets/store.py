"""Assets in the cache: locate, fetch, build and verify them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from malaprop.assets import archives
from malaprop.assets.archives import Members
from malaprop.assets.download import digest, download, say
from malaprop.assets.folders import appearing, cache_root, data_root, locked, offline, scratch, writing
from malaprop.assets.manifest import Archive, Entry, entries, entry
from malaprop.core.errors import AssetError

__all__ = ["cache_root", "data_root", "entries", "fetch", "key", "locate", "state", "verify"]

State = Literal["ready", "local", "missing"]
_LIST = "asset.json"  # in every stored folder: what it is, and size, hash and time of each file


def _short(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:12]


def _local(asset: Entry) -> list[Path]:
    """Return the local copies of an asset's files; empty where the first of them is missing."""
    root = data_root()
    paths = [root / name for name in asset.local] if root else []
    return [path for path in paths if path.exists()] if paths and paths[0].exists() else []


def key(name: str) -> str:
    """Return twelve hex digits that identify an asset's sources and format, so that a change gives another folder."""
    asset = entry(name)
    if local := _local(asset):
        marks = [(path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in local]
        return _short("local", asset.format, *marks)
    if asset.archive:
        return _short(asset.archive.sha256, asset.folder, *asset.members, asset.format)
    return _short(asset.make, asset.format, *(key(part) for part in asset.needs))


def _folder(name: str) -> Path:
    return cache_root() / "assets" / f"{name}-{key(name)}"


def _as_is(asset: Entry) -> Path | None:
    """Return the local folder that serves as the asset without conversion; None where there is none."""
    local = _local(asset)
    return local[0] if local and not asset.make and local[0].is_dir() else None


def state(name: str) -> State:
    """Return `local` for a copy under $MALAPROP_DATA, else `ready` (in the cache) or `missing` (to fetch or build)."""
    if _local(entry(name)):
        return "local"
    return "ready" if (_folder(name) / _LIST).is_file() else "missing"


def locate(name: str, *, fetch: bool = True) -> Path:
    """Return the folder with an asset's files; fetch or build a missing one, or raise where `fetch` is false."""
    asset = entry(name)
    if as_is := _as_is(asset):
        return as_is
    folder = _folder(name)
    if (folder / _LIST).is_file():
        _check(name, folder, thorough=False)
        return folder
    if not fetch:
        raise AssetError(f"{name} is not in {cache_root()}; get it with: malaprop fetch {name}")
    _provide(asset)
    return folder


def fetch(name: str) -> Path:
    """Fetch an asset if it is missing or damaged, with a line on the damage; return its folder."""
    asset, folder = entry(name), _folder(name)
    if not _as_is(asset) and (folder / _LIST).is_file():
        try:
            _check(name, folder, thorough=True)
        except AssetError as error:
            if offline() and asset.archive and not _local(asset):
                raise
            say(f"{error}; replacing it")
            with writing(name), locked(_lock(asset)), scratch() as room:
                folder.rename(room / "damaged")
    return locate(name)


def verify(name: str) -> None:
    """Compare every stored file with the hash taken when it was stored; raise on a difference."""
    folder = locate(name, fetch=False)
    if not _as_is(entry(name)):
        _check(name, folder, thorough=True)


def _check(name: str, folder: Path, *, thorough: bool) -> None:
    """Raise on a damaged file; hash every file if `thorough`, else those whose size or time has changed."""
    try:
        noted: dict[str, dict[str, Any]] = json.loads((folder / _LIST).read_text(encoding="utf-8"))["files"]
        for file, note in noted.items():
            now = (folder / file).stat()
            touched = now.st_size != note["bytes"] or now.st_mtime_ns != note["time"]
            if (thorough or touched) and digest(folder / file) != note["sha256"]:
                raise AssetError(
                    f"{name} is damaged: {folder / file} no longer has the hash it was stored with; "
                    f"get it again with: malaprop fetch {name}"
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AssetError(f"{name} is damaged: {error}; get it again with: malaprop fetch {name}") from None


def _lock(asset: Entry) -> str:
    return asset.archive.name if asset.archive and not _local(asset) else asset.name


def _provide(asset: Entry) -> None:
    if asset.needs:
        for part in asset.needs:
            locate(part)
    elif not _local(asset) and offline():
        raise AssetError(
            f"{asset.name} is not in {cache_root()} and MALAPROP_OFFLINE forbids fetching; unset it and "
            f"run: malaprop fetch {asset.name} ({asset.size} MB), or point MALAPROP_DATA at a copy"
        )
    with writing(asset.name), locked(_lock(asset)):
        if (_folder(asset.name) / _LIST).is_file():
            return  # another process was faster
        if asset.needs:
            say(f"building {asset.name} (about {asset.seconds} s, once)")
            _store(asset, {})
        elif local := _local(asset):
            with _openers(local) as found:
                _store(asset, found)
        else:
            assert asset.archive is not None
            _unpack(asset, asset.archive)


def _unpack(asset: Entry, archive: Archive) -> None:
    """Download an archive once, and store every missing asset that it holds."""
    with scratch() as room:
        path = download(archive, room, asset.name)
        for sibling in entries().values():
            wanted = sibling.archive is archive and not (_local(sibling) or (_folder(sibling.name) / _LIST).is_file())
            if wanted or sibling is asset:
                with archives.members(path, sibling.folder, sibling.members) as found:
                    _store(sibling, found)


@contextmanager
def _openers(paths: list[Path]) -> Iterator[Members]:
    """Yield functions that open local files by path, and the members of a zip by the last part of their path."""
    with ExitStack() as stack:
        found: dict[str, Callable[[], Any]] = {}
        for path in paths:
            if path.suffix == ".zip":
                inside = stack.enter_context(archives.members(path))
                found |= {name.rpartition("/")[2]: opener for name, opener in inside.items()}
            else:
                root = data_root()
                assert root is not None
                found[path.relative_to(root).as_posix()] = partial(path.open, "rb")
        yield found


def _store(asset: Entry, found: Members) -> None:
    if not found and not asset.needs:
        raise AssetError(f"the archive of {asset.name} ({asset.source}) holds none of {', '.join(asset.members)}")
    module, _, function = (asset.make or "malaprop.assets.archives:copy").partition(":")
    make: Callable[[Members, Path], None] = getattr(import_module(module), function)
    with appearing(_folder(asset.name)) as folder:
        make(found, folder)
        files = {}
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            stat = path.stat()
            note = {"bytes": stat.st_size, "time": stat.st_mtime_ns, "sha256": digest(path)}
            files[path.relative_to(folder).as_posix()] = note
        local = [str(path) for path in _local(asset)]
        noted = {"name": asset.name, "source": local or asset.source, "licence": asset.licence, "files": files}
        (folder / _LIST).write_text(json.dumps(noted, indent=1), encoding="utf-8")
