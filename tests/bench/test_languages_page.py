"""The page of languages shows the rates that its record holds, and the goals of the record are reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import recipetable

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


def test_what_the_page_says_beside_other_toolkits():
    held = json.loads((DOCS / "measured" / "languages-peers.json").read_text(encoding="utf-8"))["languages"]
    cells = [(cell, *peer) for some in held.values() for cell in some for peer in cell["peers"].items()]
    faster = {
        name: [recipetable.faster(peer) for cell, _, peer in cells if cell["victim"] == name]
        for name in ("CNN", "LSTM")
    }
    text = " ".join(PAGE.split("{ #beside-other-toolkits }")[1].split())
    cnn, lstm = ([min(found), max(found)] for found in faster.values())
    assert f"{cnn[0]:.1f} to {cnn[1]:.0f} times as fast on the CNN and {lstm[0]:.1f} to {lstm[1]:.0f} times on" in text
    over = [f"{sum(one >= 10 for one in found)} of {len(found)}" for found in faster.values()]
    assert f"reached in {over[0]} rows on the CNN and in {over[1]} on the LSTM" in text
    more = sum(peer["ours"]["success"]["value"] > peer["success"]["value"] for _, _, peer in cells)
    assert f"breaks more texts in {more} of {len(cells)} rows" in text
    assert f"up to {max(peer['ours']['asked'] / peer['asked'] for _, _, peer in cells):.1f} times as many" in text
