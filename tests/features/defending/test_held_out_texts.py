"""Which texts a detector learns from and which are held out: attacked ones on both sides, no text on both."""

from __future__ import annotations

from dataclasses import replace

import pytest
import toy

from malaprop.core.errors import SettingError
from malaprop.features.defending.detection.detector import DetectorCard, FitTexts, cut_texts, fit_detector
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

CARD = DetectorCard(method="wdr", victim="toy", labels=("no", "yes"), data="d", false_positives=0.05, threshold=0.5)
TEXTS = {f"t{n}": (f"good w{n} film v{n}",) for n in range(200)}


def attack(ids):
    return [(id, (TEXTS[id][0].replace("good", "poor"),)) for id in ids]


def cut(texts):
    return cut_texts(texts, counts=False)


def test_a_run_on_the_first_of_the_texts_is_on_both_sides():
    """A small sample of a seed begins a larger one: all attacked texts were learnt from, and none was held out."""
    tried = list(TEXTS)[:40]
    texts = FitTexts(clean=TEXTS, attacked=attack(tried[::2]), corpus=(), tried=(tried,))
    found = cut(texts)
    assert len(found.learns) == 150  # as many as ever
    assert found.learns == [*tried[:30], *list(TEXTS)[40:160]]
    assert found.held == [*tried[30:], *list(TEXTS)[160:]]
    made = fit_detector(toy.victim(), CARD, replace(texts, attacked=attack(tried)))
    assert (made.card.attacked, made.card.held_out) == (30, 50)
    assert made.card.auc is not None


@pytest.mark.parametrize("tried", [(), (list(TEXTS),), (list(TEXTS), list(TEXTS))])
def test_where_all_texts_are_attacked_the_last_quarter_is_held_out(tried):
    """As it was: fits on the default settings keep their figures."""
    found = cut(FitTexts(clean=TEXTS, attacked=attack(list(TEXTS)[::3]), corpus=(), tried=tried))
    assert found.learns == list(TEXTS)[:150]
    assert found.held == list(TEXTS)[150:]


def test_texts_of_a_run_that_are_not_among_the_data_are_on_both_sides():
    """They stood last, and all of them were held out."""
    other = list(TEXTS)[160:]
    found = cut(FitTexts(clean=TEXTS, attacked=attack(other), corpus=(), tried=(other,)))
    assert len({*found.learns} & {*other}) == 30
    assert len(found.held) == 50


def test_each_of_several_runs_is_on_both_sides():
    one, two = list(TEXTS)[:100], list(TEXTS)[:20]
    found = cut(FitTexts(clean=TEXTS, attacked=attack(one), corpus=(), tried=(one, two)))
    for run in (one, two):
        assert len({*found.held} & {*run}) == len(run) // 4


@pytest.mark.parametrize("many", [3, 4, 7])
def test_a_few_broken_texts_are_on_both_sides(many):
    for broken in (list(TEXTS)[:many], list(TEXTS)[-many:]):
        found = cut(FitTexts(clean=TEXTS, attacked=attack(broken), corpus=(), tried=(list(TEXTS),)))
        assert {*found.held} & {*broken}
        assert {*found.learns} & {*broken}
        assert len(found.held) == 50


def test_a_text_that_occurs_twice_is_on_one_side():
    clean = {f"{id}-{copy}": text for copy in "abc" for id, text in list(TEXTS.items())[:80]}
    attacked = [(id, ("poor",)) for id in list(clean)[::7]]
    found = cut(FitTexts(clean=clean, attacked=attacked, corpus=(), tried=(list(clean)[:100],)))
    assert not {clean[id] for id in found.learns} & {clean[id] for id in found.held}
    assert len(found.learns) + len(found.held) == 240
    assert len(found.held) == 60
    same = dict.fromkeys(clean, ("good",))
    with pytest.raises(SettingError, match="differ"):
        fit_detector(toy.victim(), CARD, FitTexts(clean=same, attacked=attacked, corpus=()))


def test_all_texts_and_a_run_on_fewer_have_an_auc(tmp_path):
    """As a user does: attack some texts, and fit a detector on all of them and that run."""
    pair = ("bad fine", "good poor")  # the first word decides, until it is misspelt
    lines = "".join(f"{words} film {n},{label}\n" for n in range(120) for label, words in enumerate(pair))
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}")
    given = {"victim": "toy:predict", "data": str(tmp_path / "rows.csv"), "quiet": True, "device": "cpu"}
    conduct(build(find_study("attack"), {"recipe": "deepwordbug", "n": 40, "out": tmp_path / "run", **given}))
    fit = {"method": "wdr", "attack": [str(tmp_path / "run")], "n": "all", "keep": False, **given}
    figures = conduct(build(find_study("detect fit"), fit)).record.models[0].figures
    assert figures["clean_texts"] == figures["adversarial_texts"] == 30
    assert figures["held_out_texts"] == 60
    assert figures["held_out_auc"] > 0.5
