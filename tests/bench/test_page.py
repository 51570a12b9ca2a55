import json
from pathlib import Path

import pytest
from malaprop_bench import defended, page, profiled

from malaprop.core.errors import DataError, SettingError

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "# Speed\n\n<!-- table: held/bench.json times -->\nold\n<!-- end of table -->\n\nwords\n"


@pytest.fixture
def held(tmp_path):
    (tmp_path / "held").mkdir()
    (tmp_path / "held/bench.json").write_text(json.dumps({"machine": "m", "terms": {}, "cells": []}))
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def test_what_lies_between_the_marks_is_made_anew(held):
    assert page.fill(held) == 1
    once = held.read_text()
    assert "old" not in once
    assert "| recipe | victim |" in once
    assert once.endswith("<!-- end of table -->\n\nwords\n")
    page.fill(held)
    assert held.read_text() == once


def test_links_of_a_table_lead_from_the_page_that_holds_it(tmp_path, monkeypatch):
    monkeypatch.setitem(page.TABLES, "linked", lambda _: ["| [pwws](recipes/pwws.md#cost) | [site](https://x.md) |"])
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured/a.json").write_text("{}")
    for folder, up in (("", ""), ("appendix", "../")):
        (tmp_path / folder).mkdir(exist_ok=True)
        mark = f"<!-- table: {up}measured/a.json linked -->\n<!-- end of table -->\n"
        made, _ = page.filled(mark, tmp_path / folder)
        assert f"| [pwws]({up}recipes/pwws.md#cost) | [site](https://x.md) |" in made


def test_what_the_page_of_figures_says_in_short():
    (held,) = page.read(DOCS / "measured/audit.json")
    text = " ".join((DOCS / "appendix/attacks.md").read_text(encoding="utf-8").split())
    clean = [run["clean_accuracy"]["value"] for run in held["runs"]]
    left = [100 * run["accuracy_under_attack"]["value"] for run in held["runs"]]
    assert f"falls from about 80% to between {min(left):.0f}% and {max(left):.0f}%" in text
    assert all(0.78 < value < 0.84 for value in clean)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (("bench.json", "gone.json"), DataError, "gone.json cannot be read as measurements"),
        (("times", "tmies"), SettingError, "did you mean times"),
    ],
)
def test_a_mark_that_names_nothing_is_said(held, change, error, said):
    held.write_text(PAGE.replace(*change))
    with pytest.raises(error, match=said):
        page.fill(held)
    assert "old" in held.read_text()


def test_a_page_that_is_not_there_is_said(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        page.fill(tmp_path / "none.md")


def test_the_best_defence_of_each_model_stands_beside_none(tmp_path):
    def row(name, clean, worst):
        rate = {"hits": 0, "total": 0}
        gain = {"value": 0.0, "low": 0.0, "high": 0.0}
        spread = {"mean": None, "median": None}
        active = {"accuracy": rate, "success": rate, "asked": spread, "changed": spread}
        return {
            "name": name, "about": "", "clean": {"hits": clean, "total": 10}, "premade": rate, "active": active,
            "adaptive": None, "worst": {"hits": worst, "total": 10}, "gain": gain, "kept": gain, "cost": None,
            "passes": 1.0, "verdict": "",
        }  # fmt: skip

    about = {"format": 1, "victim": "BERT", "data": "mr:test", "attack": "pwws", "texts": 10, "labels": ["a", "b"]}
    tests = {
        "one": [row("none", 9, 1), row("swaps:tries=4", 8, 3)],
        "two": [row("none", 7, 0), row("detect:near(swaps:tries=4:share=0.3)", 6, 4)],
    }
    for name, rows in tests.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "defences.json").write_text(json.dumps({**about, "premade": "", "rows": rows}))
    found = [line.split(" | ")[1].removesuffix(" |") for line in defended.table_lines(page.read(tmp_path))]
    gain = "+0.0 (+0.0 to +0.0)"
    assert found == ["MiniLM, MR", "---", "70.0%", "0.0%", "`detect:near(swaps)`", "60.0%", "40.0%", gain]


