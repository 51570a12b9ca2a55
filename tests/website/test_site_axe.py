"""Every page of the site in a real Chromium: axe finds nothing serious, and nobody outside is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(browser: Any, site: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page = browser.new_context(color_scheme=scheme).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    wrong = []
    for file in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # whose links begin at a server's root
        page.goto(file.as_uri())
        for found in axe.run(page).response["violations"]:
            if found["impact"] in ("serious", "critical"):
                wrong.append(f"{file.relative_to(site)}: {found['id']}: {found['nodes'][0]['html'][:120]}")
    assert not wrong, "\n".join(wrong)
    assert asked == []
