"""A whole study clicked through in a real Chromium: export, three raters, score; every figure known beforehand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_study import SYNONYM, TEXTS, TYPO, changed, two_runs, write_finds

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
SHOTS = os.environ.get("MALAPROP_SHOTS")  # a folder for pictures of the pages, for the documentation


def malaprop(*words: object) -> str:
    command = [sys.executable, "-m", "malaprop", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Server:
    """`malaprop humans serve` on a free port, with what it printed."""

    def __init__(self, study: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "malaprop", "humans", "serve", str(study), "--port", "0"]
        self.errors = open(folder / "server.txt", "w+")  # noqa: SIM115 - open as long as the server
        self.process = subprocess.Popen(command, stderr=self.errors, stdout=self.errors)
        self.links: dict[str, str] = {}
        self.said = ""
        while "Ctrl-C" not in self.said:
            assert self.process.poll() is None, self.said
            self.said = (folder / "server.txt").read_text()
        self.links = dict(re.findall(r"^(r\d+): (http\S+)$", self.said, re.MULTILINE))
        self.admin, self.token = re.search(r"progress: (\S+) with the token (\S+)", self.said).groups()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.errors.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as made:
        opened = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    two_runs(folder / "runs")
    questions = "readability,label,similarity,naturalness"
    malaprop("humans", "export", folder / "runs", "--ask", questions, "--items", 3, "--seed", 4, "--checks", 1,
             "--out", folder / "study.db")  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    started = Server(place / "study.db", place)
    yield started
    started.stop()


def truth(text: str) -> str:
    return "positive" if re.search("good|decent|gxod", text) else "negative"


def choose(page: Any, careless: bool, strict: bool) -> str:
    """What this rater would choose: the key of an answer.

    Everyone who cares knows labels and originals and prefers the synonym; the strict one takes every typo for negative
    and finds typos less natural. The careless one answers alike, but for the checks, all of which go wrong.
    """
    prompt = page.text_content("#prompt")
    texts = [t.strip() for t in page.locator("form .text").all_text_contents()]
    asked = re.search("choose “(.+?)”", texts[0])
    if len(texts) == 2:
        torn = [n for n, text in enumerate(texts) if text not in KNOWN]
        best = 1 - torn[0] if torn else min((0, 1), key=lambda n: rank(texts[n]))
        return str(1 + (1 - best if careless and torn else best))
    if prompt.startswith("Which label"):
        wanted = asked[1] if asked else truth(texts[0])
        if strict and not asked and rank(texts[0]) == 2:
            wanted = "negative"
        number = ("negative", "positive").index(wanted)
        return str(1 + (1 - number if careless and asked else number))
    if asked:
        return "12345"[int(asked[1]) % 5] if careless else asked[1]
    return {0: "5", 1: "4", 2: "1" if strict else "2"}[rank(texts[0])]


KNOWN = {form for text in TEXTS for form in (text, changed(text, SYNONYM), changed(text, TYPO))}


def rank(text: str) -> int:
    return 0 if text in TEXTS else 1 if text in {changed(t, SYNONYM) for t in TEXTS} else 2


def shot(page: Any, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/humans-{name}.png")


def serious(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 8, "the page was looked at"
    return [f"{v['id']}: {v['help']}" for v in found["violations"] if v["impact"] in ("serious", "critical")]


def go_through(page: Any, link: str, *, keys: bool, careless: bool = False, strict: bool = False) -> int:
    """Answers all items; gives how many there were."""
    page.goto(link)
    page.click("#go")
    page.wait_for_url("**/1")
    total = int(re.search(r"of (\d+)", page.text_content("label[for=progress]"))[1])
    for place in range(1, total + 1):
        assert page.text_content("label[for=progress]") == f"Item {place} of {total}"
        key = choose(page, careless, strict)
        if keys:
            page.keyboard.press(key)
            page.keyboard.press("Enter")
        else:
            page.click(f"[data-key='{key}']")
            page.click("#next")
        page.wait_for_url(f"**/{place + 1}" if place < total else link)
    assert "that was all" in page.text_content("h1")
    return total


def test_a_whole_study(browser: Any, place: Path, server: Server) -> None:
    contexts = [
        browser.new_context(viewport={"width": 1000, "height": 760}),
        browser.new_context(viewport={"width": 390, "height": 780}, java_script_enabled=False, has_touch=True),
        browser.new_context(viewport={"width": 1000, "height": 760}),
    ]
    pages = [context.new_page() for context in contexts]
    noise: list[str] = []
    for page in pages:
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
    total = go_through(pages[0], server.links["r1"], keys=True)
    assert total == 12 + 4
    assert go_through(pages[1], server.links["r2"], keys=False, strict=True) == total
    assert go_through(pages[2], server.links["r3"], keys=True, careless=True) == total
    assert noise == []
    for context in contexts:
        context.close()
    scores = json.loads(malaprop("humans", "score", place / "study.db", "--json", "--quiet").splitlines()[-1])
    check_figures(scores)


def check_figures(scores: dict[str, Any]) -> None:
    """Three items a question: an original, a synonym, a typo; or three pairs. r3 failed the checks, r1 and r2 count."""
    assert (scores["invited"], scores["answered"], scores["counted"]) == (3, 3, 2 * 12)
    assert scores["left_out"] == [{"rater": "r3", "right": 0, "checks": 4}]
    right = {row["name"]: (row["answers"]["hits"], row["answers"]["total"]) for row in scores["accuracy"]}
    assert right == {"original": (2, 2), "synonym": (2, 2), "typo": (1, 2)}, "r2 took the positive typo for negative"
    for question in ("readability", "similarity"):
        chosen = {row["name"]: row for row in scores[question]["systems"]}
        assert (chosen["synonym"]["votes"]["hits"], chosen["typo"]["votes"]["hits"]) == (6, 0)
        assert (chosen["synonym"]["relative"], chosen["typo"]["relative"]) == (1.0, 0.0)
        (duel,) = scores[question]["duels"]
        assert (duel["ahead_a"], duel["ahead_b"], duel["p"]) == (3, 0, 2 / 8)
    natural = {row["name"]: row for row in scores["naturalness"]["systems"]}
    assert {name: row["high"]["hits"] for name, row in natural.items()} == {"original": 2, "synonym": 2, "typo": 0}
    assert {name: row["mean"] for name, row in natural.items()} == {"original": 5.0, "synonym": 4.0, "typo": 1.5}
    agreed = {(row["question"], row["level"]): row["alpha"] for row in scores["agreement"]}
    assert agreed["readability", "nominal"] is None, "everyone chose the same throughout"
    # Ratings 5 5, 4 4 and 2 1: one difference of 1 within, counted both ways; beyond, all six against each other.
    values = (5, 5, 4, 4, 2, 1)
    beyond = sum((a - b) ** 2 for a in values for b in values) / 5
    assert agreed["naturalness", "interval"] == pytest.approx(1 - 2 / beyond, abs=1e-6)
    kept = {row["name"]: (row["kept"]["hits"], row["adjusted"]["value"]) for row in scores["validity"]}
    assert kept == {"synonym": (1, 1.0), "typo": (0, 0.0)}, "a tie does not keep the label"


def test_back_changes_an_answer_and_the_link_resumes(browser: Any, tmp_path: Path) -> None:
    two_runs(tmp_path / "runs")
    malaprop("humans", "export", tmp_path / "runs", "--ask", "label", "--items", 3, "--out", tmp_path / "s.db")
    started = Server(tmp_path / "s.db", tmp_path)
    try:
        page = browser.new_page()
        page.goto(started.links["r1"])
        page.click("#go")
        page.wait_for_url("**/1")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/2")
        page.keyboard.press("b")
        page.wait_for_url("**/1")
        assert page.is_checked("[data-key='1']")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/2")
        page.close()
        again = browser.new_page()
        again.goto(started.links["r1"])
        assert "You have answered 1 of" in again.text_content("main")
        again.click("#go")
        again.wait_for_url("**/2")
        again.click("#next")  # nothing is chosen: the browser asks for it and nothing is sent
        assert again.url.endswith("/2")
        again.close()
    finally:
        started.stop()


def test_accessibility_and_pictures(browser: Any, tmp_path: Path) -> None:
    """No serious fault on any kind of page, wide and narrow, light and dark; no page scrolls sideways."""
    two_runs(tmp_path / "runs")
    questions = "readability,label,similarity,naturalness,meaning"
    malaprop("humans", "export", tmp_path / "runs", "--ask", questions, "--items", 3, "--checks", 0, "--raters", 1,
             "--out", tmp_path / "s.db")  # fmt: skip
    started = Server(tmp_path / "s.db", tmp_path)
    faults: dict[str, list[str]] = {}
    try:
        link = started.links["r1"]
        wide = browser.new_context(viewport={"width": 1000, "height": 720}).new_page()
        narrow = browser.new_context(viewport={"width": 390, "height": 780}, color_scheme="dark").new_page()
        wide.goto(link)
        shot(wide, "start")
        faults["start"] = serious(wide)
        wide.click("#go")
        wide.wait_for_url("**/1")
        seen: set[str] = set()
        while "/r/" in wide.url and wide.url != link:
            prompt = wide.text_content("#prompt")
            if prompt not in seen:
                seen.add(prompt)
                narrow.goto(wide.url)
                wide.keyboard.press("2")
                shot(wide, f"item-{len(seen)}")
                shot(narrow, f"phone-{len(seen)}")
                for page in (wide, narrow):
                    faults[f"{prompt} {page.viewport_size}"] = serious(page)
                    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
            before = wide.url
            wide.keyboard.press("2")
            wide.keyboard.press("Enter")
            wide.wait_for_url(lambda url, old=before: url != old)
        assert len(seen) == 5
        faults["thanks"] = serious(wide)
        wide.goto(f"{link[:-3]}/1")
        assert "whole link" in wide.text_content("main")
        faults["error"] = serious(wide)
        wide.goto(started.admin)
        faults["login"] = serious(wide)
        wide.fill("#token", started.token)
        wide.keyboard.press("Enter")
        wide.wait_for_selector("#raters")
        shot(wide, "admin")
        faults["admin"] = serious(wide)
    finally:
        started.stop()
    assert {page: found for page, found in faults.items() if found} == {}


GREY = """image => { const c = document.createElement("canvas"); c.width = c.height = 1;
    const x = c.getContext("2d"); x.drawImage(image, 0, 0, 1, 1); return x.getImageData(0, 0, 1, 1).data[0]; }"""


def look(page: Any) -> str:
    """What one chooses who sees the pictures: of two the one nearer to the original, else how near the one is."""
    greys = [page.evaluate(GREY, picture) for picture in page.locator("form .picture").element_handles()]
    asked = re.search("choose “(.+?)”", page.text_content("form"))
    if asked:
        return asked[1]
    if not page.locator(".original .picture").count():
        return "4"
    first = page.evaluate(GREY, page.locator(".original .picture").element_handle())
    apart = [abs(grey - first) for grey in greys]
    return str(1 + apart.index(min(apart))) if len(apart) == 2 else "5" if apart[0] < 30 else "2"


def test_images_side_by_side(browser: Any, tmp_path: Path) -> None:
    """Natural adversaries of two victims, one of them far from its originals; the rater looks at the pixels."""
    write_finds(tmp_path / "runs" / "forest", "forest", 10)
    write_finds(tmp_path / "runs" / "lenet", "lenet", 60)
    malaprop(
        "humans", "export", tmp_path / "runs", "--items", 4, "--checks", 1, "--raters", 1, "--out", tmp_path / "s.db"
    )
    started = Server(tmp_path / "s.db", tmp_path)
    faults, outside = dict[str, list[str]](), list[str]()
    try:
        link = started.links["r1"]
        page = browser.new_context(viewport={"width": 1000, "height": 900}).new_page()
        page.on("request", lambda request: outside.append(request.url))
        page.on("console", lambda message: outside.append(message.text))
        page.goto(link)
        assert "see each image" in page.text_content("main")
        page.click("#go")
        page.wait_for_url("**/1")
        seen: set[str] = set()
        while page.url != link:
            assert page.locator("form .picture").count() in (1, 2)
            assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
            prompt = page.text_content("#prompt")
            if prompt not in seen:
                seen.add(prompt)
                shot(page, f"images-{len(seen)}")
                faults[prompt] = serious(page)
            before = page.url
            page.keyboard.press(look(page))
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, old=before: url != old)
    finally:
        started.stop()
    assert len(seen) == 4
    assert {prompt: found for prompt, found in faults.items() if found} == {}
    host = link[: link.index("/r/")]
    assert [url for url in outside if not url.startswith((host, "data:image/png"))] == []
    scores = json.loads(malaprop("humans", "score", tmp_path / "s.db", "--json", "--quiet").splitlines()[-1])
    assert scores["left_out"] == []
    for question in ("similarity", "more_natural"):
        votes = {row["name"]: row["votes"]["value"] for row in scores[question]["systems"]}
        assert votes == {"forest": 1.0, "lenet": 0.0}, "the forest's adversaries are nearer: the paper's table 7"
    assert {row["name"]: row["high"]["value"] for row in scores["meaning"]["systems"]} == {"forest": 1.0, "lenet": 0.0}
