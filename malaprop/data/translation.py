"""The packaged translations `eng-fra`; a hash of each source decides its split, so splits never change."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from malaprop.core.errors import AssetError
from malaprop.core.example import number_rows
from malaprop.data.base import SPLITS, Dataset, check_split, editable
from malaprop.data.packaged import split_of

NAMES = ("eng-fra",)
FIELDS = ("source", "target")
_FILE = "eng-fra.txt"


def load(name: str, split: str = "test") -> Dataset:
    """Load one split: 80% train, 10% validation, 10% test of the English sources, each with all its translations."""
    check_split(split)
    from malaprop.assets import store

    return _splits(store.locate(name) / _FILE, name)[split]


@lru_cache(maxsize=2)
def _splits(path: Path, name: str) -> dict[str, Dataset]:
    rows: dict[str, list[tuple[dict[str, str], int]]] = {split: [] for split in SPLITS}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for source, target in (line.split("\t") for line in lines if line.strip()):
            rows[split_of(source)].append(({"source": source, "target": target.replace("\u202f", " ")}, 0))
    except (OSError, ValueError) as error:
        raise AssetError(f"{path} is not the file that was fetched ({error}); run: malaprop fetch {name}") from None
    return {
        split: Dataset(
            name=f"{name}:{split}", examples=tuple(number_rows(part, editable(FIELDS))), labels=(), fields=FIELDS
        )
        for split, part in rows.items()
    }
