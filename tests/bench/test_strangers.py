"""What a memory of queries costs others, and what its page says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from malaprop_bench import page, strangers

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "stateful.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("tiny_assets")
def test_texts_that_are_alike_are_rejected_and_counted():
    forms = [(f"gripping story told with warmth wit clever dialogue number{n}",) for n in range(9)]
    others = [(f"word{n} sky{n} sea{n} land{n}",) for n in range(20)]
    found = strangers.measure([*forms, *others], 4)
    assert (found["rejected"], found["texts"]) == (5, 29)


def test_the_table_of_the_page_is_that_of_the_record():
    assert page.filled(PAGE, DOCS) == (PAGE, 1)


def test_what_the_page_says_of_people_who_attack_nothing():
    (held,) = page.read(DOCS / "measured/strangers.json")
    shares = {name: found["5"]["rejected"] / found["5"]["texts"] for name, found in held["streams"].items()}
    assert f"at most {100 * max(shares.values()):.2f}% of them are rejected with a limit of 5" in " ".join(PAGE.split())
