"""Tables of the terminal: names are not cut while there is room for them."""

from __future__ import annotations

from collections import Counter

import pytest

from malaprop.frame.report.tables import lines_of

NAMES = ("attack", "victim", "validity", "F1 clean", "attacked", "lost", "success", "asked")
ROW = ("deepwordbug", "my_model:tag", "strict", "64.3", "59.3", "5.0 (0.0-17.1)", "50.0% (8/16, 28.0-72.0)", "1,080")


def count(text: str) -> Counter[str]:
    return Counter("".join(text.split()))


@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_narrow_terminal_breaks_no_name(boxed, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = lines_of("", NAMES, [ROW], boxed=boxed)
    assert {"deepwordbug", "my_model:tag"} <= set(shown.split())
    assert max(map(len, shown.splitlines())) <= width
    assert count("".join((*NAMES, *ROW))) == count(shown.replace("─", ""))


def test_a_name_takes_at_most_half_of_the_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    (_, *lines) = lines_of("", ("folder", "about"), [("x" * 60, "a study of many words")], boxed=False).splitlines()
    assert "".join(line.split()[0] for line in lines if line.startswith("x")) == "x" * 60
    assert "a study of many" in " ".join(" ".join(line.replace("x", "").split()) for line in lines)
