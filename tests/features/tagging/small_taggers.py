"""Sentences with people and places, and a tagger that reads the words beside a name."""

from __future__ import annotations

from itertools import product
from pathlib import Path

WHO, WHERE = ("Anna", "Boris", "Clara Zetkin"), ("Paris", "Rome", "New York")
SENTENCES = [
    (
        [*who.split(), "travelled", "sunny", *where.split(), "."],
        ["PER"] * len(who.split()),
        ["LOC"] * len(where.split()),
    )
    for who, where in product(WHO, WHERE)
]
ROWS = [
    (tokens, [*(f"I-{kind}" for kind in who), "O", "O", *(f"I-{kind}" for kind in where), "O"])
    for tokens, who, where in SENTENCES
] + [(["it", "rains", "."], ["O", "O", "O"])]


def scores(sentences: list[list[str]]) -> list[list[dict[str, float]]]:
    """A name before "travelled" is a person, one behind "sunny" a place; a long name is less certain."""
    return [[_row(tokens, place) for place in range(len(tokens))] for tokens in sentences]


def tag(sentences: list[list[str]]) -> list[list[str]]:
    return [[max(row, key=row.__getitem__) for row in rows] for rows in scores(sentences)]


def _row(tokens: list[str], place: int) -> dict[str, float]:
    if not tokens[place][:1].isupper():
        return {"O": 0.9, "I-PER": 0.05, "I-LOC": 0.05}
    start = end = place
    while start > 0 and tokens[start - 1][:1].isupper():
        start -= 1
    while end + 1 < len(tokens) and tokens[end + 1][:1].isupper():
        end += 1
    ahead = tokens[end + 1] if end + 1 < len(tokens) else ""
    behind = tokens[start - 1] if start else ""
    less = 0.01 * len(tokens[place])
    person = 0.8 - less if ahead == "travelled" else 0.1
    town = 0.8 - less if behind == "sunny" else 0.1
    return {"O": 1 - max(person, town), "I-PER": person, "I-LOC": town}


def write(path: Path) -> Path:
    """Write the sentences as CoNLL."""
    lines = ("\n".join(f"{token} {tag}" for token, tag in zip(*row, strict=True)) for row in ROWS)
    path.write_text("\n\n".join(lines) + "\n")
    return path
