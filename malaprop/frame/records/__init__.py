"""The records that runs write to disk, and summaries of them. Names are imported when they are first used."""

from malaprop.core.catalogue import offer

_PLACES = {
    "outcome": "OPS STATUSES Edit Op Outcome Queries Side Status compare_key edits_between from_json to_json",
    "run": "Run",
    "store": "Writer find_runs iter_outcomes merge read_outcomes",
    "summary": "Point Rate Spread Summary abused_pairs abused_words accuracy_by_change accuracy_by_queries",
}
__all__, __getattr__ = offer(__name__, _PLACES)
