import json

import pytest
from malaprop_bench import merge, own, page, quality, recipetable
from malaprop_bench.bout import Terms
from malaprop_bench.compare import EVERY
from malaprop_bench.forked import run_each
from malaprop_bench.measured import Ended, Measured, read_rows, write_rows
from malaprop_bench.peer import TOOLS
from malaprop_bench.roll import Roll
from malaprop_bench.roster import OPENATTACK, ROSTER, TEXTATTACK, find, names_of

from malaprop.core.errors import SettingError

ROWS = [("a good film", 1), ("a bad film", 0), ("a film", 1)]


def measured(texts, seconds, queries=4):
    ended = tuple(Ended(status="success" if t else "failed", text=t or "x", queries=queries) for t in texts)
    return Measured(tool="t", threads=1, wall_s=seconds, processor_s=seconds, model_s=0, forwarded=1, outcomes=ended)


def test_each_recipe_runs_in_a_process_of_its_own(tmp_path):
    seen = []

    def attack(recipe, out):
        seen.append(recipe)  # of the fork alone
        if recipe == "broken":
            raise ValueError("no\n  luck")
        while recipe == "endless":
            pass
        out.write_text(f"{len(seen)} {recipe}")

    run_each(["one", "broken", "endless", "two"], tmp_path / "out", attack, seconds=2)
    left = {file.name: file.read_text() for file in (tmp_path / "out").iterdir()}
    assert left == {
        "one.json": "1 one",
        "two.json": "1 two",
        "broken.reason": "ValueError: no luck",
        "endless.reason": "took over 2 s",
    }
    assert seen == []


class Peer:
    """Finishes two rows of what it is asked for; breaks on bae."""

    def __init__(self, name, calls):
        self.tool, self.calls = TOOLS[name], calls

    def run_each(self, spec, rows, recipes, out, *, threads, seconds, seed):
        self.calls.append((self.tool.name, tuple(recipes)))
        out.mkdir(parents=True, exist_ok=True)
        for recipe in recipes:
            if recipe == "bae":
                (out / "bae.reason").write_text("no model")
            else:
                measured(["a fine film", "a nice film"], 8.0).write(out / f"{recipe}.json")


@pytest.fixture
def roll(tmp_path, monkeypatch):
    calls = []

    def run_ours(spec, rows, walks, out, *, threads, seed, width):
        calls.append(("ours", ",".join(walks)))
        out.mkdir(parents=True, exist_ok=True)
        for walk in walks:
            texts = ["a fine film", "", "a movie"][: int(walk.rpartition(":")[2])]
            measured(texts, 2.0, queries=3).write(out / f"{walk}.json")

    monkeypatch.setattr(own, "run_each", run_ours)
    monkeypatch.setattr(own, "folder", lambda name, data: name)
    write_rows(ROWS, tmp_path / "rows.jsonl")
    peers = [Peer(TEXTATTACK, calls), Peer(OPENATTACK, calls)]
    return Roll(name="toy", spec="toy", held=tmp_path, peers=peers, terms=Terms(together=True)), calls


def test_every_tool_is_started_once_and_what_is_on_disk_is_done(roll):
    rolled, calls = roll
    first, second, alone = rolled.cells(["pwws", "bae", "keyboard"])
    assert calls == [
        ("TextAttack", ("pwws", "bae")),
        ("OpenAttack", ("pwws", "bae")),
        (
            "ours",
            "pwws:2,pwws (as OpenAttack):2,pwws (our defaults):2,bae:3,bae (our defaults):3,"
            "keyboard:3,keyboard (our defaults):3",
        ),
    ]
    held = first.to_dict()
    assert (held["rows"], held["reasons"]) == (2, [])
    assert held["peers"]["TextAttack"]["equal"] == {"rows": 2, "statuses": 1, "texts": 1, "queries": 0}
    assert held["peers"]["OpenAttack"]["ours_recipe"] == "pwws:paper"
    assert held["peers"]["TextAttack"]["processor_ratios"] == [4.0]
    assert second.reasons == ("TextAttack: no model", "OpenAttack: no model")
    assert (alone.duels, alone.reasons, len(alone.rows)) == ((), (), 3)
    calls.clear()
    assert [cell.to_dict() for cell in rolled.cells(["pwws"])] == [held]
    assert calls == []


