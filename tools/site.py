"""What the site's builder does besides copying pages: the reference is written from the code, folders fill the menu.

The search prefers pages that answer to pages that list. A page names words that people type and that it does not hold:
`<!-- search: api key, token -->`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from command_pages import command_pages
from python_pages import python_pages

SEARCHED = re.compile(r"<!-- search: (.+?) -->")
BOOSTS = {"Tutorials": 2.0, "How-to": 3.0, "Reference": 0.7, "Background": 0.7, "Measurements": 0.2}  # by part
LISTED = re.compile(r"(recipes|reference|claims)/(?!index)")  # one page a thing: many, and each repeats the same words


@cache
def made_pages() -> dict[str, str]:
    """Return the pages generated from the code: their paths below docs, and their Markdown."""
    return {**command_pages(), **python_pages()}


def on_config(config: Any) -> Any:
    """Put every page of a folder where the navigation names the folder (`recipes/`)."""
    config.nav = [_fill(entry, Path(config.docs_dir)) for entry in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are written from the code."""
    from mkdocs.structure.files import File

    for place, text in made_pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Give a page its weight in the search, and the words by which it is found."""
    part = page.ancestors[-1].title if page.ancestors else ""
    weight = BOOSTS.get(part, 1.0) * (0.5 if LISTED.match(page.file.src_uri) else 1.0)
    page.meta.setdefault("search", {"boost": weight})
    words = [word for found in SEARCHED.findall(markdown) for word in found.split(", ")]
    if words:
        page.meta.setdefault("tags", words)


def _fill(entry: Any, docs: Path) -> Any:
    """Return an entry of the navigation, with the pages of a folder in place of the folder's name."""
    if not isinstance(entry, dict):
        return entry
    ((title, below),) = entry.items()
    if not isinstance(below, list):
        return entry
    filled: list[Any] = []
    for one in below:
        if isinstance(one, str) and one.endswith("/"):
            filled += [{_title(text): place} for place, text in _pages(one, docs)]
        else:
            filled.append(_fill(one, docs))
    return {title: filled}


def _pages(folder: str, docs: Path) -> list[tuple[str, str]]:
    """Return the pages of a folder, written by hand or generated, by name."""
    written = {f"{folder}{page.name}": page.read_text(encoding="utf-8") for page in (docs / folder).glob("*.md")}
    made = {place: text for place, text in made_pages().items() if place.startswith(folder)}
    return sorted((written | made).items())


def _title(page: str) -> str:
    """Return the first heading of a page."""
    return page.split("\n", 1)[0].removeprefix("#").strip()
