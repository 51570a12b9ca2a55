"""What an attack did to the characters: how many it changed, and by which operations."""

from __future__ import annotations

from collections import Counter

from malaprop.frame.records.outcome import Outcome

OPERATIONS = ("flip", "insert", "delete")


def operations(before: str, after: str) -> Counter[str]:
    """The fewest flips, insertions and deletions that make one word of the other; of equally few, the most flips."""
    # rows[j]: (edits, -flips, flips, inserts, deletes) that turn what was read of `before` into after[:j]
    row = [(j, 0, 0, j, 0) for j in range(len(after) + 1)]
    for i, old in enumerate(before, 1):
        last, row = row, [(i, 0, 0, 0, i)]
        for j, new in enumerate(after, 1):
            edits, less, flips, inserts, deletes = last[j - 1]
            same = last[j - 1] if old == new else (edits + 1, less - 1, flips + 1, inserts, deletes)
            row.append(min(same, _plus(row[j - 1], insert=1), _plus(last[j], delete=1)))
    _, _, flips, inserts, deletes = row[-1]
    return Counter({"flip": flips, "insert": inserts, "delete": deletes})


def _plus(cell: tuple[int, int, int, int, int], insert: int = 0, delete: int = 0) -> tuple[int, int, int, int, int]:
    edits, less, flips, inserts, deletes = cell
    return edits + 1, less, flips, inserts + insert, deletes + delete


def of_outcome(outcome: Outcome) -> Counter[str]:
    """All operations of one outcome's edits."""
    total: Counter[str] = Counter()
    for edit in outcome.edits:
        total += operations(edit.before, edit.after)
    return total


def changed_characters(outcome: Outcome) -> float:
    """Operations as a share of the characters of the original, white space not counted."""
    many = sum(not char.isspace() for value in outcome.original.fields.values() for char in value)
    return of_outcome(outcome).total() / max(1, many)
