"""Word importance, on a victim whose log-likelihoods can be worked out by hand; and how it is drawn."""

from __future__ import annotations

import io
import json
import math
import re
from typing import cast
from xml.etree import ElementTree

import numpy as np
import pytest
import toy
from rich.console import Console

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, DataError, RecordError, SettingError, VictimError
from malaprop.core.victim import Victim
from malaprop.features.explain.heat import Heat, color_text, print_heat, render, word_figure, write_heat
from malaprop.features.explain.importance import Importance, importance, wordnet_substitutes
from malaprop.models.victims.strings import StringVictim


def listed(word: str) -> tuple[str, ...]:
    return toy.SYNONYMS.get(word.lower(), ())


def log_good(weight: float) -> float:
    return -math.log1p(math.exp(-weight))


def only(text, victim: Victim | None = None, **settings) -> Importance:
    (found,) = importance(victim or toy.victim(), [text], **settings)
    return found


def test_importance_by_hand():
    found = only("A good, bad great film!", substitutes=listed)
    assert (found.label, found.asked) == (1, 1 + 5 + 8)
    whole = 2 - 2 + 3
    assert found.log_likelihood == pytest.approx(log_good(whole), abs=1e-5)
    (side,) = found.fields
    values = {w.word: w.importance for w in side.words}
    for word, weight in {"A": 0, "good": 2, "bad": -2, "great": 3, "film": 0}.items():
        assert values[word] == pytest.approx(log_good(whole) - log_good(whole - weight), abs=1e-5)
    assert values["great"] > values["good"] > 0 > values["bad"]
    great = next(w for w in side.words if w.word == "great")
    assert [s.word for s in great.substitutes] == ["fine", "good"]  # strongest first
    assert great.substitutes[0].importance == pytest.approx(log_good(3) - log_good(1), abs=1e-5)
    assert "".join([side.before, *(w.word + w.after for w in side.words)]) == "A good, bad great film!"


def test_another_label_turns_the_signs():
    for label, sign in ((1, 1), (0, -1)):
        (side,) = only("a good film", label=label).fields
        assert np.sign(side.words[1].importance) == sign
        assert side.words[0].importance == pytest.approx(0)


def test_pairs_keep_their_fields_also_where_one_is_empty():
    found = only({"premise": "'good film'.", "context": "", "hypothesis": " bad plot"})
    assert [(s.name, s.before, [(w.word, w.after) for w in s.words]) for s in found.fields] == [
        ("premise", "'", [("good", " "), ("film", "'.")]),
        ("context", "", []),
        ("hypothesis", " ", [("bad", " "), ("plot", "")]),
    ]


def test_many_texts_are_one_batch_and_the_answers_stand_alone():
    texts = ["a good film", "bad", "great plot, poor film"]
    calls = toy.Calls()
    together = importance(toy.victim(calls), texts, substitutes=listed)
    assert calls.batches <= 3  # one for words, one for substitutes, whatever the texts
    assert together == [only(t, substitutes=listed) for t in texts]
    assert together == importance(toy.victim(), texts, substitutes=listed, width=1)


def test_scores_that_are_no_probabilities_go_through_a_softmax():
    raw = StringVictim(call=lambda texts: [[0.0, toy.weigh(t)] for t in texts], name="raw")
    values = ([w.importance for w in only("a good film", one).fields[0].words] for one in (raw, toy.victim()))
    assert next(values) == pytest.approx(next(values), abs=1e-6)


def test_substitutes_keep_the_case_and_leave_out_the_word_itself(tiny_assets):
    found = only("Good FILM good", substitutes=wordnet_substitutes())
    words = [sorted(s.word for s in w.substitutes) for w in found.fields[0].words]
    assert words == [["Fine", "Nice"], ["MOVIE", "PICTURE"], ["fine", "nice"]]
    same = only("good", substitutes=lambda word: ["good", "", "nice", "nice"])
    assert [s.word for s in same.fields[0].words[0].substitutes] == ["nice"]


