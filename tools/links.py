"""Find broken links in the built site and in Markdown files beside it.

    python tools/links.py site README.md CONTRIBUTING.md

Links to other sites are not followed: the check works without a network.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")


class PageLinks(HTMLParser):
    """The links of an HTML page, and the anchors in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for name in ("href", "src") if (value := given.get(name)) and tag != "base"]


@cache
def read_page(page: Path) -> PageLinks:
    """Return the links and anchors of an HTML file."""
    read = PageLinks()
    read.feed(page.read_text(encoding="utf-8"))
    return read


def broken_links(site: Path, others: Iterable[Path] = ()) -> list[str]:
    """Return `FILE: LINK` for every link whose file or anchor does not exist."""
    read_page.cache_clear()
    found = [
        f"{page.relative_to(site)}: {link}"
        for page in sorted(site.rglob("*.html"))
        if page.name != "404.html"  # it is shown at any depth, so its links begin at the site's root
        for link in read_page(page).links
        if not _leads_somewhere(page, link)
    ]
    return found + [f"{file.name}: {link}" for file in others for link in _bad_in_markdown(file)]


def _leads_somewhere(page: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    place = unquote(parts.fragment)
    return not place or target.suffix != ".html" or place in read_page(target).places


def _bad_in_markdown(file: Path) -> Iterator[str]:
    for link in _LINK.findall(_CODE.sub("", file.read_text(encoding="utf-8"))):
        parts = urlsplit(link)
        if not parts.scheme and parts.path and not (file.parent / unquote(parts.path)).exists():
            yield link


def main() -> None:
    """Print the broken links; exit 1 if there is one."""
    site, *others = map(Path, sys.argv[1:])
    broken = broken_links(site, others)
    print("\n".join(broken) if broken else "no broken links")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
