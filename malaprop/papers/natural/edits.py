"""How many words differ between two sentences."""

from __future__ import annotations

from malaprop.models.tokens.vocab import tokens


def apart(one: str, other: str) -> int:
    """The least number of words put in, taken out or replaced, marks counted as words and case left aside."""
    a, b = tokens(one), tokens(other)
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]
