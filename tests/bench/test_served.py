"""The share of a server's capacity that attacks use: a stub with few places, and the figures on the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from malaprop_bench import served
from malaprop_bench.page import filled, read

from malaprop.core.example import Example

DOCS = Path(__file__).parents[2] / "docs"


def test_a_stub_answers_no_more_at_a_time_than_it_has_places(monkeypatch):
    monkeypatch.setattr(served, "ANSWER", 0.01)

    async def ask(places: int, many: int) -> served.Stub:
        stub = served.Stub(asyncio.Semaphore(places))
        await asyncio.gather(*(stub.answer("so good") for _ in range(many)))
        return stub

    stub = asyncio.run(ask(2, 8))
    assert stub.answers == 8
    assert stub.busy >= 8 * 0.01
    assert stub.times[-1] - stub.times[0] >= 4 * 0.01


def test_an_answer_depends_on_the_words_alone():
    one, other = (served.reply(prompt)["choices"] for prompt in ("a good film", "a  good film"))
    assert one == other != served.reply("a bad film")["choices"]


def test_an_attack_asks_a_stub_in_another_process():
    texts = [f"so good a film as number {number}" for number in range(5)]
    examples = [Example(text, {"text": text}, served.LABELS.index(served.name_label(text))) for text in texts]
    one = served.measure("deepwordbug", places=4, concurrency=8, examples=examples)
    assert one["texts"] == 3
    assert one["answers"] > 3
    assert 0 < served.share(one) <= one["busy"] / one["places"] / one["seconds"] <= 1


def test_the_share_by_hand():
    one = {"answers": 320, "answer_s": 0.05, "places": 16, "seconds": 2.0}
    assert served.share(one) == pytest.approx(0.5)


def test_the_page_shows_the_record():
    page = (DOCS / "appendix" / "performance.md").read_text(encoding="utf-8")
    records = read(DOCS / "measured" / "served.jsonl")
    assert [len(row) for row in served.rows(records)] == [len(served.HEAD)] * len(served.CELLS)
    assert "<!-- table: ../measured/served.jsonl served -->" in page
    assert filled(page, DOCS / "appendix")[0] == page
    small, middle, *large = map(served.share, records)
    assert min(small, middle) >= 0.9 > max(large)
    assert f"`pwws` uses {large[0]:.0%}, `genetic` {large[1]:.0%}" in page