def test_successes_are_measured_once(roll, monkeypatch):
    rolled, _ = roll
    list(rolled.cells(["pwws"]))
    asked = []

    def perplexities(texts):
        asked.append(texts)
        return [3.0 if "film" in text else 12.0 for text in texts]

    monkeypatch.setitem(quality.KINDS, "perplexity", (perplexities, quality.KINDS["perplexity"][1]))
    files = sorted((rolled.held / "malaprop").glob("*.json"))
    one = files[0].parent / "one.json"
    measured(["a movie", "", "a movie"], 1.0).write(one)
    for _ in range(2):
        quality.measure_files([one], read_rows(rolled.held / "rows.jsonl"), ["perplexity"])
    assert Measured.read(one).quality == {"perplexity": 4.0}
    assert len(asked) == 1  # the failed one was not read
    with pytest.raises(SettingError, match="did you mean perplexity"):
        Terms(measures=("perplexty",))


def test_the_table_has_every_recipe_of_the_peers(roll):
    rolled, _ = roll
    record = {"cells": [cell.to_dict() for cell in rolled.cells(["pwws", "bae", "keyboard"])]}
    _, _, *rows = recipetable.beside(record)
    assert len([row for row in rows if "not run" in row]) >= len([e for e in ROSTER if e.missing])
    (exact,) = [row for row in rows if "PWWSRen2019" in row]
    assert exact.endswith("| 50.0% (1/2, 9.5-90.5) | 100.0% (2/2, 34.2-100.0) | 3 | 4 | 4 | 1 / 1 of 2 |")
    assert next(row for row in rows if "BAEGarg2019" in row).count("not run: TextAttack: no model") == 1
    lines = recipetable.figures("pwws", record)[2:]
    assert [line.split(" | ")[1] for line in lines] == [
        "`pwws`",
        "`pwws:textattack`, as TextAttack",
        "TextAttack `PWWSRen2019`",
        "`pwws:paper`, as OpenAttack",
        "OpenAttack `PWWSAttacker`",
    ]
    assert len(recipetable.figures("keyboard", record)) == 3
    assert recipetable.figures("homoglyph", record) == ["Not measured yet."]


def test_a_mark_on_a_recipes_page_is_filled_and_filled_again(tmp_path, roll):
    rolled, _ = roll
    record = {"cells": [cell.to_dict() for cell in rolled.cells(["keyboard"])]}
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured/recipes.json").write_text(json.dumps(record))
    (tmp_path / "recipes").mkdir()
    file = tmp_path / "recipes/keyboard.md"
    file.write_text("## Figures\n\n<!-- recipe figures: keyboard -->\n\n## Example\n")
    assert page.fill(tmp_path / "recipes") == 1
    once = file.read_text()
    assert "| toy | `keyboard` | 3 |" in once
    assert once.endswith("<!-- end of figures -->\n\n## Example\n")
    page.fill(file)
    assert file.read_text() == once


def test_the_roster_names_each_recipe_once():
    assert len({(e.tool, e.name) for e in ROSTER}) == len(ROSTER)
    assert len([e for e in ROSTER if e.tool == TEXTATTACK]) == 24
    assert len({e.theirs for e in ROSTER if e.tool == OPENATTACK}) == 15
    assert "gan" not in names_of(OPENATTACK)
    assert find(TEXTATTACK, "seq2sick") is None
    assert {"french", "spanish", "chinese"} <= {*names_of(TEXTATTACK)}
    assert not {"french", "chinese", "chinese-pwws"} & {*EVERY}  # for texts of their own language
    assert own.build("spanish").languages == ("es",)
    assert own.build("chinese-textfooler").languages == ("zh",)
    assert own.build("pwws").languages == ("en",)


def test_cells_measured_again_take_the_place_of_the_earlier_ones(tmp_path, roll):
    rolled, _ = roll
    cells = [cell.to_dict() for cell in rolled.cells(["pwws", "keyboard"])]
    cells[0]["peers"]["OpenAttack"]["quality"] = cells[0]["ours"]["quality"] = {"similarity": 0.9}
    terms = {"texts": 3, "seconds": 8.0, "threads": 1, "data": "mr", "seed": 0, "width": 256}
    again = {**cells[0], "rows": 200, "peers": {"TextAttack": cells[0]["peers"]["TextAttack"]}}
    again["ours"] = {name: value for name, value in again["ours"].items() if name != "quality"}
    record, later = tmp_path / "recipes.json", tmp_path / "bench.json"
    record.write_text(json.dumps({"terms": terms, "cells": cells}))
    later.write_text(json.dumps({"terms": {**terms, "texts": 200}, "cells": [again]}))
    assert merge.main([str(record), str(later)]) == 0
    first, second = json.loads(record.read_text())["cells"]
    assert (first["rows"], first["terms"]) == (200, {"texts": 200})
    assert first["ours"]["quality"] == {"texts": cells[0]["rows"], "similarity": 0.9}
    assert set(first["peers"]) == {"TextAttack", "OpenAttack"}
    assert second == cells[1]
    later.write_text(json.dumps({"terms": {**terms, "seed": 1}, "cells": []}))
    assert merge.main([str(record), str(later)]) == 2
