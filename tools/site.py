"""What the site's builder does besides copying pages: it fills folders into the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Put every page of a folder where the navigation names the folder (`recipes/`)."""
    config.nav = [_fill(entry, Path(config.docs_dir)) for entry in config.nav]
    return config


def _fill(entry: Any, docs: Path) -> Any:
    """An entry of the navigation; a list that names a folder gets its pages instead."""
    if not isinstance(entry, dict):
        return entry
    ((title, below),) = entry.items()
    if not isinstance(below, list):
        return entry
    filled: list[Any] = []
    for one in below:
        if isinstance(one, str) and one.endswith("/"):
            filled += [{_title(page): f"{one}{page.name}"} for page in sorted((docs / one).glob("*.md"))]
        else:
            filled.append(_fill(one, docs))
    return {title: filled}


def _title(page: Path) -> str:
    """The page's own first heading."""
    return page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("#").strip()
