"""The appendix on taggers says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from malaprop.features.tagging.entities import f1_of

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8").partition("{ #tagging }")[2].partition("\n## ")[0]
RECORD = json.loads((DOCS / "measured/tagging.json").read_text(encoding="utf-8"))
RUNS = {(run["victim"], run["attack"], run["validity"]): run for run in RECORD["runs"]}


def f1(run: dict, when: str) -> float:
    return f1_of(np.asarray([run[when][name] for name in ("right", "found", "there")], np.float64))


@pytest.mark.parametrize("key", RUNS)
def test_a_row_of_the_table(key):
    run, (victim, attack, validity) = RUNS[key], key
    won, (lost, low, high) = run["success"], run["lost"]
    before, after = f1(run, "clean"), f1(run, "attacked")
    assert lost == pytest.approx(before - after, abs=1e-3)
    assert won["total"] == run["sentences"] - run["skipped"]
    kept = "-" if run["kept"] is None else run["kept"]
    row = (
        f"| {victim} | `{attack}` | {validity} | {won['hits']} of {won['total']} | {kept} | {before:.1f} | {after:.1f} "
        f"| {lost:.1f} ({low:.1f}-{high:.1f}) |"
    )
    assert row in PAGE


def test_what_the_page_says_of_valid_attacks():
    valid = RUNS["en_core_web_md", "homoglyph", "valid"]
    assert valid["sentences"] >= 200
    assert valid["entities"] == "keep"
    assert valid["lost"][0] >= 25
    words = [RUNS["en_core_web_md", name, "valid"]["lost"][0] for name in ("pwws", "textfooler")]
    assert f"cost {min(words):.1f} and {max(words):.1f} points" in " ".join(PAGE.split())
    read = RUNS["en_core_web_md", "textfooler", "paper"]
    assert f"the judge lets {read['kept']} of its {read['success']['hits']} successes pass" in " ".join(PAGE.split())


@pytest.mark.parametrize("one", RECORD["speed"], ids=lambda one: one["attack"])
def test_the_times(one):
    seconds = [one[name] for name in ("single", "width 1", "default")]
    times = " | ".join(f"{value:.1f}" for value in seconds)
    assert f"| `{one['attack']}` | {one['asked']:,} | {times} | {seconds[0] / seconds[2]:.1f} |" in PAGE
