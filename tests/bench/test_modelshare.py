"""What the models inside a recipe leave to be gained, and what the page says of it."""

from __future__ import annotations

from pathlib import Path

from malaprop_bench import modelshare
from malaprop_bench.page import read

from malaprop.core.victim import in_fields
from malaprop.models.victims.strings import StringVictim

DOCS = Path(__file__).parents[2] / "docs"


def test_the_bound_leaves_the_models_alone():
    ours = {"processor_s": 2.0, "encoder_s": 1.0, "masked_lm_s": 0.5}
    held = {"recipe": "bae", "victim": "v", "texts": 4, "ours": ours, "theirs": {"processor_s": 15.0}}
    assert modelshare.rows([held]) == [["bae", "v", "4", "2.00", "75%", "15.00", "7.5", "10.0"]]


def test_a_recipe_without_models_spends_nothing_in_them():
    def score(texts):
        good = ["good" in text for (text,) in in_fields(texts)]
        return [[0.2, 0.8] if found else [0.8, 0.2] for found in good]

    found = modelshare.clock_models("deepwordbug", StringVictim(call=score), [("a good film", 1)])
    assert (found["encoder_s"], found["masked_lm_s"], found["encoded"]) == (0, 0, 0)
    assert found["asked"] > 3
    assert found["processor_s"] > 0


def test_the_page_says_what_was_measured():
    bugger, bae = read(DOCS / "measured" / "model-share.jsonl")
    faster = [one["theirs"]["processor_s"] / one["ours"]["processor_s"] for one in (bugger, bae)]
    page = (DOCS / "appendix" / "performance.md").read_text(encoding="utf-8")
    assert faster[0] < 10 < faster[1], "the goal is ten"
    assert f"`textbugger` is {faster[0]:.1f} times as fast" in page
    assert f"`bae` {faster[1]:.0f} times" in page
    assert f"{bugger['ours']['asked']:,} on these {bugger['texts']} texts" in page
    assert f"asked {bugger['theirs']['asked']:,}" in page
