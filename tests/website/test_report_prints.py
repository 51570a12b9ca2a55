"""The report of an audit in a real Chromium: its first page prints on one sheet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import malaprop as mp

pytestmark = pytest.mark.slow


def _reader(name: str, word: str) -> Any:
    """Return a victim of this name that calls a text positive if it has the word."""

    def predict(texts: list[str]) -> list[list[float]]:
        return [[0.2, 0.8] if word in text else [0.7, 0.3] for text in texts]

    predict.__name__ = name
    return predict


def test_the_first_page_of_three_victims_prints_on_one_sheet(browser: Any, tmp_path: Path) -> None:
    victims = [_reader(f"a-model-with-a-long-name-{word}", word) for word in ("good", "film", "fine")]
    texts = [
        (f"a good film , number {n} , fine from its first to its last scene and well worth the time", 1)
        for n in range(30)
    ]
    attacks = ["deepwordbug", "keyboard", "homoglyph"]
    mp.audit(victims, texts, attacks=attacks, validity="paper", out=tmp_path / "run")
    page = browser.new_page()
    page.goto((tmp_path / "run/report.html").as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
