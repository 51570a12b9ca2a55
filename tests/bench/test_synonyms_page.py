"""What the pages of assets say of the table of synonyms, against its record and the packaged table itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from malaprop.assets.synonyms import FLOOR, open_synonyms
from malaprop.frame.records import Rate

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "docs/measured/synonyms.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/assets.md").read_text(encoding="utf-8")


def test_the_record_is_of_the_packaged_table():
    table = open_synonyms()
    kept = table.cosines > 0
    assert (len(table.words), int(kept.sum())) == (RECORD["words"], RECORD["pairs"])
    assert int((table.cosines >= FLOOR).sum()) == RECORD["pairs_from_floor"]
    assert RECORD["floor"] == FLOOR
    path = ROOT / "malaprop/assets/words/synonyms.npz"
    assert path.stat().st_size == RECORD["bytes"]
    assert (np.diff(np.where(kept, table.cosines, 0)) <= 0).all(), "best first"
    assert "movie" in dict(table.near("film"))
    assert "movies" in dict(table.near("films"))


def test_the_page_says_what_was_measured():
    both = (RECORD, RECORD["counter_fitted"])
    correlations = [f"{r['simlex']:.3f} ({r['simlex_chosen']:.3f} and {r['simlex_other']:.3f})" for r in both]
    assert f"| {' | '.join(correlations)} |" in PAGE
    shares = [f"{r['published_in_8']:.1%}" for r in both]
    assert f"| {' | '.join(shares)} |" in PAGE
    beside = [f"{r['antonyms_beside']:,} of {r['antonyms_asked']:,}" for r in both]
    assert f"| {' | '.join(beside)} |" in PAGE
    assert f"each of {RECORD['words']:,} words those" in PAGE
    assert f"{RECORD['pairs']:,} pairs" in PAGE
    assert f"{RECORD['pairs_from_floor']:,} pairs" in PAGE
    assert f"| {RECORD['bytes'] / 1e6:.1f} |" in PAGE
    assert f"| {(ROOT / 'malaprop/assets/words/polarity.npz').stat().st_size / 1e6:.1f} |" in PAGE


def test_the_page_of_attacks_says_what_was_read():
    told = json.loads((ROOT / "docs/measured/valid-words.json").read_text(encoding="utf-8"))
    mr, news, page = told["mr"], told["ag_news"], (ROOT / "docs/attacks.md").read_text(encoding="utf-8")
    page = " ".join(page.split())
    share = str(Rate(mr["broken"], mr["right"])).replace(f"({mr['broken']}/{mr['right']}, ", "").rstrip(")")
    value, interval = share.split()
    told = f"as published {mr['broken_paper']}, with counter-fitted neighbours behind the same guards"
    assert (
        f"{mr['broken']} of {mr['right']} of MR ({value}, {interval}; {told} {mr['broken_neighbours']}) and "
        f"{news['broken']} of {news['right']} of AG News" in page
    )
    assert f"read {mr['read'] + news['read']} of the words" in page
    assert (
        f"{mr['kept']} of {mr['read']} kept the meaning in MR and {news['kept']} of {news['read']} in AG News" in page
    )
