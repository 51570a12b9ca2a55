"""Draw how good the judge of meaning is, from its record: a reliability diagram and a ROC curve for each kind of pair.

python -m malaprop_bench.judged docs/measured/judge.json docs/judge.svg
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.judgement import CHANGED, KEPT
from malaprop.frame.records.summary import Rate

_SIDE, _LEFT, _TOP, _GAP, _LOW = 250, 48, 34, 70, 42  # of a panel, in points
_COLORS = ("#0b6fb8", "#c2410c", "#15803d", "#7c3aed", "#b45309", "#111")
_DASHES = ("", "7 4", "2 3", "9 3 2 3", "14 3", "5 2 1 2")


SOURCES = ("pairs that were held out", "kept", "changed", "AUC", "95% interval")
_NAMES = {
    "breaking_nli": "Breaking NLI: one word differs",
    "sick": "SICK: entailed and related from 4.5, against contradiction or up to 2",
    "sts": "STS benchmark: similarity from 4.5, against up to 2",
    "word swaps": "swaps of words made from WordNet in MR, AG News, IMDB and SNLI",
    "review sentences": "sentences of reviews rewritten to the other sentiment, against swaps, typos and casing",
    "textfooler, read blind": "successes of `textfooler` on MR and AG News, read blind",
}


def source_rows(record: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each kind of pairs: how well the judge tells kept from changed."""
    return [
        [_NAMES.get(name, name), f"{one['kept']:,}", f"{one['changed']:,}", f"{one['auc']:.3f}",
         "{:.3f}-{:.3f}".format(*one["interval"])]
        for name, one in record["sources"].items()
    ]  # fmt: skip


HEADS = (*SOURCES[:3], "AUC, packaged head", "new head", "new less packaged", "with other seeds", "same verdict")
_NEW_NAMES = {
    "word swaps": "swaps made as for training",
    "review sentences": "sentences of reviews, against swaps, typos and casing",
    "all": "all of these, with negations",
}


def head_rows(record: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each kind of pairs: how well the packaged head and a new one tell kept from changed."""
    rows = []
    for name, one in _kinds(record["runs"][0]).items():
        others = [_kinds(run)[name]["difference"]["auc"] for run in record["runs"][1:]]
        pairs = one.get("put_together", one["kept"] + one["changed"])
        rows.append([
            _NEW_NAMES.get(name, _NAMES.get(name, name)), f"{one['kept']:,}", f"{one['changed']:,}",
            _auc(one["shipped"]), _auc(one["new"]), _auc(one["difference"], "+"),
            ", ".join(f"{value:+.3f}" for value in others), f"{one['alike'] / pairs:.1%}",
        ])  # fmt: skip
    return rows


def _kinds(run: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {**run["sources"], "textfooler, read blind": run["textfooler"]}


def _auc(found: Mapping[str, Any], sign: str = "") -> str:
    low, high = found["interval"]
    return f"{found['auc']:{sign}.3f} ({low:.3f} to {high:.3f})"


BANDS = ("chance", "pairs", "of them kept")


def band_rows(record: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each band of chances: how many of its pairs are kept."""
    return [
        [f"{one['low']:g}-{one['high']:g}", f"{one['pairs']:,}", f"{one['kept']:.0%}"] for one in record["reliability"]
    ]


def draw(record: Mapping[str, Any]) -> str:
    """Return the two panels as SVG, with a legend of the kinds of pairs below them."""
    second = _LEFT + _SIDE + _GAP
    bottom = _TOP + _SIDE + _LOW
    rows = [
        _legend(i, name, found, bottom + 18 * (i // 2)) for i, (name, found) in enumerate(record["sources"].items())
    ]
    wide, high = second + _SIDE + 16, bottom + 18 * -(-len(rows) // 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11" '
        'role="img">\n<title>How often pairs keep their meaning against the judge\'s chance, and ROC curves</title>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{_reliability(record["reliability"])}\n'
        f"{_roc(record['sources'], second)}\n{''.join(rows)}\n</svg>\n"
    )


def _reliability(bands: Sequence[Mapping[str, Any]]) -> str:
    """Return the share of kept pairs in each band of chances, with its interval; on the diagonal it is the chance."""
    parts = [_frame(_LEFT, "Reliability", "the judge's chance", 1)]
    parts.append(_line([(0, 0), (1, 1)], _LEFT, 1, 'stroke="#999" stroke-dasharray="3 3"'))
    parts += [_line([(at, 0), (at, 1)], _LEFT, 1, 'stroke="#bbb"') for at in (CHANGED, KEPT)]
    for band in bands:
        rate = Rate(round(band["kept"] * band["pairs"]), band["pairs"])
        middle = (band["low"] + band["high"]) / 2
        ends = [(middle, edge) for edge in rate.interval]
        parts.append(_line(ends, _LEFT, 1, 'stroke="#0b6fb8" stroke-width="2"'))
        x, y = _place(middle, rate.value, _LEFT, 1)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0b6fb8"><title>{rate}</title></circle>')
    return "".join(parts)


def _roc(sources: Mapping[str, Mapping[str, Any]], left: int) -> str:
    """Return a curve a source: the share of kept pairs above a bound, against that of changed ones; up to a half."""
    parts = [_frame(left, "ROC", "changed pairs taken for kept", 0.5)]
    for i, found in enumerate(sources.values()):
        parts.append(_line([(0, 0), *found["roc"]], left, 0.5, _stroke(i)))
    return "".join(parts)


def _frame(left: int, title: str, below: str, most: float) -> str:
    parts = [f'<text x="{left}" y="18" font-size="13">{title}</text>']
    for k in range(5):
        share = k / 4
        y = _TOP + (1 - share) * _SIDE
        parts.append(f'<line x1="{left}" x2="{left + _SIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
        at = left + share * _SIDE
        parts.append(f'<text x="{at:.1f}" y="{_TOP + _SIDE + 15}" text-anchor="middle">{share * most:g}</text>')
    middle = left + _SIDE / 2
    parts.append(f'<text x="{middle:.1f}" y="{_TOP + _SIDE + 30}" text-anchor="middle">{below}</text>')
    parts.append(f'<text x="{left + 6}" y="{_TOP + 12}">pairs that are kept</text>' if most == 1 else "")
    return "".join(parts)


def _place(x: float, y: float, left: int, most: float) -> tuple[float, float]:
    return left + x / most * _SIDE, _TOP + (1 - y) * _SIDE


def _line(points: Sequence[Sequence[float]], left: int, most: float, stroke: str) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(one[0], one[1], left, most) for one in points))
    return f'<polyline points="{places}" fill="none" {stroke}/>'


def _stroke(number: int) -> str:
    dash = f' stroke-dasharray="{_DASHES[number]}"' if _DASHES[number] else ""
    return f'stroke="{_COLORS[number]}" stroke-width="2"{dash}'


def _legend(number: int, name: str, found: Mapping[str, Any], y: int) -> str:
    x = _LEFT + number % 2 * (_SIDE + _GAP)
    text = f'<text x="{x + 34}" y="{y + 4}">{name.replace("_", " ")}: AUC {found["auc"]:.3f}</text>'
    return f'<line x1="{x}" x2="{x + 28}" y1="{y}" y2="{y}" {_stroke(number)}/>{text}'


if __name__ == "__main__":
    held = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(draw(held), encoding="utf-8")
