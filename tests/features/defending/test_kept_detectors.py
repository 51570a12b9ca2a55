"""Detectors that the cache keeps: one for each method with its settings, found again as they are typed."""

from __future__ import annotations

import re

import pytest
import toy

from malaprop.core.errors import SettingError
from malaprop.features.defending.detect import Detect
from malaprop.features.defending.detection.detector import find_kept, mark_settings, place_kept
from malaprop.frame.runs.victims import victim
from malaprop.frame.runs.wrap import read_layer
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct


@pytest.fixture
def fit(tmp_path, monkeypatch):
    """Fits a method for the toy victim, on few texts; the cache is empty at first."""
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    for name in ("fgws", "near"):
        where = f"malaprop.features.defending.detection.{name}.find_neighbours"
        monkeypatch.setattr(where, lambda word, _: toy.SYNONYMS.get(word, ()))
    rows = tmp_path / "rows.csv"
    pair = ("bad fine", "good poor")  # the first word decides, until it is misspelt
    texts = "".join(f"{words} film {n},{label}\n" for n in range(40) for label, words in enumerate(pair))
    rows.write_text(f"text,label\n{texts}")

    def make(method, **more):
        given = {"victim": "toy:predict", "data": str(rows), "quiet": True, "device": "cpu", "goals": ["untargeted"]}
        return conduct(build(find_study("detect fit"), {"method": method, **given, **more}))

    return make


def find_method(spec):
    """Which method the victim behind a detector was given."""
    made = victim(spec)
    return made.method._open(made.victim).card.method


def test_each_method_with_its_settings_is_kept_and_found(fit):
    """all:of=fgws+wdr replaced what all had made, and the other way round."""
    for method in ("all", "all:of=fgws+wdr", "fgws:rare=50", "fgws"):
        fit(method, attack=["deepwordbug"])
    for method in ("all", "all:of=fgws+wdr", "fgws:rare=50", "fgws"):
        assert find_method(f"detect:{method}(toy:predict)") == method
    again = fit("all", attack=["deepwordbug"], false_positives=0.2).record
    assert again.models[0].figures["false_positives"] == 0.2
    made = victim("detect:all(toy:predict)")
    assert made.method._open(made.victim).card.false_positives == 0.2  # the last one of these settings
    assert find_method("detect:all:of=fgws+wdr(toy:predict)") == "all:of=fgws+wdr"


def test_what_the_terminal_says_to_attack_is_what_was_fitted(fit):
    made = fit("fgws:rare=50")
    said = made.view.next
    assert "--victim 'detect:fgws:rare=50(toy:predict)'" in said
    assert find_method(re.search("'(detect:.*?)'", said)[1]) == "fgws:rare=50"
    behind = victim("detect:fgws:rare=50(toy:predict)")
    assert behind.name == "detect:by=fgws:rare=50(toy:predict)"
    assert find_method(behind.name) == "fgws:rare=50"


def test_one_that_was_fitted_before_is_found_under_the_name_of_its_method(fit):
    """A folder for each method and victim, whatever the settings: that is how they were kept."""
    fit("fgws:rare=50")
    one = victim("toy:predict")
    old, kept = place_kept("fgws", one), find_kept("fgws:rare=50", one)
    assert kept != old
    kept.rename(old)
    assert find_kept("fgws:rare=50.0", one) == old
    assert find_kept("fgws", one) is None  # its settings are others
    fit("fgws")
    assert find_kept("fgws", one) == old
    assert find_kept("fgws:rare=50", one) is None


def test_a_damaged_one_is_said_to_be_damaged(fit):
    fit("fgws")
    (place_kept("fgws", victim("toy:predict")) / "detector.json").write_text("{")
    with pytest.raises(SettingError, match="not a complete detector"):
        victim("detect:fgws(toy:predict)")


def test_settings_are_the_same_however_they_are_typed():
    assert mark_settings("all") == mark_settings("all:of=fgws+wdr+rde+near") == ""
    assert mark_settings("near:up=2:down=1") == mark_settings("near:down=1:up=2") != ""
    assert mark_settings("fgws:rare=50") == mark_settings("fgws: rare = 50.0:nearest=8") != mark_settings("fgws:rare=5")
    assert mark_settings("rtd:hidden=true") != mark_settings("rtd") == mark_settings("rtd:hidden=false")


REFUSED = {
    "detect:fgws(toy:predict)": "kept for it: detect:fgws:rare=50",
    "detect:fgws:rare=40(toy:predict)": "malaprop detect fit fgws:rare=40 --victim toy:predict",
    "detect:fgws:rar=50(toy:predict)": "did you mean rare",
    "detect:fgws:50(toy:predict)": "name=value",
    "detect:all:of=fgsw(toy:predict)": "did you mean fgws",
    "detect:models/guard:rare=50(toy:predict)": "a folder takes no settings",
}


@pytest.mark.parametrize("spec", REFUSED)
def test_what_is_not_kept_is_refused_in_a_line(spec, fit):
    fit("fgws:rare=50")
    with pytest.raises(SettingError, match=re.escape(REFUSED[spec])) as refused:
        victim(spec)
    assert "\n" not in str(refused.value)


def test_a_seed_beside_a_method_is_the_defences_own():
    assert read_layer("detect", ("fgws", "rare=50", "seed=3")) == (Detect(by="fgws:rare=50"), 3)
    assert read_layer("detect", ("by=fgws",)) == (Detect(by="fgws"), 0)
