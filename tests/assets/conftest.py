"""A manifest of one small archive, and a stand-in for pip that hands it over."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from malaprop.assets import download, manifest, store

MANIFEST = """
[archives.box]
source = "pip"
version = "1.0"
size = 1
sha256 = "{sha256}"

[assets.letters]
about = "letters"
licence = "none"
archive = "box"
folder = "box/data"
members = ["*.txt"]
local = ["copies/letters"]
format = 1

[assets.numbers]
about = "numbers"
licence = "none"
archive = "box"
folder = "box/other"
members = ["one.bin"]
local = ["copies/one.bin"]
make = "malaprop.assets.archives:copy"
format = 1
"""
FILES = {"box/data/a.txt": b"alpha", "box/data/deep/b.txt": b"beta", "box/other/one.bin": b"1", "box/code.py": b"1/0"}


def pack(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@dataclass
class FakePip:
    """Counts its calls in a file, so that other processes count too."""

    archive: Path
    log: Path
    fails: list[BaseException] = field(default_factory=list)

    def __call__(self, arguments, folder: Path, size: int) -> None:
        with self.log.open("a") as log:
            log.write("call\n")
        if self.fails:
            (folder / "archive" / "half").write_bytes(b"half")
            raise self.fails.pop()
        (folder / "archive" / self.archive.name).write_bytes(self.archive.read_bytes())

    @property
    def calls(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture
def use_archive(tmp_path, monkeypatch, own_cache):
    """Serves an archive of the given files; its hash goes into the manifest unless another is given."""
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    monkeypatch.delenv("MALAPROP_OFFLINE", raising=False)

    def use(files: dict[str, bytes] | None = None, sha256: str | None = None) -> FakePip:
        archive = pack(tmp_path / "box-1.0.whl", FILES if files is None else files)
        real = hashlib.sha256(archive.read_bytes()).hexdigest()
        listed = manifest.parse(MANIFEST.format(sha256=sha256 or real))
        for module in (manifest, store):
            monkeypatch.setattr(module, "entries", lambda: listed)
        pip = FakePip(archive, tmp_path / "calls")
        monkeypatch.setattr(download, "run", pip)
        return pip

    return use
