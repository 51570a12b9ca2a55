"""HTML and SVG elements, the shared CSS, and small pages; text that is not `Markup` yet is escaped."""

from __future__ import annotations

import html
import re
from importlib.resources import files

# Characters that UTF-8 cannot carry, or that HTML forbids even as a reference.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """A string of HTML that needs no escaping."""

    __slots__ = ()


Child = str | int | float | None


def escape(value: Child) -> Markup:
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(_UNPRINTABLE.sub("\ufffd", "" if value is None else str(value))))


def join(*children: Child) -> Markup:
    return Markup("".join(map(escape, children)))


def tag(name: str, *children: Child, **attributes: Child | bool) -> Markup:
    """Return an element; in attribute names a trailing underscore is dropped and others become hyphens."""
    given = (
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    opening = f"<{name}{''.join(given)}>"
    return Markup(opening if name in _EMPTY else f"{opening}{join(*children)}</{name}>")


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def style() -> str:
    shared = files("malaprop.frame.web").joinpath("static", "palette.css")
    own = files("malaprop.frame.report").joinpath("templates", "report.css")
    return shared.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def stand_alone(title: str, css: str, *body: Child) -> str:
    """Return a small page that loads no other file and runs no script."""
    head = join(
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title),
        tag("style", Markup(css)),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{join(*body)}</body></html>\n'
