"""Takes the picture of the report that README shows.

malaprop audit --n 50 --out runs/first
python tools/picture.py runs/first/report.html docs/report.png
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

SIZE = {"width": 1180, "height": 850}


def take(page: Path, picture: Path) -> None:
    """Write a picture of the part of a page that a browser shows before scrolling."""
    from playwright.sync_api import sync_playwright

    own = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=own, args=["--no-sandbox"])
        sheet = browser.new_page(viewport=SIZE, color_scheme="light")
        sheet.goto(page.resolve().as_uri())
        sheet.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
