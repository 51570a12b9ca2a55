"""What a page of its own is dressed in: the colours and fonts of all pages, and what reports add."""

from __future__ import annotations

from importlib.resources import files

from malaprop.frame.report.markup import Child, Markup, join, tag

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def style() -> str:
    shared = files("malaprop.frame.web").joinpath("static", "palette.css")
    own = files("malaprop.frame.report").joinpath("templates", "report.css")
    return shared.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def stand_alone(title: str, css: str, *body: Child) -> str:
    """A small page that needs nothing else and runs nothing."""
    head = join(
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title),
        tag("style", Markup(css)),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{join(*body)}</body></html>\n'
