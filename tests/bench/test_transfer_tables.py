"""The tables of docs/appendix/attacks.md come from the kept records, and so do the figures that other pages quote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench import page, transferred

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "measured/claims/full"
DATA = ("mr-full", "ag_news")


def test_the_tables_are_those_of_the_records():
    text = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8")
    made, tables = page.filled(text, DOCS / "appendix")
    assert made == text
    assert tables >= 16


@pytest.mark.parametrize("data", DATA)
def test_rates_are_counted_again_from_the_matrix(data):
    (held,) = page.read(KEPT / "transfer" / data / "transfer.json.gz")
    hits, totals = held["hits"], held["totals"]
    many = range(len(held["models"]))
    pairs = [hits[s][t] / totals[s][t] for s in many for t in many if s != t]
    twins = [hits[s][s] / totals[s][s] for s in many]
    assert sum(pairs) / len(pairs) == pytest.approx(held["pairs"]["value"], abs=1e-6)
    assert sum(twins) / len(twins) == pytest.approx(held["base"]["value"], abs=1e-6)
    (line,) = transferred.about_lines(held)
    assert f"Mean base rate {transferred.estimate(held['base'])}" in line


def test_the_page_of_figures_quotes_them():
    text = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8")
    told = []
    for data in DATA:
        (matrix,), (chosen,) = (page.read(KEPT / "transfer" / data / f"{n}.json.gz") for n in ("transfer", "ensembles"))
        best = [one["outside"]["value"] for one in chosen["chosen"] if one["how"] == "genetic"]
        values = (matrix["pairs"]["value"], matrix["base"]["value"], min(best), max(best))
        told.append([f"{value:.2f}".lstrip("0") for value in values])
    mr, news = told
    between = (
        f"{mr[0]} of the texts between two models, {mr[1]} between twins, {mr[2]} to {mr[3]} from a chosen ensemble"
    )
    assert f"63 models on MR: {between}; on AG News {news[0]}, {news[1]} and {news[2]} to {news[3]}" in text
    (rules,) = page.read(KEPT / "rules/mr-full/measured/measured.json.gz")
    counts, models = rules["wholes"][0], rules["wholes"][-1]
    attacks = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8")
    assert f"{100 * models['mean']:.1f}% ({100 * models['low']:.1f}-{100 * models['high']:.1f}), mean of 63" in attacks
    words = f"with {100 * models['words']:.0f}% of the words; from counts alone {100 * counts['mean']:.1f}%"
    assert f"{100 * models['mean']:.1f}% over 63 models on MR, {words}" in text


def test_the_short_pages_have_the_same_figures():
    matrices, chosen = (
        [page.read(KEPT / "transfer" / d / f"{n}.json.gz")[0] for d in DATA] for n in ("transfer", "ensembles")
    )
    text = (DOCS / "transfer.md").read_text(encoding="utf-8")
    for row, held in (("between two models", "pairs"), ("to the same model from another seed", "base")):
        values = " | ".join(f"{one[held]['value']:.3f}".lstrip("0") for one in matrices)
        assert f"| {row} | {values} |" in text
    for row, how in (("ensemble of six, genetic", "genetic"), ("ensemble of six, the paper's experts", "expert")):
        six = [one for held in chosen for one in held["chosen"] if (one["size"], one["how"]) == (6, how)]
        values = " | ".join(f"{one['outside']['value']:.3f}".lstrip("0") for one in six)
        assert f"| {row} | {values} |" in text
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    for row, data in zip(("MR", "AG News"), DATA, strict=True):
        (rules,) = page.read(KEPT / "rules" / data / "measured/measured.json.gz")
        named = {one["rules"]: one for one in rules["wholes"]}
        counts, models = (f"{100 * named[name]['mean']:.1f}%" for name in ("pmi", "genetic6"))
        assert f"| {row}, 63 models | {counts} | {models} |" in text


def test_seconds_are_those_that_were_kept():
    timed = json.loads((DOCS / "measured/claims-full-universal.json").read_text(encoding="utf-8"))["steps"]
    text = (DOCS / "appendix/attacks.md").read_text(encoding="utf-8")
    assert f"the study took {timed['transfer/ag_news']:.0f} s in 9 processes" in text
    assert f"It took {timed['genetic/ag_news']:.0f} s in 7 processes" in text
