"""What a page of its own is dressed in: the colours and fonts of all pages, and what reports add."""

from __future__ import annotations

from importlib.resources import files


def style() -> str:
    shared = files("malaprop.web").joinpath("static", "palette.css")
    own = files("malaprop.reports").joinpath("templates", "report.css")
    return shared.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")
