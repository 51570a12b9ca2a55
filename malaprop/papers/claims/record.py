"""The record of tested claims (our figures beside the paper's, and the verdict), its page and its terminal table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import fill

from malaprop.frame.records.intervals import VERDICTS
from malaprop.frame.records.kinds import Record
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import grid, markdown, printable

FILE = "claims.json"
_OF_FULL = "The lists of differences are those of full size; data and models of small size are smaller still."
_RENAMED = {"does not show": "inconclusive"}  # verdicts of earlier records


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One claim: the paper's figure, ours, the verdict, the data and models, and the commands."""

    id: str
    paper: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    about: str = ""  # data and models here, where they are not the paper's
    commands: tuple[str, ...] = ()
    fails: str = ""  # what would have counted as a failure, written down before
    why: str = ""  # of a claim that does not hold: what the records show of the reason
    brief: str = ""  # our figure in a few words
    where: str = ""  # the paper's table or section, and its setting
    differs: tuple[str, ...] = ()  # every difference of ours
    theirs_brief: str = ""  # the paper's figure in a few words, where `theirs` is long

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", _RENAMED.get(self.verdict, self.verdict))
        if self.verdict not in VERDICTS:
            raise ValueError(f"no verdict is called {self.verdict!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsRecord(Record):
    """All claims of one `malaprop reproduce`; `failed` gives the reason for each failed step."""

    size: str
    rows: tuple[ClaimRow, ...]
    failed: dict[str, str] = field(default_factory=dict)  # steps that failed, and why

    @property
    def counts(self) -> dict[str, int]:
        """Count the rows of each verdict that occurs."""
        found = [row.verdict for row in self.rows]
        return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


TITLE = "What the papers claim, and what came out here"
_COLUMNS = ("Row", "Claim", "Paper", "Here", "Says")


def claims(found: Sequence[ClaimsRecord]) -> Markup:
    """Return a card for each paper, then the meaning of the verdicts; nothing if there is no record."""
    cards = [tag("p", _OF_FULL, class_="small")] if any(record.size == "small" for record in found) else []
    cards += [_paper(record, paper) for record in found for paper in _papers(record)]
    return join(*cards, _legend()) if cards else Markup("")


def headline(found: Sequence[ClaimsRecord]) -> Markup | None:
    """Return the count of each verdict for the report's summary; None without a record."""
    return join(" ".join(map(summary, found)))


def page_text(record: ClaimsRecord) -> str:
    """Return the tables as Markdown."""
    return "\n".join([f"# {TITLE}", "", summary(record), "", *details(record)])


def details(record: ClaimsRecord) -> list[str]:
    """Return the lines of a table for each paper, and of why claims do not hold."""
    lines = []
    for paper in _papers(record):
        rows = [(*_cells(row), row.fails) for row in record.rows if row.paper == paper]
        table = markdown((*_COLUMNS, "Fails if"), rows)
        lines += [f"**{paper}**", "", *(line.replace("<", "&lt;") for line in table), ""]
    if reasons := [f"- **{row.id}** {row.verdict}. {row.why}" for row in record.rows if row.why]:
        lines += ["**What does not hold, and what the records show of the reason**", ""]
        lines += [*(line.replace("<", "&lt;") for line in reasons), ""]
    return lines


def terminal(record: ClaimsRecord) -> str:
    """Return the text for the terminal: each claim with its verdict, and below it the paper's figure and ours."""
    return "\n".join([*(line for row in record.rows for line in _terminal_lines(row)), summary(record)])


def _terminal_lines(row: ClaimRow) -> Iterator[str]:
    """Yield the lines of one claim, wrapped to the terminal's width."""
    width = shutil.get_terminal_size((80, 24)).columns
    said = (
        (f"{row.id:4} {row.verdict.upper()}: ", row.claim),
        ("     paper: ", row.theirs),
        ("     here:  ", _cells(row)[3]),
    )
    for head, text in said:
        yield fill(
            printable(" ".join(text.split())), width, initial_indent=head, subsequent_indent=" " * 12,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def list_text(record: ClaimsRecord) -> str:
    """List the claims of each paper, and the commands that would be run for them."""
    lines = []
    if record.size == "small":
        lines.append(f"{_OF_FULL}\n")
    for paper in _papers(record):
        rows = [row for row in record.rows if row.paper == paper]
        lines.append(paper)
        for row in rows:
            lines.append(f"  {row.id:4} {row.claim}; paper: {row.theirs}{'' if row.commands else f' ({row.ours})'}")
            lines += [f"       paper: {row.where}"] if row.where else []
            lines += [f"       differs: {one}" for one in row.differs]
            lines += [f"       fails if {row.fails}"] if row.fails else []
        lines += [f"       {one}" for one in dict.fromkeys(command for row in rows for command in row.commands)]
    return "\n".join(lines)


def summary(record: ClaimsRecord) -> str:
    """Return the count of each verdict in one sentence."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in record.counts.items())
    many = len(record.rows)
    return f"{many} claim{'' if many == 1 else 's'} at {record.size} size: {counts}."


def _papers(record: ClaimsRecord) -> list[str]:
    return list(dict.fromkeys(row.paper for row in record.rows))


def _cells(row: ClaimRow) -> tuple[str, str, str, str, str]:
    return row.id, row.claim, row.theirs, f"{row.ours} [{row.about}]" if row.about else row.ours, row.verdict


def _paper(record: ClaimsRecord, paper: str) -> Markup:
    rows = [row for row in record.rows if row.paper == paper]
    box = grid(f"Claims of {paper}", _COLUMNS, [_line(row) for row in rows], "claims")
    commands = list(dict.fromkeys(command for row in rows for command in row.commands))
    shown = (
        tag("details", tag("summary", "Commands"), tag("pre", "\n".join(commands), tabindex=0)) if commands else None
    )
    return tag("section", tag("h2", paper), box, shown, class_="card")


def _line(row: ClaimRow) -> tuple[Child, ...]:
    more = [tag("span", text, class_="small") for text in (row.about, row.why) if text]
    here = join(row.ours, *more, _setting(row))
    verdict = tag("span", row.verdict, class_=f"verdict is-{row.verdict.split()[0]}")
    return row.id, tag("td", row.claim, class_="wide"), row.theirs, tag("td", here, class_="wide"), verdict


def _setting(row: ClaimRow) -> Markup | None:
    """Return the paper's setting and what differs here, folded away; None if the row has neither."""
    if not row.where:
        return None
    differs = tag("ul", *(tag("li", one) for one in row.differs))
    fails = tag("p", f"It fails if {row.fails}.") if row.fails else None
    said = tag("p", f"Paper: {row.where}.")
    return tag("details", tag("summary", "Setting, and what differs here"), said, differs, fails)


def _legend() -> Markup:
    rows = [tag("div", tag("dt", verdict), tag("dd", about)) for verdict, about in VERDICTS.items()]
    return tag("section", tag("h2", "How to read this"), tag("dl", *rows, class_="notes"), class_="card")


SECTION = Section(rank=0, title=TITLE, body=claims, terminal=terminal, headline=headline)
