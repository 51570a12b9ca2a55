"""Fill the marked places of Markdown pages from the records of claims: a table of all, a part for each, all details.

A page marks a place with two comments, such as `<!-- claims: short -->` and `<!-- end of claims: short -->`:

- `claims: short` holds one table of all claims, with our figure at full size, or at small size where there is no other;
- `claim: U2` holds one claim: the paper's figure beside ours at both sizes, its setting and what differs;
- `claims: full` and `claims: small` hold every figure of that size, and why claims do not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from malaprop.frame.report.markup import escape
from malaprop.frame.report.tables import markdown
from malaprop.papers.claims.figures import draw_figures
from malaprop.papers.claims.record import TITLE, ClaimRow, ClaimsRecord, details, summary

PAPER_PAGES = {"U": "universal", "S": "attentive", "N": "natural", "F": "firebert", "H": "hotflip"}
MARKS = {
    "holds": "●",
    "leans": "◐",
    "inconclusive": "○",
    "fails": "✕",
    "by construction": "■",
    "figure": "–",  # noqa: RUF001 - a dash
    "not done": "–",  # noqa: RUF001 - a dash
}
_PLACE = re.compile(r"<!-- (claims?): (\w+) -->(.*?)<!-- end of \1: \2 -->", re.DOTALL)
_SHOWN = {"full": "Ours, full size", "small": "Ours, small size"}  # in this order
_WORDS = 12  # of our figure in the table of all claims, where a reading gives no short one


def find_pages(page: Path) -> list[Path]:
    """Return the page, or the pages below a folder that have a marked place."""
    if not page.is_dir():
        return [page]
    return [path for path in sorted(page.rglob("*.md")) if _PLACE.search(path.read_text(encoding="utf-8"))]


def write_pages(page: Path, records: Mapping[str, ClaimsRecord], size: str, kept: Path | None) -> dict[str, str]:
    """Return by path the text of a page, or of all pages of a folder, and the figures that they show."""
    drawn = draw_figures(kept / "full") if kept is not None else {}
    files = {}
    for path in (one.absolute() for one in find_pages(page)):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        files[str(path)] = fill(text, records, size)
        files |= {str(path.parent / name): svg for name, svg in drawn.items() if f"]({name})" in text}
    return files


def fill(text: str, records: Mapping[str, ClaimsRecord], size: str) -> str:
    """Return a page with all its marked places filled; without any, the details of `size` go to the end."""
    if not _PLACE.search(text):
        start = text or f"# {TITLE}\n"
        return f"{start.rstrip()}\n\n{_surround('claims', size, _details(records[size]))}\n"
    return _PLACE.sub(lambda found: _refill(found, records), text)


def _refill(found: re.Match[str], records: Mapping[str, ClaimsRecord]) -> str:
    """Return a marked place with its new content, or as it was if no record has any for it."""
    kind, name, _ = found.groups()
    if kind == "claim":
        rows = {size: row for size in _SHOWN if (row := _find_row(records, size, name)) is not None}
        return _surround(kind, name, _claim(rows)) if rows else found[0]
    if name == "short":
        return _surround(kind, name, _short(records))
    return _surround(kind, name, _details(records[name])) if name in records else found[0]


def _surround(kind: str, name: str, content: list[str]) -> str:
    """Return the lines between their two marks."""
    return "\n".join([f"<!-- {kind}: {name} -->", "", *content, "", f"<!-- end of {kind}: {name} -->"])


def _find_row(records: Mapping[str, ClaimsRecord], size: str, name: str) -> ClaimRow | None:
    rows = records[size].rows if size in records else ()
    return next((row for row in rows if row.id == name), None)


def _details(record: ClaimsRecord) -> list[str]:
    return [summary(record), "", *details(record)[:-1]]


def _short(records: Mapping[str, ClaimsRecord]) -> list[str]:
    """Return the table of all claims in five columns."""
    ids = dict.fromkeys(row.id for size in _SHOWN if size in records for row in records[size].rows)
    rows = [_short_row(records, name) for name in ids]
    return [_count(rows), "", *markdown(("Claim", "Paper", "Ours", "Verdict", "More"), [row[1:] for row in rows])]


def _short_row(records: Mapping[str, ClaimsRecord], name: str) -> tuple[str, ...]:
    """Return a claim's verdict, then its five cells; the small size stands in where there is no full one."""
    found = [(size, row) for size in _SHOWN if (row := _find_row(records, size, name)) is not None]
    size, row = next(((size, row) for size, row in found if row.verdict != "not done"), found[0])
    ours = f"{short_figure(row)} (small size)" if size == "small" else short_figure(row)
    link = f"[{row.id}](claims/{PAPER_PAGES[row.id[0]]}.md#{row.id.lower()})"
    return row.verdict, *map(_safe, (_sentence(row.claim), row.theirs_brief or row.theirs, ours)), mark(row), link


def _count(rows: list[tuple[str, ...]]) -> str:
    """Return how many claims have each verdict."""
    verdicts = [row[0] for row in rows]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in MARKS if one in verdicts)
    return f"{len(rows)} claims: {counts}."


def short_figure(row: ClaimRow) -> str:
    """Return our figure in a few words, cut where the reading gives no short one."""
    words = (row.brief or row.ours).split()
    if row.verdict == "not done":
        return row.ours.partition(":")[0]
    return " ".join(words) if row.brief or len(words) <= _WORDS else f"{' '.join(words[:_WORDS])} ..."


def mark(row: ClaimRow) -> str:
    """Return the verdict with a sign and a class for its colour."""
    return f'<span class="verdict is-{row.verdict.split()[0]}">{MARKS[row.verdict]} {row.verdict}</span>'


def _claim(rows: Mapping[str, ClaimRow]) -> list[str]:
    """Return the part of a page on one claim, from its rows by size."""
    one = next(iter(rows.values()))
    table = [("Paper", _safe(one.theirs), "")]
    table += [(_SHOWN[size], _safe(short_figure(row)), mark(row)) for size, row in rows.items()]
    lines = [f"### {one.id}. {_safe(_sentence(one.claim))} {{ #{one.id.lower()} }}", ""]
    lines += [*markdown(("", "Figure", "Verdict"), table), ""]
    lines += ['<details markdown="1">', "<summary>Setting, and what differs here</summary>", ""]
    lines += [f"In the paper: {_safe(one.where)}.", "", "What differs here:", ""]
    lines += [f"- {_safe(difference)}" for difference in one.differs]
    lines += ["", f"It fails if {_safe(one.fails)}."] if one.fails else []
    return [*lines, "", "</details>"]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _safe(text: str) -> str:
    """Return text in which Markdown and HTML have nothing to interpret."""
    return escape(text).replace("&#x27;", "'").replace("&quot;", '"').replace("*", r"\*").replace("|", r"\|")


def read_marks(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each marked place of a page."""
    yield from ((kind, name) for kind, name, _ in _PLACE.findall(text))
