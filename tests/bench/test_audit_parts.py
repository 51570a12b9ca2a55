"""Where the time of an audit goes: clocks in the services, and the figures on the page."""

import json
from pathlib import Path
from time import process_time

from malaprop_bench import parts
from malaprop_bench.page import read

DOCS = Path(__file__).parents[2] / "docs"


def spend(seconds):
    until = process_time() + seconds
    while process_time() < until:
        pass


def test_loading_inside_a_service_counts_as_loading():
    clock = parts.Clock()
    load = clock.timed(parts.LOADING, lambda: spend(0.02))

    class Service:
        def begin(self, asks):
            return asks

        def finish(self, asks):
            load()
            spend(0.01)
            return asks

    held = parts.Clocked(Service(), "tags", clock)
    assert held.finish(held.begin([["a", "b"], ["c"]])) == [["a", "b"], ["c"]]
    assert (clock.items["tags"], clock.calls["tags"]) == (3, 1)
    assert clock.seconds[parts.LOADING] >= 0.02
    assert 0.01 <= clock.seconds["tags"] < 0.02


def test_the_table_has_a_row_for_each_part_and_for_the_rest():
    before, now = (
        {"version": name, "seconds": total, "parts": [{"part": "judge", "seconds": 2.0, "calls": 3, "items": 1200}]}
        for name, total in (("before", 5.0), ("now", 4.0))
    )
    head, rows = parts.rows([before, now])
    assert head[1:3] == ("before, processor s", "now, processor s")
    assert rows[0] == ["judge of meaning", "2.00", "2.00", "1,200"]
    assert [row[1:] for row in rows[1:]] == [["3.00", "2.00", "-"], ["5.0", "4.0", "-"]]


def test_the_page_says_how_long_an_audit_takes():
    held = json.loads((DOCS / "measured" / "audit-seconds.json").read_text(encoding="utf-8"))
    page = (DOCS / "appendix" / "performance.md").read_text(encoding="utf-8")
    assert held["quiet"] <= held["busy"] <= 60, "the goal"
    assert f"took {held['quiet']:.0f} s with two threads on a quiet machine, and {held['busy']:.0f} s on a busy" in page
    before, now = read(DOCS / "measured" / "audit-parts.jsonl")
    assert (before["version"], now["version"]) == ("before", "now")
    assert now["seconds"] < before["seconds"]
