"""The search of the built site, on pages opened from disk: a newcomer's words bring the page that answers first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
FIRST = "document.querySelector('.md-search-result__item :is(h1, h2)').textContent"


@pytest.fixture(scope="module")
def box(browser: Any, site: Path) -> Iterator[Any]:
    """The page of the site with its box for searching open."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    yield page
    page.close()


def find(page: Any, words: str) -> str:
    """Type the words into the box and return the title of the first hit."""
    for typed, state in (("", "detached"), (words, "attached")):
        page.fill(".md-search__input", typed)
        page.dispatch_event(".md-search__input", "keyup")
        page.wait_for_selector(".md-search-result__item", state=state, timeout=20_000)
    return str(page.evaluate(FIRST))


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("how do I attack my own model", "own model"),
        ("api key", "prompt"),
        ("resume", "cluster"),
        ("ray", "cluster"),
        ("hugging face", "Hugging Face"),
        ("transformers", "Hugging Face"),
        ("scikit-learn", "scikit-learn"),
        ("sklearn", "scikit-learn"),
        ("robust accuracy", "Glossary"),
        ("attack success rate", "Glossary"),
        ("what does unsure mean", "judge of meaning"),
        ("limit cost", "limit spending"),
        ("openai", "prompt"),
        ("install", "Install"),
        ("json output", "Command line"),
        ("own attack", "own attack"),
        ("gpu", "Performance"),
        ("report", "Report"),
        ("csv", "bring texts"),
        ("adversarial training", "harden a model"),
        ("exit code", "continuous integration"),
        ("which attack should I use?", "attacks"),
        ("textfooler", "textfooler"),
        ("what is a recipe", "Glossary"),
        ("chinese", "language"),
        ("offline", "Assets"),
        ("getting started", "Quick start"),
        ("how do I make my model more robust", "harden a model"),
        ("how do I stop the run from costing more than 5 dollars", "limit spending"),
        ("is named entity recognition supported", "tagger"),
        ("how do I protect product names from being changed", "choose attacks"),
        ("how do I attack a keras model", "own model"),
        ("is windows supported", "install"),
        ("docker", "install"),
        ("does it send my texts anywhere", "Assets"),
        ("how do I cite malaprop", "Malaprop"),
        ("jailbreak", "prompt"),
        ("targeted attack on one label", "choose attacks"),
        ("what does nothing to change mean", "Glossary"),
        ("how many texts do I need", "bring texts"),
        ("how long does an audit take", "limit spending"),
        ("which words break my model", "why it breaks"),
        ("compare two runs", "report"),
        ("certified robustness", "certify"),
        ("translation attack", "translator"),
        ("spelling correction defence", "defence"),
        ("bug report", "Command line"),
        ("query budget", "limit spending"),
    ],
)
def test_the_first_hit_answers(box: Any, words: str, title: str) -> None:
    assert title.lower() in find(box, words).lower()


def test_a_page_of_measurements_comes_first_only_when_it_is_named(box: Any) -> None:
    for words, expected in (("adversarial examples", False), ("certified measurements", True)):
        find(box, words)
        titles = box.locator(".md-search-result__item h1").all_text_contents()
        assert any(title.startswith("Measurements") for title in titles[:5]) is expected, words


def test_the_last_of_what_is_typed_counts(box: Any) -> None:
    box.fill(".md-search__input", "")
    box.locator(".md-search__input").press_sequentially("query budget", delay=10)
    box.wait_for_function(f"document.querySelector('.md-search-result__item') && {FIRST} === 'How to limit spending'")