def test_what_cannot_be_explained():
    with pytest.raises(DataError, match="holds no word"):
        only(" ?! ")
    with pytest.raises(SettingError, match="label must be from 0 to 1 for toy, got 2"):
        only("good", label=2)
    with pytest.raises(VictimError, match="answered with nan"):
        only("good", toy.victim(lambda texts: [[math.nan, 1.0]] * len(texts)))
    with pytest.raises(CapabilityError, match="explain needs scores"):
        only("good", toy.victim(offers=frozenset({Capability.LABELS})))


NASTY = 'good <script>alert(1)</script> & "bad" \x1b[31m film\x00'


def heat(text="a good, bad film", **settings) -> Heat:
    return cast(Heat, only(text, substitutes=listed, **settings).to_dict())


def test_the_page_is_whole_and_text_stays_text(tmp_path):
    page = write_heat([heat(NASTY), heat(NASTY, label=0)], tmp_path / "deep" / "heat")
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "&lt;" in html
    assert "\x1b" not in html
    assert "\x00" not in html
    assert not re.search(r"(?:src|href)=|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html
    assert "for the label" in html
    assert "against the label" in html
    assert sorted(p.name for p in page.parent.iterdir()) == ["heat.html", "heat.svg", "importance.json"]
    drawn = ElementTree.fromstring((page.parent / "heat.svg").read_text(encoding="utf-8"))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    record = json.loads((page.parent / "importance.json").read_text(encoding="utf-8"))
    assert [r["label"] for r in record] == [1, 0]
    assert render(record) == html  # the record alone is enough to draw it again


def cells(svg: str, kind: str) -> list[float]:
    return [float(o) for o in re.findall(rf'class="{kind}" fill-opacity="([\d.]+)"', svg)]


def test_the_figure_shows_signs_and_strengths():
    svg = word_figure([heat("a great good bad film")])
    legend = 7
    assert len(cells(svg, "for")) + len(cells(svg, "against")) == 5 + legend
    shown = re.findall(r"<title>toy, (\w+): ([+-][\d.]+)</title>", svg)
    assert [word for word, _ in shown] == ["a", "great", "good", "bad", "film"]
    values = {word: float(value) for word, value in shown}
    assert values["great"] > values["good"] > 0 > values["bad"]


def test_long_texts_are_cut_in_bands():
    short, long = (word_figure([heat(" ".join(["good"] * n))]) for n in (24, 60))
    widths = [float(ElementTree.fromstring(svg).get("width", "0")) for svg in (short, long)]
    heights = [float(ElementTree.fromstring(svg).get("height", "0")) for svg in (short, long)]
    assert widths[0] == widths[1]
    assert heights[1] > 2 * heights[0]


def test_a_page_without_substitutes_or_differences():
    flat = StringVictim(call=lambda texts: [[0.5, 0.5]] * len(texts), name="flat")
    page = render([cast(Heat, only("one word", flat).to_dict())])
    assert "Strongest substitutes" not in page
    assert "nan" not in page


def test_the_terminal_gets_colours_and_nothing_that_steers_it():
    shown = io.StringIO()
    print_heat(heat(NASTY), Console(file=shown, force_terminal=True, color_system="truecolor", width=60))
    assert "\x1b[31m" not in shown.getvalue()
    assert re.search(r"\x1b\[30;48;2;\d+;\d+;\d+mgood", shown.getvalue())
    plain = io.StringIO()
    print_heat(heat(label=1), Console(file=plain, width=60))
    assert "a good, bad film" in plain.getvalue()
    assert "\x1b" not in plain.getvalue()
    assert re.search(r"bad\s+-\d\.\d+\s+\w+ \([+-]", plain.getvalue())


def test_words_for_and_against_have_their_own_hues():
    line = color_text(heat("good bad a", label=1))
    found = {line.plain[s.start : s.end]: s.style.bgcolor.triplet for s in line.spans if s.style.bgcolor}
    assert set(found) == {"good", "bad"}
    assert found["good"].blue > found["good"].red
    assert found["bad"].red > found["bad"].blue


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot write"):
        write_heat([heat()], tmp_path / "file")
