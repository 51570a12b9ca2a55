"""The examples as JSON for the page's table: each text once, edits as offsets, safe inside a script element."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Any

from malaprop.frame.records import STATUSES, Outcome
from malaprop.frame.report.diff import patches, show_unseen
from malaprop.frame.report.run_entries import RunEntry

LIMIT = 4_500_000  # bytes of examples: of the promised 5 MB, half a megabyte remains for the rest of the page
_FIRST = {"success": 0, "error": 1, "failed": 2, "skipped": 3}
# `<` and `&` could end the element or open a comment; old parsers or UTF-8 cannot carry the others.
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Payload:
    """JSON for the page, the number of examples it holds (`shown`), and the number there are (`total`)."""

    json: str
    shown: int
    total: int


def dump(value: Any) -> str:
    """Return the value as JSON that is safe inside a script element."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _score(scores: tuple[float, ...], label: int) -> float | None:
    label = 0 if len(scores) == 1 else label  # a regression has one score
    score = scores[label] if 0 <= label < len(scores) else math.nan
    return round(score, 3) if math.isfinite(score) else None


def _row(run: int, text: int, outcome: Outcome) -> list[Any]:
    first, last = outcome.original, outcome.adversarial
    return [
        run,
        text,
        STATUSES.index(outcome.status),
        outcome.label,
        first.prediction,
        last.prediction if last else None,
        _score(first.scores, outcome.label),
        _score(last.scores, outcome.label) if last else None,
        outcome.queries.asked,
        round(outcome.changed_share, 4),
        [[p.field, p.start, p.end, show_unseen(p.text)] for p in patches(outcome)],
        outcome.reason,
        outcome.id,
    ]


def _order(found: Sequence[RunEntry]) -> Iterator[tuple[int, Outcome]]:
    """Yield (run, outcome): successes, then errors, failures, skipped; within each status the runs alternate."""
    for status in sorted(_FIRST, key=lambda name: _FIRST[name]):
        lines = [_of_status(run, entry.outcomes, status) for run, entry in enumerate(found)]
        yield from ((run, outcome) for _, run, outcome in merge(*lines, key=lambda place: place[:2]))


def _of_status(run: int, outcomes: Sequence[Outcome], status: str) -> Iterator[tuple[int, int, Outcome]]:
    """Yield a run's outcomes of one status as (place, run, outcome), lazily, for there may be very many."""
    yield from ((at, run, outcome) for at, outcome in enumerate(outcomes) if outcome.status == status)


def payload(found: Sequence[RunEntry], limit: int = LIMIT) -> Payload:
    """Return as many examples as fit in `limit` bytes, in the order of `_order`; one too large is left out."""
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    texts: list[str] = []
    rows: list[str] = []
    size = total = 0
    for run, outcome in _order(found):
        total += 1
        key = tuple(outcome.original.fields.items())
        number = numbers.get(key, len(texts))
        text = dump(key) if key not in numbers else ""
        cost = len(text.encode()) + 2
        if size + cost > limit:
            continue
        row = dump(_row(run, number, outcome))
        cost += len(row.encode())
        if size + cost > limit:
            continue
        size += cost
        rows.append(row)
        if text:
            numbers[key] = number
            texts.append(text)
    runs = dump([{"victim": e.victim, "attack": e.attack, "labels": list(e.run.labels)} for e in found])
    return Payload(f'{{"runs":{runs},"texts":[{",".join(texts)}],"rows":[{",".join(rows)}]}}', len(rows), total)
