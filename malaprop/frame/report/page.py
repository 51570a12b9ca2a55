"""The report: one self-contained HTML file, made of the runs and records found below folders."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import merge
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import RecordError, plain
from malaprop.core.files import write_whole
from malaprop.frame.records import STATUSES, Outcome, Run, find_runs
from malaprop.frame.records.kinds import find, kind_of
from malaprop.frame.records.store import outcomes_of
from malaprop.frame.report import runs as attacked
from malaprop.frame.report.comparison import compare_runs
from malaprop.frame.report.diff import patches, show_unseen
from malaprop.frame.report.markup import Markup, escape, join, style, tag
from malaprop.frame.report.overview import overview, verdict
from malaprop.frame.report.run_entries import RunEntry, entries
from malaprop.frame.report.section import RUNS, Section
from malaprop.frame.report.tables import bullets, card
from malaprop.frame.rooms import load

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
        outcome.validity,
        None if outcome.meaning is None else round(outcome.meaning, 2),
    ]


def _order(found: Sequence[RunEntry]) -> Iterator[tuple[int, Outcome]]:
    """Yield (run, outcome): successes, then errors, failures, skipped; within each status the runs alternate.

    Successes that keep their meaning come before those of which the judge is unsure, or that it refuses.
    """
    for status in sorted(_FIRST, key=lambda name: _FIRST[name]):
        for verdicts in ((None, "kept"), ("unsure",), ("changed",)):
            lines = [_select(run, entry.outcomes, status, verdicts) for run, entry in enumerate(found)]
            yield from ((run, outcome) for _, run, outcome in merge(*lines, key=lambda place: place[:2]))


def _select(
    run: int, outcomes: Sequence[Outcome], status: str, verdicts: Sequence[str | None]
) -> Iterator[tuple[int, int, Outcome]]:
    """Yield a run's outcomes of one status and verdict as (place, run, outcome), lazily: there may be very many."""
    found = enumerate(outcomes)
    yield from ((at, run, one) for at, one in found if one.status == status and one.validity in verdicts)


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


TITLE = "Robustness report"
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SKIP = Markup('<a class="skip" href="#examples">Skip to the examples</a>')
_TOOLS = Markup(
    '<div class="tools"><button type="button" id="print" class="button">Print summary</button>'
    '<button type="button" id="print-all" class="button">Print all</button>'
    '<button type="button" id="theme" class="button" aria-pressed="false">Dark</button></div>'
)

Runs = Sequence[tuple[Run, Sequence[Outcome]]]


class Contents(NamedTuple):
    """The runs and records below folders; each of `faults` names a file that cannot be read, and why."""

    runs: Runs
    records: Sequence[Any]
    faults: Sequence[str] = ()


def write_report(folders: Iterable[Path], out: Path, title: str = "", *, against: Path | None = None) -> Path:
    """Write the report on every run and record at or below the folders, whole or not at all.

    `against` is a folder of earlier runs to compare with, text by text.
    """
    found = gather(folders)
    first = None if against is None else compare_runs(gather([against]).runs, found.runs).body()
    return write_page(out, *found, title=title, first=first)


def write_page(
    out: Path,
    runs: Runs = (),
    records: Sequence[Any] = (),
    faults: Sequence[str] = (),
    *,
    title: str = "",
    first: Markup | None = None,
) -> Path:
    """Write the report on these runs and records, whole or not at all; `first` is put at its top."""
    return write_whole(out, render(runs, title, records=records, faults=faults, first=first))


def gather(folders: Iterable[Path]) -> Contents:
    """Return the runs and records at or below the folders, and the faults of files that cannot be read."""
    places, faults = [Path(folder) for folder in folders], list[RecordError]()
    runs = []
    for folder in find_runs(places):
        try:
            runs.append((Run.read(folder), outcomes_of(folder)))
        except RecordError as error:
            faults.append(error)
    records = [found.record for found in find(places, broken=faults.append)]
    if runs or records:
        return Contents(runs, records, [plain(fault) for fault in faults])
    if faults:
        raise faults[0]
    named = ", ".join(map(str, places)) or "no folder"
    raise RecordError(f"no run and no record below {named}; give a folder that a run wrote")