def test_what_the_first_page_says_of_defences_is_in_their_table():
    lines = defended.table_lines(page.read(DOCS / "measured/defences"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    at = rows[0].index("MiniLM, AG News")
    guide = " ".join((DOCS / "defences.md").read_text(encoding="utf-8").split())
    assert f"classifies {rows[-2][at]} of the texts correctly" in guide
    assert f"and {rows[3][at]} without a defence" in guide
    others = [float(cell.rstrip("%")) for name, cell in zip(rows[0][1:], rows[-2][1:], strict=True) if "AG" not in name]
    assert f"neither MiniLM nor MPNet keeps more than {max(others)}%" in guide


def test_what_the_first_page_says_of_valid_attacks_is_in_the_records():
    lines = defended.table_lines(page.read(DOCS / "measured/defences"), validity="valid", models=defended.MODELS)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    lost = [
        float(clean.strip("%")) - float(worst.strip("%")) for clean, worst in zip(rows[2][1:], rows[3][1:], strict=True)
    ]
    guide = " ".join((DOCS / "defences.md").read_text(encoding="utf-8").split())
    assert f"lose at most {max(lost):.0f} points to `textfooler` and `pwws`" in guide
    profile = profiled.read(DOCS / "measured/profile-large.json").of("first").profile
    plain, hard = (
        next(one for one in profile.entries if one.victim == name).worst_at(0.2).value
        for name in ("MiniLM", "MiniLM+misspelt")
    )
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    told = {
        name: str(rate).replace(f"{rate.hits}/{rate.total}, ", "")
        for name in ("MiniLM", "MiniLM+misspelt", "MiniLM+attacked")
        if (rate := next(one for one in profile.entries if one.victim == name).worst_at(0.2))
    }
    assert f"a fifth of the words, MiniLM classifies {told['MiniLM']} of 1,000 texts" in guide
    assert f"(`augment`) {told['MiniLM+misspelt']}, with `reject` {told['MiniLM+attacked']}" in guide
    assert f"a fifth of the words, MiniLM classifies {plain:.1%} of 1,000 texts" in readme
    assert f"correctly before this training and {hard:.1%} after it" in readme


def test_what_the_page_of_performance_says_in_short():
    (held,) = page.read(DOCS / "measured/bench.json")
    text = " ".join((DOCS / "performance.md").read_text(encoding="utf-8").split())
    faster = [cell["faster"] for cell in held["cells"] if cell["victim"] != "BERT"]
    assert f"run {min(faster):.0f} to {max(faster):.0f} times as fast as TextAttack's on one CPU thread" in text
    asked, shares = dict[str, float](), list[float]()
    for row in page.read(DOCS / "measured/architectures.jsonl"):
        if "asked_per_s" in row:
            asked[row["setting"]["victim"]] = row["asked_per_s"]
            shares.append(row["share"])
    rates = [f"{round(asked[f'shape:{name}'], -3):,.0f}" for name in ("bert-base", "minilm", "bilstm")]
    assert "{} texts a second of BERT-base's shape, {} of MiniLM's and {} of a BiLSTM's".format(*rates) in text
    assert (len(shares), sum(share >= 0.775 for share in shares)) == (11, 9)


def test_what_the_page_of_peers_says():
    (held,) = page.read(DOCS / "measured/recipes.json")
    text = " ".join((DOCS / "performance.md").read_text(encoding="utf-8").split())
    cells = [(cell, cell["peers"]["TextAttack"]) for cell in held["cells"] if "TextAttack" in cell["peers"]]
    equal = [peer["equal"] for cell, peer in cells if cell["recipe"] == "pwws"]
    alike = {sum(one[name] for one in equal) for name in ("rows", "statuses", "texts")}
    assert f"ends alike for all {alike.pop()} texts" in text
    assert not alike
    faster = [peer["processor_ratios"][0] for cell, peer in cells if cell["victim"] != "BERT"]
    assert sum(ratio >= 10 for ratio in faster) > 0.7 * len(faster)
    assert f"most recipes are 10 to {round(max(faster), -1):.0f} times as fast" in text
    peers = [cell["peers"]["OpenAttack"] for cell in held["cells"] if "OpenAttack" in cell["peers"]]
    faster = [peer["processor_ratios"][0] for peer in peers if peer["processor_ratios"]]
    told = f"Beside OpenAttack it is {min(faster):.1f} to {max(faster):.0f} times"
    assert f"{told}, and 10 times or more in half of the rows" in text
    assert len(faster) / 2 <= sum(ratio >= 10 for ratio in faster)


def test_lines_are_added(tmp_path):
    for number in (1, 2):
        path = page.append(tmp_path / "new", "scorers", {"number": number})
    assert page.read(path) == [{"number": 1}, {"number": 2}]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("performance.md", 1),
        ("appendix/performance.md", 15),
        ("defences.md", 1),
        ("victims-reference.md", 2),
        ("../README.md", 2),
        ("validity.md", 2),
        ("install.md", 1),
        ("appendix/attacks.md", 20),
        ("appendix/defences.md", 11),
    ],
)
def test_tables_of_the_documentation_are_what_was_measured(name, least):
    text = (DOCS / name).read_text(encoding="utf-8")
    made, count = page.filled(text, (DOCS / name).parent)
    assert count >= least
    assert made == text, f"run: malaprop bench --fill docs/{name}"


def test_the_figures_of_every_recipe_are_what_was_measured():
    """A page that waits for its figures has the mark alone."""
    filled = 0
    for file in sorted((DOCS / "recipes").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        if "<!-- end of figures -->" in text:
            filled += 1
            made, _ = page.filled(text, file.parent)
            assert made == text, f"run: malaprop bench --fill docs/recipes/{file.name}"
    assert filled > 8
