"""The page of sentences says what its record holds."""

from __future__ import annotations

import json
from pathlib import Path

from malaprop.frame.records.summary import Rate

DOCS = Path(__file__).parents[2] / "docs"
RECORD = json.loads((DOCS / "measured/sentences.json").read_text(encoding="utf-8"))
PAGE = " ".join((DOCS / "sentences.md").read_text(encoding="utf-8").split())
NAMES = {"mr-full": "MR", "ag_news": "AG News"}


def test_every_run_has_its_row():
    for run in RECORD["runs"]:
        assert run["kept"] + run["unsure"] + run["changed"] == run["flipped"] <= run["attacked"] <= run["texts"]
        valid = run["valid"]
        cells = [
            NAMES[run["data"]], run["victim"], run["recipe"], Rate(run["flipped"], run["attacked"]),
            f"{run['kept']} of {run['flipped']}", Rate(valid["success"], valid["attacked"]), run["asked"],
        ]  # fmt: skip
        assert f"| {' | '.join(map(str, cells))} |" in PAGE


def test_what_was_read_is_what_the_page_says():
    for recipe, read in RECORD["read"].items():
        assert f"| {recipe} | {read['read']} | {read['kept']} | {read['both']} of {read['judged_kept']} |" in PAGE
    whole = RECORD["distract_read_whole"]
    said = f"of {whole['successes']} successes it would call {whole['kept']} kept and {whole['changed']} changed"
    assert said in PAGE


def test_what_the_page_concludes_holds():
    runs = {(run["data"], run["victim"], run["recipe"]): run for run in RECORD["runs"]}
    share = {key: run["valid"]["success"] / run["valid"]["attacked"] for key, run in runs.items()}
    both, words = (runs["mr-full", "LSTM-W-GloVe-1", name]["valid"] for name in ("sentence-then-words", "textfooler"))
    assert (both["success"], words["success"], both["by"]["sentences"]) == (15, 6, 10)
    kept = {name: [sum(run[part] for run in runs.values() if run["recipe"] == name) for part in ("kept", "flipped")]
            for name in ("back-translation", "syntax", "textfooler")}  # fmt: skip
    accepted = {name: good / flipped for name, (good, flipped) in kept.items()}
    assert min(accepted["back-translation"], accepted["syntax"]) > 2 * accepted["textfooler"]
    single = ("back-translation", "paraphrase", "syntax", "distract")
    for victim in ("LSTM-W-GloVe-1", "MiniLM"):
        tried = {recipe: share["mr-full", victim, recipe] for recipe in single}
        assert max(tried, key=tried.__getitem__) == "distract"
        assert (
            runs["mr-full", victim, "syntax"]["nothing_to_change"]
            > 0.33 * runs["mr-full", victim, "syntax"]["attacked"]
        )
    assert max(value for (data, _, recipe), value in share.items() if data == "ag_news" and recipe in single) < 0.05
