"""`import malaprop as mp`: what editors are told is what there is."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import toy

import malaprop as mp
from malaprop.core.errors import MalapropError

ROOT = Path(__file__).parents[3]


def test_the_stub_is_what_the_settings_say():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    assert stubs.FILE.read_text(encoding="utf-8") == stubs.stub(), "run: python tools/stubs.py"


def test_names_of_rooms_stand_beside_those_of_the_frame():
    named = {"defend", "audit", "attack", "check", "explain", "train", "harden", "detect", "certify", "transfer"}
    assert named <= set(mp.__all__)
    assert {"victim", "study", "run", "report", "Result"} <= set(mp.__all__)
    assert mp.certify is importlib.import_module("malaprop.features.defending.certify_study").certify


def test_run_takes_a_file_alone():
    with pytest.raises(MalapropError, match=r"mp\.run takes a file of TOML, got a value of Attack"):
        mp.run(toy.listed())


def test_certificates_in_python(tmp_path):
    texts = [("a good film", 1), ("a bad film", 0)]
    found = mp.certify(toy.predict, texts, n=0, samples=20, select=5, seed=1, out=tmp_path / "out")
    assert found.record.clean.total == 2
    assert (tmp_path / "out" / "certified.json").is_file()
    with pytest.raises(MalapropError, match="five"):
        mp.certify(toy.predict, texts, defence="five")


def test_a_detector_in_python(tmp_path):
    texts = [(f"a {word} film {at}", int(word == "good")) for word in ("good", "bad") for at in range(20)]
    found = mp.detect("fgws", toy.predict, texts, n=0, out=tmp_path / "out", keep=False)
    assert found.record.models[0].name.startswith("detect:fgws(")
    with pytest.raises(MalapropError, match="no-such"):
        mp.detect("no-such", toy.predict, texts)


def test_words_are_weighed_in_python():
    victim = mp.victim(toy.predict, label_names=("negative", "positive"))
    found = mp.explain(victim, "a good film")
    assert [one.word for one in found.words] == ["a", "good", "film"]
    assert max(found.words, key=lambda one: one.importance).word == "good"
    assert (found.label, found.label_name) == (1, "positive")
    other = mp.explain(victim, "a good film", label="Negative")
    assert other.label == 0
    assert other.words[1].importance < 0
    with pytest.raises(MalapropError, match="has the labels negative, positive"):
        mp.explain(victim, "a good film", label="neutral")
