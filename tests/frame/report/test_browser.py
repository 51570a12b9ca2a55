"""The page in a real Chromium: it works, asks nobody anything, and runs no text."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sample_records import sample

from malaprop.frame.records import Edit, Outcome, Queries, Run, Side
from malaprop.frame.report import render

BAD = '<script>window.hacked=1</script> "><img src=x onerror="window.hacked=1"> </script><!-- zebra'
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")


def hostile() -> tuple[Run, list[Outcome]]:
    run = Run(recipe="<b>typos</b>", victim=f"evil {BAD}", data="mr", n=4, labels=("neg", "pos"), started="")
    emoji = Outcome(
        id="emoji",
        status="success",
        label=1,
        original=Side({"premise": "\U0001f600\U0001f600 a good film", "hypothesis": "it is ok"}, 1, (0.1, 0.9)),
        adversarial=Side({"premise": "\U0001f600\U0001f600 a goоd film", "hypothesis": "it is ok"}, 0, (0.9, 0.1)),
        edits=(Edit("premise", 1, "replace", "good", "goоd"),),
        queries=Queries(999_999, 1, 1),
        changed_share=0.2,
    )
    text = {"text": f"a moving film {BAD}"}
    attack = Outcome(
        id="x1", status="success", label=1, original=Side(text, 1), adversarial=Side({"text": f"{BAD} film"}, 0)
    )
    broken = replace(attack, id="x2", status="error", adversarial=None, reason=BAD)
    return run, [emoji, attack, broken, replace(attack, id="x3", status="failed", reason=None)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as made:
        opened = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render([*sample(60, 2, 3), hostile()], f"Card {BAD}"), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    noise: list[str] = []
    opened.on("console", lambda message: noise.append(message.text))
    opened.on("pageerror", lambda error: noise.append(str(error)))
    opened.on("request", lambda request: noise.append(request.url) if request.url != report.as_uri() else None)
    opened.goto(report.as_uri())
    yield opened
    assert [line for line in noise if line != "data:,"] == []
    context.close()


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_the_summary_prints_on_one_sheet_and_all_of_it_on_more(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(sample(60, 3, 5)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert pages_of(page.pdf(prefer_css_page_size=True)) == 1
    page.evaluate("document.documentElement.dataset.print = 'all'")
    assert pages_of(page.pdf(prefer_css_page_size=True)) > 2
    page.close()


def saved(page: Any, label: str) -> tuple[str, bytes]:
    """The name and the bytes of what a button saves."""
    with page.expect_download() as download:
        page.locator(f'button[aria-label="{label}"]').first.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_every_figure_and_table_can_be_saved(browser: Any, report: Path) -> None:
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto(report.as_uri())
    figures = page.locator("main svg[role=img]").count()
    tables = page.locator("main table").count()
    assert figures
    counts = [page.locator(f".save:text-is('{kind}')").count() for kind in ("SVG", "PNG", "CSV")]
    assert counts == [figures, figures, tables]
    title = "LSTM-W-GloVe-1 Accuracy against query budget"
    name, svg = saved(page, f"Save {title} as SVG")
    assert name == "lstm-w-glove-1-accuracy-against-query-budget.svg"
    drawn = ElementTree.fromstring(svg)
    assert drawn.attrib["width"] == drawn.attrib["viewBox"].split()[2]
    assert "pwws" in "".join(drawn.itertext())  # the key, which the page has beside the figure
    assert b"class=" not in svg
    name, png = saved(page, f"Save {title} as PNG")
    assert name.endswith(".png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 3 * float(drawn.attrib["width"])
    name, found = saved(page, "Save Accuracy under attack Accuracy by victim and attack as CSV")
    rows = list(csv.reader(found.decode("utf-8-sig").splitlines()))
    assert rows[0][:2] == ["Victim", "No attack"]
    assert "LSTM-W-GloVe-1" in {row[0] for row in rows}
    assert wrong == []
    page.close()


def test_saved_examples_are_all_that_were_found_and_no_formulas(browser: Any, tmp_path: Path) -> None:
    run, outcomes = hostile()
    text = {"text": '=HYPERLINK("http://a")\na "quoted", film'}
    formula = replace(outcomes[1], id="f", original=Side(text, 1), adversarial=Side({"text": "-2+3 film"}, 0))
    (tmp_path / "report.html").write_text(render([*sample(60, 1, 1), (run, [*outcomes, formula])]), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    _, found = saved(page, "Save Examples Table of examples as CSV")
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(found.decode("utf-8-sig")))}
    assert len(rows) == 65
    assert rows["f"]["text"] == '\'=HYPERLINK("http://a") a "quoted", film'
    assert rows["f"]["changed text"] == "'-2+3 film"
    assert rows["emoji"]["changed text"] == "\U0001f600\U0001f600 a goоd film | it is ok"
    page.close()


def total(page: Any) -> int:
    return int(page.text_content("#count").split(" of ")[1].replace(",", ""))


def search(page: Any, word: str) -> None:
    page.fill("#search", word)
    page.press("#search", "Enter")


def column(page: Any, place: int) -> list[str]:
    return page.locator(f"#rows td:nth-child({place})").all_text_contents()


def test_no_text_runs(page: Any) -> None:
    search(page, "zebra")
    assert total(page) == 3
    assert "<script>window.hacked=1</script>" in page.locator("#rows").text_content()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").text_content() == f"Card {BAD}"


def test_an_injected_script_would_be_refused(browser: Any, tmp_path: Path) -> None:
    """The policy is the second wall: even markup that got in could not run."""
    path = tmp_path / "broken.html"
    whole = render([hostile()])
    path.write_text(
        whole.replace("<main>", "<main><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>")
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.locator("#rows tr").count() == 4
    assert page.evaluate("window.hacked") is None
    page.close()


def test_search_and_filters_narrow(page: Any) -> None:
    assert total(page) == 60 * 6 + 4
    assert page.locator("#rows tr").count() == 25
    search(page, "zebra")
    assert total(page) == 3
    page.select_option("#by-status", "error")
    assert total(page) == 1
    assert "window.hacked" in page.locator("#rows .reason").text_content()
    search(page, "no such words")
    assert "No example fits" in page.locator("#rows").text_content()
    page.click("button[type=reset]")
    page.wait_for_function("document.getElementById('count').textContent.endsWith('364')")
    page.select_option("#by-victim", "LSTM-W-GloVe-1")
    page.select_option("#by-attack", "pwws")
    assert total(page) == 60
    assert set(column(page, 1)) == {"LSTM-W-GloVe-1"}


def test_sorting_by_queries(page: Any) -> None:
    button = page.locator("#columns button", has_text="Queries")
    button.click()
    up = [int(cell.replace(",", "")) for cell in column(page, 8)]
    assert up == sorted(up)
    assert page.locator("#columns th[aria-sort=ascending]").text_content() == "Queries"
    button.press("Enter")
    down = [int(cell.replace(",", "")) for cell in column(page, 8)]
    assert down == sorted(down, reverse=True)
    assert down[0] == 999_999


def test_pages_turn(page: Any) -> None:
    assert page.locator("#previous").is_disabled()
    first = page.locator("#rows").text_content()
    page.click("#next")
    assert page.text_content("#count").startswith("26–50 of")
    assert page.locator("#rows").text_content() != first
    page.click("#previous")
    assert page.locator("#rows").text_content() == first


def test_edits_are_marked_beyond_the_basic_plane(page: Any) -> None:
    search(page, "emoji")
    row = page.locator("#rows tr")
    assert row.locator("del").all_text_contents() == ["good"]
    assert row.locator("ins").all_text_contents() == ["goоd"]
    assert row.locator("ins b").all_text_contents() == ["о"]
    assert row.locator("ins").get_attribute("title") == "о is U+043E"
    assert row.locator(".field").all_text_contents() == ["premise", "hypothesis"]


def test_marks_do_not_rest_on_colour(page: Any) -> None:
    search(page, "emoji")
    style = "node => getComputedStyle(node).textDecorationLine"
    assert page.locator("#rows del").evaluate(style) == "line-through"
    assert page.locator("#rows ins").evaluate(style) == "underline"


def test_dark_and_light(page: Any, browser: Any, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark, "the choice is kept"
    page.click("#theme")
    assert page.evaluate(ground) == light
    night = browser.new_page(color_scheme="dark")
    night.goto(report.as_uri())
    assert night.evaluate(ground) == dark
    night.close()


def test_the_page_does_not_scroll_sideways(page: Any) -> None:
    for width in (1280, 420):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_large_table_stays_quick(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_text(render(sample(1000, 1, 5)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    spent = page.evaluate(
        """() => { const start = performance.now();
        document.querySelectorAll('#columns button').forEach((button) => button.click());
        return performance.now() - start; }"""
    )
    assert spent < 4000, "eight sorts of 5,000 rows"
    search(page, "reviewer")
    assert total(page) == 5000
    page.close()
