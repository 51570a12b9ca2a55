"""What is written to disk, and what it adds up to."""

from malaprop.frame.records.outcome import (
    OPS,
    STATUSES,
    Edit,
    Op,
    Outcome,
    Queries,
    Side,
    Status,
    compare_key,
    edits_between,
    from_json,
    to_json,
)
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Writer, find_runs, iter_outcomes, merge, read_outcomes
from malaprop.frame.records.summary import (
    Point,
    Rate,
    Spread,
    Summary,
    abused_pairs,
    abused_words,
    accuracy_by_change,
    accuracy_by_queries,
)

__all__ = [
    "OPS",
    "STATUSES",
    "Edit",
    "Op",
    "Outcome",
    "Point",
    "Queries",
    "Rate",
    "Run",
    "Side",
    "Spread",
    "Status",
    "Summary",
    "Writer",
    "abused_pairs",
    "abused_words",
    "accuracy_by_change",
    "accuracy_by_queries",
    "compare_key",
    "edits_between",
    "find_runs",
    "from_json",
    "iter_outcomes",
    "merge",
    "read_outcomes",
    "to_json",
]
