"""The table of all recipes beside the peers', and each recipe's own figures, from the record of `bench --together`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from malaprop.frame.records.summary import Rate
from malaprop_bench.roster import ROSTER, PeerRecipe
from malaprop_bench.table import lines, number

Held = Mapping[str, Any]  # what JSON holds
BESIDE = (
    "ours",
    "theirs",
    "victim",
    "texts",
    "attack success rate, ours",
    "theirs",
    "queries, median, ours",
    "theirs",
    "times faster",
    "same status / text",
)
FOREIGN = (
    "texts",
    "ours",
    "theirs",
    "victim",
    "texts attacked",
    "attack success rate, ours",
    "theirs",
    "queries, median, ours",
    "theirs",
    "times faster",
    "times as many queries a second",
)
DIFFER = ("ours", "theirs", "where the two sides of the table differ, or what stands in on both")
FIGURES = (
    "victim",
    "run",
    "texts",
    "attack success rate",
    "words changed",
    "similarity",
    "perplexity ratio",
    "queries, median",
    "processor ms a text",
)


def beside(record: Held) -> list[str]:
    """Return the table of every peer's recipe on every victim, with a reason for those that cannot run."""
    return lines(BESIDE, [row for entry in ROSTER for row in _rows(entry, record)])


def foreign(record: Held) -> list[str]:
    """Return the table of the peers' recipes for other languages, each beside ours on the same texts."""
    rows = [
        [language, _link(entry), f"{tool} `{entry.theirs}`{_cilin(entry)}", cell["victim"], str(peer["rows"]),
         *_both(peer, exact=False)[:5], number(faster(peer) * peer["ours"]["asked"] / peer["asked"])]
        for language, cells in record["languages"].items()
        for cell in cells
        for tool, peer in cell["peers"].items()
        if (entry := _entry(tool, cell["recipe"]))
    ]  # fmt: skip
    return lines(FOREIGN, rows)


def _cilin(entry: PeerRecipe) -> str:
    return " with our Cilin" if entry.name.endswith("-cilin") else ""


def _rows(entry: PeerRecipe, record: Held) -> Iterator[list[str]]:
    start = [_link(entry), f"{entry.tool} `{entry.theirs}`"]
    if entry.missing:
        yield [*start, "-", f"not run: {entry.missing}", *["-"] * (len(BESIDE) - 4)]
        return
    if entry.language != "en":
        yield [*start, "-", "[Languages](languages.md#beside-other-toolkits)", *["-"] * (len(BESIDE) - 4)]
        return
    found = [cell for cell in record["cells"] if cell["recipe"] == entry.name]
    for cell in found:
        if (peer := cell["peers"].get(entry.tool)) is not None:
            yield [*start, cell["victim"], str(peer["rows"]), *_both(peer, exact=entry.exact)]
            start = ["", ""]
        elif reasons := [reason for reason in cell["reasons"] if reason.startswith((entry.tool, "malaprop"))]:
            yield [*start, cell["victim"], f"not run: {reasons[0][:120]}", *["-"] * (len(BESIDE) - 4)]
            start = ["", ""]


def _link(entry: PeerRecipe) -> str:
    return f"[{entry.ours}](recipes/{entry.recipe}.md)" if entry.ours else "-"


def _both(peer: Held, *, exact: bool) -> list[str]:
    equal, ours = peer["equal"], peer["ours"]
    alike = f"{equal['statuses']} / {equal['texts']} of {equal['rows']}" if exact else f"{equal['statuses']} / -"
    return [
        _rate(ours),
        _rate(peer),
        number(ours["median_queries"]),
        number(peer["median_queries"]),
        number(faster(peer)),
        alike,
    ]


def faster(peer: Held) -> float:
    """Return the peer's processor time over ours, for the same texts."""
    return float((peer["processor_ratios"] or [peer["faster"]])[0])


def differ(record: Held) -> list[str]:  # noqa: ARG001 - every table takes its record
    """Return the table of differences in words, which the figures do not show."""
    here = (entry for entry in ROSTER if entry.differs and entry.language == "en")
    return lines(DIFFER, [[_link(entry), f"{entry.tool} `{entry.theirs}`", entry.differs] for entry in here])


def figures(name: str, record: Held) -> list[str]:
    """Return the measurements of one recipe of ours: our defaults, each peer's variant, and the peer itself."""
    rows = [row for cell in record["cells"] for row in _figures(name, cell)]
    return lines(FIGURES, rows) if rows else ["Not measured yet."]


def _figures(name: str, cell: Held) -> Iterator[list[str]]:
    beside = [(tool, _entry(tool, cell["recipe"])) for tool in cell["peers"]]
    of_ours = {entry.recipe for _, entry in beside if entry is not None} or {cell["recipe"]}
    if name not in of_ours:
        return
    own = cell["defaults"] or (cell["ours"] if not cell["peers"] else None)
    if own is not None and name.startswith(cell["recipe"]):  # hotflip is our hotflip-word
        yield _line(cell, f"`{name}`", own, cell["rows"])
    for tool, entry in beside:
        if entry is None or entry.recipe != name:
            continue
        peer = cell["peers"][tool]
        yield _line(cell, f"`{entry.ours}`, as {tool}", peer["ours"], peer["rows"])
        yield _line(cell, f"{tool} `{entry.theirs}`", peer, peer["rows"])


def _entry(tool: str, name: str) -> PeerRecipe | None:
    return next((entry for entry in ROSTER if (entry.tool, entry.name) == (tool, name)), None)


def _line(cell: Held, run: str, side: Held, rows: int) -> list[str]:
    share, quality = side["changed_share"], side.get("quality", {})
    return [
        cell["victim"],
        run,
        str(rows),
        _rate(side),
        "-" if share is None else f"{share:.1%}",
        _measured(quality, "similarity"),
        _measured(quality, "perplexity"),
        number(side["median_queries"]),
        number(1000 * side["processor_s"] / max(1, rows)),
    ]


def _measured(quality: Held, name: str) -> str:
    """Return one measure, with the number of its texts if these are fewer than the row's."""
    few = f" ({quality['texts']} texts)" if "texts" in quality and name in quality else ""
    return number(quality.get(name)) + few


def _rate(side: Held) -> str:
    return str(Rate(side["success"]["hits"], side["success"]["total"]))
