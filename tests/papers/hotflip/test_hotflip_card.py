"""A HotFlip study in the report: its figure, its tables, and hostile words as text."""

import re

from sample_study import STUDY

from malaprop.papers.hotflip.record import HotFlipRecord, studies


def test_a_card_has_the_figure_and_every_table():
    page = studies([STUDY])
    assert re.findall(r"<h3>(.+?)</h3>", page) == [
        "Edits of each attack",
        "Before and after training against attacks",
        "Speed: gradient estimate against exact loss",
        "Nearest words before and after an edit",
    ]
    assert page.count("<svg") == 2  # the figure and the key of its one line
    for shown in ("90.0% (9/10", "8.0% (8/100", "80.00%", "4.00%", "40 times", "75.0% (3/4"):
        assert shown in page


def test_words_from_outside_stay_text():
    page = studies([STUDY])
    assert "<i>pasture" not in page
    assert "&lt;i&gt;pasture" in page
    assert "&lt;b&gt;" in page


def test_little_is_enough_and_nothing_is_nothing():
    assert studies([]) == ""
    assert "HotFlip study" in studies([HotFlipRecord(model="m", data="d", texts=0)])
