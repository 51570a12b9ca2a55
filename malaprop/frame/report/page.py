"""The report: one self-contained HTML file, made of the runs and records found below folders."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import RecordError, plain
from malaprop.core.files import write_whole
from malaprop.frame.records import Outcome, Run, find_runs
from malaprop.frame.records.kinds import find, kind_of
from malaprop.frame.records.store import outcomes_of
from malaprop.frame.report import runs as attacked
from malaprop.frame.report.comparison import compare_runs
from malaprop.frame.report.markup import Markup, escape, join, style, tag
from malaprop.frame.report.page_data import LIMIT, Payload, payload
from malaprop.frame.report.run_entries import entries
from malaprop.frame.report.section import RUNS, Section
from malaprop.frame.report.tables import bullets, card
from malaprop.frame.rooms import load

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
    lead = _headline(parts, attacked.headline(found))
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
    inner = {
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
