"""The page of languages shows the rates that its record holds, and the goals of the record are reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from malaprop.assets.languages import LANGUAGES, open_language
from malaprop.frame.records.summary import Rate

DOCS = Path(__file__).parents[2] / "docs"
RECORD = json.loads((DOCS / "measured" / "languages.json").read_text(encoding="utf-8"))
PAGE = (DOCS / "languages.md").read_text(encoding="utf-8")


def show(cell):
    rate, words = Rate(cell["broken"], cell["right"]), "-"
    if "listed" in cell:
        words = f"{cell['listed']} of {cell['new_words']}"
    where = f"| {open_language(cell['language']).name} | {cell['texts_are']} | `{cell['recipe']}` |"
    return f"{where} {rate} | {cell['changed']:.1%} | {cell['queries']:g} | {words} |"


def test_each_row_of_the_table_is_a_cell_of_the_record():
    table = PAGE.split("<!-- languages -->")[1].split("<!-- end of languages -->")[0]
    assert table.split("\n")[4:-2] == [show(cell) for cell in RECORD["cells"]]


REACHED = [(code, recipe) for recipe in ("pwws", "textfooler") for code in ("de", "fr", "es", "it", "zh")]


@pytest.mark.parametrize(("code", "recipe"), REACHED)
def test_words_break_half_of_the_texts_with_words_that_are_listed(code, recipe):
    cells = [one for one in RECORD["cells"] if (one["language"], one["recipe"]) == (code, recipe)]
    assert cells
    for cell in cells:
        assert cell["texts"] == 200
        assert cell["broken"] >= 0.5 * cell["right"]
        assert cell["listed"] >= 0.98 * cell["new_words"]


def test_every_language_is_on_the_page():
    table = PAGE.split("## What works in which language")[1].split("\n- ")[0]
    names = {language.name for language in LANGUAGES.values()} - {"Nynorsk", "Norwegian"}
    assert {name for name in names if name not in table} == set()
    assert "Norwegian (Bokmål, Nynorsk)" in table