def sections(records: Iterable[Any]) -> list[tuple[Section, list[Any]]]:
    """Return each kind's section with the records it shows, in the order of the page.

    A record that is part of another one is shown only there.
    """
    records = list(records)
    inner = [part for record in records for part in record.parts()]
    held: dict[str, list[Any]] = {}
    for record in records:
        if record not in inner:
            held.setdefault(kind_of(type(record)).section, []).append(record)
    return sorted(((load(place), found) for place, found in held.items()), key=lambda pair: pair[0].rank)


def render(
    runs: Runs,
    title: str = "",
    *,
    records: Sequence[Any] = (),
    limit: int = LIMIT,
    faults: Sequence[str] = (),
    first: Markup | None = None,
) -> str:
    """Return the whole page, with `first` at its top.

    The page lists `faults`. `limit` bounds the bytes of the examples; beyond it the page shows a sample and says so.
    """
    if not runs and not records:
        raise RecordError("a report needs at least one run or record, got none")
    parts = sections(records)
    found = entries(runs)
    above = join(first, _left_out(faults), *(section.body(held) for section, held in parts if section.rank < RUNS))
    below = join(*(section.body(held) for section, held in parts if section.rank >= RUNS))
    lead = _headline(parts, verdict(found) or attacked.headline(found))
    values = {
        "title": escape(title or (parts[0][0].title if len(parts) == 1 and not runs else TITLE)),
        "style": style(),
        "headline": tag("p", lead, class_="headline") if lead else "",
        "facts": attacked.header(found) if runs else "",
    }
    saving = _template("export.js")
    if not runs:
        quiet = {"skip": "", "theme": "", "main": join(above, below), "scripts": f"<script>{saving}</script>\n"}
        return _fill(_template("report.html"), {**values, "policy": escape(_policy(saving)), **quiet})
    data, script = payload(found, limit), _template("report.js") + saving
    drawn = [figure for section, held in parts if (figure := section.figure(held))]
    inner = {
        "overview": overview(found, drawn),
        "above": above,
        "matrix": attacked.matrix(found),
        "victims": attacked.victims(found),
        "below": below,
        "shown": escape(_count(data)),
        "errors": attacked.errors(found),
        "settings": attacked.settings(found),
    }
    scripts = f'<script type="application/json" id="data">{data.json}</script>\n<script>{script}</script>\n'
    lively = {"policy": escape(_policy(script)), "skip": _SKIP, "theme": _TOOLS, "scripts": scripts}
    return _fill(_template("report.html"), {**values, **lively, "main": _fill(_template("runs.html"), inner)})


def _left_out(faults: Sequence[str]) -> Markup:
    """Return a card that lists what could not be read, and why; empty if everything could."""
    if not faults:
        return Markup("")
    return card("left-out", "Left out", "These could not be read, and no figure counts them.", bullets("", faults))


def _headline(parts: Sequence[tuple[Section, list[Any]]], own: Markup | None) -> Markup | None:
    """Return the first headline in page order, from a section or (`own`) from the runs; None if there is none."""
    above = (section.headline(held) for section, held in parts if section.rank < RUNS)
    below = (section.headline(held) for section, held in parts if section.rank >= RUNS)
    return next((said for said in (*above, own, *below) if said), None)


def _template(name: str) -> str:
    return files("malaprop.frame.report").joinpath("templates", name).read_text(encoding="utf-8")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each {{name}} by its value, in one pass: a value that looks like a slot stays as it is."""
    return _SLOT.sub(lambda found: values[found[1]], template)


def _policy(script: str) -> str:
    """Return the page's Content-Security-Policy: it loads nothing, and runs only our script, by its hash."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = (f"script-src 'sha256-{digest}'", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join(("default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"))


def _count(data: Payload) -> str:
    if data.shown == data.total:
        return f"All {data.total:,} outcomes are here."
    return (
        f"{data.shown:,} of {data.total:,} outcomes are here, to keep this file small: successes first, then errors, "
        "failures and skipped texts, the runs taking turns. The rates above count all; outcomes.jsonl holds the rest."
    )
