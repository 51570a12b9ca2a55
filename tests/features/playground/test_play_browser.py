"""The playground in a real Chromium: it works by mouse, key and thumb, asks nobody else, and runs no text."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the pages are an extra")

import toy
from live_site import live

from malaprop.data.base import Dataset
from malaprop.features.playground.app import make_app
from malaprop.features.playground.victims import PlaygroundVictims, warm_up
from malaprop.frame.records.outcome import from_json

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")
BAD = '<script>window.hacked=1</script> "><img src=x onerror="window.hacked=1"> good film'
WORDY = " ".join(["good", "fine", "great"] * 20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as made:
        opened = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Mortal:
    """The toy victim, until it is told to die or to take its time."""

    alive, slow = True, 0.0

    def __call__(self, texts: Any) -> Any:
        time.sleep(self.slow)
        if not self.alive:
            raise RuntimeError("key-abc123 in /home/me/model")
        return toy.predict(texts)


@pytest.fixture
def mortal() -> Mortal:
    return Mortal()


@pytest.fixture
def site(monkeypatch, tiny_assets, mortal) -> Iterator[str]:
    shared = {name: made for name, made in toy.toy_services(toy.victim()).items() if name not in ("victim", "verify")}
    monkeypatch.setattr("malaprop.frame.runs.services.shared", lambda: shared)
    rows = toy.examples(["a bad film", "a good film", BAD])
    data = Dataset(name="toy", examples=tuple(rows), labels=("bad", "good"))
    with live(make_app(PlaygroundVictims([toy.victim(mortal), toy.victim()], data=data))) as address:
        yield address


@pytest.fixture
def page(browser: Any, site: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    noise: list[str] = []
    opened.on("console", lambda message: noise.append(message.text))
    opened.on("pageerror", lambda error: noise.append(str(error)))
    opened.on("request", lambda request: noise.append(request.url) if not request.url.startswith(site) else None)
    opened.goto(site)
    opened.noise = noise
    yield opened
    assert [line for line in noise if not line.startswith(("data:,", "blob:"))] == []
    context.close()


def card(page: Any, number: int = 0) -> Any:
    return page.locator("#victims > section").nth(number)


def attack(page: Any) -> None:
    page.click("#attack")
    for number in (0, 1):
        card(page, number).locator(".attack .facts span:has-text('reached the model')").wait_for()


def test_scores_and_words_are_there_at_once(page: Any) -> None:
    first = card(page)
    first.locator("button.word").first.wait_for()
    assert first.locator(".says").text_content() == "bad"
    assert first.locator(".scores .first .value").text_content() == "88.1%"
    assert first.locator("button.word").all_text_contents() == ["a+0.00", "bad+0.57", "film+0.00"]
    word = first.locator("button.word", has_text="bad")
    assert word.get_attribute("aria-label") == "bad, +0.57"
    assert word.evaluate("node => getComputedStyle(node).textDecorationLine") == "underline", "not by colour alone"
    page.fill("textarea", "a great film")
    first.locator(".says", has_text="good").wait_for()
    page.get_by_label("Or pick one").select_option("0")
    first.locator(".says", has_text="bad").wait_for()


def test_a_word_shows_its_substitutes_and_takes_one(page: Any) -> None:
    first = card(page)
    first.locator("button.word", has_text="bad").click()
    rows = first.locator(".substitutes tbody tr")
    rows.first.wait_for()
    assert [row.split("+")[0] for row in rows.all_text_contents()] == ["okay", "poor"]
    assert "flips" in rows.first.text_content()
    rows.first.get_by_role("button", name="Put okay in place of bad").click()
    first.locator(".says", has_text="good").wait_for()
    assert page.input_value("textarea") == "a okay film"


def test_an_attack_is_watched_and_kept(page: Any, tmp_path: Path) -> None:
    card(page).locator("button.word").first.wait_for()
    attack(page)
    first = card(page)
    assert first.locator(".attack .status").text_content() == "changed its mind"
    assert first.locator(".now del").all_text_contents() == ["bad"]
    assert first.locator(".now ins").all_text_contents() == ["okay"]
    steps = first.locator(".steps button")
    assert steps.count() == 2
    assert steps.nth(1).get_attribute("aria-current") == "step"
    steps.nth(0).click()
    assert first.locator(".now ins").count() == 0
    assert page.locator("#tries tr").count() == 2
    page.reload()
    assert page.locator("#tries tr").count() == 2, "kept in the tab"
    with page.expect_download() as caught:
        page.click("#download")
    caught.value.save_as(tmp_path / "outcomes.jsonl")
    lines = (tmp_path / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
    assert [from_json(line).status for line in lines] == ["success", "success"]
    assert json.loads(lines[0])["recipe"] == "pwws"
    page.click("#clear")
    assert page.locator("#tries tr").count() == 0


def test_the_keyboard_is_enough(page: Any) -> None:
    first = card(page)
    first.locator("button.word").first.wait_for()
    page.focus("textarea")
    page.keyboard.press("Control+Enter")
    first.locator(".attack .status.success").wait_for()
    first.locator("button.word").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    first.locator(".substitutes tbody tr").first.wait_for()
    assert first.locator("button.word[aria-pressed=true]").get_attribute("aria-label") == "bad, +0.57"
    assert first.locator("button.word[tabindex='0']").count() == 1, "one stop for all words"


def test_no_text_runs(page: Any) -> None:
    page.get_by_label("Or pick one").select_option("2")
    card(page).locator("button.word", has_text="hacked").first.wait_for()
    attack(page)
    assert "<script>" in page.locator("#tries").text_content()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_stopping_ends_the_attack(page: Any, mortal: Mortal) -> None:
    page.fill("textarea", WORDY)
    card(page).locator("button.word", has_text="great").nth(19).wait_for()
    mortal.slow = 0.3
    page.select_option("#recipe", "genetic")
    page.click("#attack")
    card(page).locator(".attack .steps button").first.wait_for()
    page.click("#stop")
    card(page).locator(".attack .status", has_text="stopped").wait_for()
    assert page.locator("#attack").is_enabled()


def test_a_dead_victim_and_a_long_text_meet_clear_words(page: Any, mortal: Mortal) -> None:
    card(page).locator("button.word").first.wait_for()
    mortal.alive = False
    page.fill("textarea", "the bad film")
    card(page).locator(".wrong", has_text="toy did not answer").wait_for()
    card(page, 1).locator(".says", has_text="bad").wait_for()
    page.click("#attack")
    card(page, 1).locator(".attack .status.success").wait_for()
    card(page).locator(".attack", has_text="toy did not answer").wait_for()
    assert not [word for word in ("abc123", "/home", "RuntimeError") if word in page.content()]
    mortal.alive = True
    page.fill("textarea", "word " * 2_001)
    page.locator("#problem", has_text="at most 2,000").wait_for()
    page.evaluate("document.querySelector('textarea').value = 'a'.repeat(1000000)")
    page.locator("textarea").dispatch_event("input")
    page.locator("#problem", has_text="at most 128 KB").wait_for()
    page.fill("textarea", "a great film")
    card(page).locator(".says", has_text="good").wait_for()
    assert page.locator("#problem").is_hidden()
    page.noise[:] = [line for line in page.noise if not any(code in line for code in ("400", "413", "503"))]


def test_a_broken_link_is_a_page(page: Any, site: str) -> None:
    answer = page.goto(f"{site}/no/such/page")
    assert answer.status == 404
    assert "There is no such page" in page.text_content("main")
    page.noise[:] = [line for line in page.noise if "404" not in line]


def test_phones_and_the_dark(page: Any) -> None:
    card(page).locator("button.word").first.wait_for()
    attack(page)
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_problem(browser: Any, site: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(site)
    card(page).locator("button.word").first.wait_for()
    attack(page)
    page.check("#numbers")
    card(page).locator("button.word", has_text="bad").click()
    card(page).locator(".substitutes tbody tr").first.wait_for()
    found = axe.Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious] == []
    context.close()


@pytest.mark.assets
def test_first_scores_and_steps_come_in_time(browser: Any, real_asset: Any) -> None:
    """On two cores: scores of 20 words within 100 ms; PWWS on the CNN shows a step within 300 ms and ends in 1.5 s."""
    from malaprop.core.errors import AssetError
    from malaprop.frame.runs.victims import victim

    real_asset("wordnet")
    try:
        room = PlaygroundVictims([victim("CNN-W-GloVe-1", quiet=True)])
    except AssetError as error:
        pytest.skip(str(error))
    warm_up(room)
    text = (
        "a moving , funny and beautifully acted film that never loses sight of its characters or of those watching them"
    )
    with live(make_app(room)) as address:
        page = browser.new_page()
        page.goto(address)
        spent = [page.evaluate(TIMED, text) for _ in range(5)]
        page.close()
    assert min(s["scored"] for s in spent) < 100
    assert min(s["step"] for s in spent) < 300
    assert min(s["end"] for s in spent) < 1500


# From the request to what the page has read of the answer, in milliseconds.
TIMED = """async (text) => {
  const { ask, listen } = await import("/static/server.js");
  const fields = { text };
  const out = {};
  let start = performance.now();
  await ask("/api/scores", { fields, victim: 0 });
  out.scored = performance.now() - start;
  start = performance.now();
  await listen("/api/attack", { fields, recipe: "pwws", label: null, seed: 0 }, undefined, (kind, found) => {
    const seen = kind === "step" && !found.edits.length ? "start" : kind;
    if (!(seen in out)) out[seen] = performance.now() - start;
  });
  return out;
}"""
