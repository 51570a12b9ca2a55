"""Figures and tables of an attention study, from its record alone."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from sample_attention import study

from malaprop.features.explain.record import (
    attention_figure,
    body,
    figure_files,
    print_example,
    render,
    terminal,
    variation_figure,
    write_examples,
)
from malaprop.frame.report.maps import ShadeTable, loglog, tables

HOSTILE = "<script>alert(1)</script>"


def test_the_card_has_tables_figures_and_no_markup_of_the_texts():
    page = str(body([study()]))
    for part in ("Attention study", "gs-ec", "0.500 (0.400-0.600, n=9)", "Theorem 1", "0/7", "layer 1"):
        assert part in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<svg") == 3  # states, attention, theorem
    assert body([]) == ""


def test_figures_are_whole_files_that_parse():
    files = figure_files(study().sights, study().bounds)
    assert set(files) == {"attention-0.svg", "states-0.svg", "theorem.svg"}
    for content in files.values():
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_shades_follow_the_values():
    (sight,) = study().sights
    drawn = [float(x) for x in re.findall(r'class="cell" fill-opacity="([\d.]+)"', str(variation_figure(sight)))]
    assert drawn == pytest.approx([0, 0.85, 0.85 / 3, 0.85], abs=1e-3)  # each row by its own largest
    maps = re.findall(r'class="cell" fill-opacity="([\d.]+)"', str(attention_figure(sight)))
    assert len(maps) == 8
    assert str(attention_figure(sight)).count('class="mark"') == 2


def test_attention_of_one_query_is_two_rows():
    (sight,) = study().sights
    one = replace(sight, maps=((1, ((0.2, 0.8),), ((0.6, 0.4),)),))
    shown = str(attention_figure(one))
    assert ">before<" in re.sub(r"<title>.*?</title>", "", shown)
    assert len(re.findall('class="cell"', shown)) == 4


def test_a_text_alone_has_its_attention_and_nothing_that_moved():
    (sight,) = study().sights
    alone = replace(sight, after=sight.before, changed=())
    assert variation_figure(alone) is None
    assert len(re.findall('class="cell"', str(attention_figure(alone)))) == 4
    assert attention_figure(replace(alone, maps=())) is None


def test_hostile_words_are_text(tmp_path):
    (sight,) = study().sights
    hostile = replace(sight, model=HOSTILE, before=(HOSTILE, "b"), after=(HOSTILE, "c"), said=(HOSTILE, HOSTILE))
    page = render([hostile])
    assert "<script" not in page
    assert "default-src &" in page
    path = write_examples([hostile], tmp_path / "out")
    assert path.name == "attention.html"
    assert sorted(p.name for p in path.parent.iterdir()) == ["attention-0.svg", "attention.html", "states-0.svg"]


def test_terminal_output(capsys):
    print_example(study().sights[0])
    said = terminal(study()) + capsys.readouterr().out
    assert "m, gs-ec, 9 texts" in said
    assert "0.50 (0.40-0.60)" in said
    assert "m: no before, yes after" in said
    assert "layer 1: c 1.50, a 0.50" in said
    assert "attention, layer 1: a +0.100, c -0.100" in said


def test_empty_figures():
    assert loglog("nothing", "x", [("a", [(1.0, 0.0)])]) == ""
    table = ShadeTable(title="t", rows=(), columns=(), values=())
    assert "<svg" in str(tables("t", "about", [[table]]))
