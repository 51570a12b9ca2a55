"""Certified accuracy by the number of changed words: records of `malaprop certify` as tables and as a picture.

python -m malaprop_bench.certificates add docs/measured/certified.json OUT... --about "MiniLM, one H200"
python -m malaprop_bench.certificates draw docs/measured/certified.json docs/certified.svg
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.codec import decode, encode
from malaprop.core.errors import RecordError
from malaprop.features.defending.certified_record import CertifiedRecord, chart, curves
from malaprop.frame.report.figures import HEIGHT, legend_mark
from malaprop.frame.report.markup import tag
from malaprop_bench.picture import stand_alone

HEAD = ("model", "texts", "defence", "copies, alpha", "vote", "d = 1", "d = 2", "d = 3", "d = 5", "any number")
HELD = (
    "model", "texts", "defence", "attack", "d", "certified", "left by the attack", "attacked texts inside",
    "changed at random inside", "they turn the vote", "they contradict",
)  # fmt: skip
_LINE = 20  # height of a line of the key


def read(path: Path) -> list[tuple[str, CertifiedRecord]]:
    """Return the records of a file that `add` wrote, each with the model and machine it is about."""
    try:
        held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": []}
        return _records(held)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path} does not hold certificates: {error!r}; write it with: add") from None


def _records(held: Mapping[str, Any]) -> list[tuple[str, CertifiedRecord]]:
    return [(run["about"], decode(CertifiedRecord, run["certified"])) for run in held["runs"]]


def add(path: Path, folders: Sequence[Path], about: str) -> None:
    """Add the records of these folders to the file; the last of each model, data, defence and attack stays."""
    found = read(path)
    for folder in folders:
        record = CertifiedRecord.read(folder)
        if record is None:
            raise RecordError(f"{folder} holds no certified.json; write one with malaprop certify --out")
        found.append((about, record))
    kept = {(a, r.victim, r.data, r.defence, r.clean.total, r.top is None): (a, r) for a, r in found}
    runs = [{"about": about, "certified": encode(record)} for about, record in kept.values()]
    path.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row of certified accuracies for each record without an attack."""
    out = []
    for about, one in _records(held):
        if one.top is None:
            rates = [str(one.certified[d]) for d in (1, 2, 3, 5)]
            size = f"{one.samples:,}, {one.alpha:g}"
            out.append([about, one.data, f"`{one.defence}`", size, str(one.clean), *rates, str(one.every)])
    return out


def held_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each number of words: both bounds, and counts of attacked and randomly changed texts."""
    out = []
    for about, one in _records(held):
        if one.top is None and one.challenge is None:
            continue
        top, tried = one.top, one.challenge
        both = zip(one.certified, top.accuracy if top else one.certified[:1], strict=False)
        for d, (low, high) in enumerate(both):
            tests = [test for test in (top, tried) if test]
            wrong = [str(sum(getattr(test, name) for test in tests)) for name in ("flipped", "contradicted")]
            counts = [str(top.inside) if top else "-", f"{tried.tries:,}" if tried else "-", *wrong]
            name = [about, one.data, f"`{one.defence}`", f"`{top.recipe}`" if top else "-"]
            again = [""] * len(counts)
            out.append([*name, str(d), str(low), str(high) if top else "-", *(counts if d == 0 else again)])
    return out


def draw(found: Sequence[tuple[str, CertifiedRecord]]) -> str:
    """Draw the curves of the attacked records as an SVG file, of all records if none was attacked."""
    some = [(about, one) for about, one in found if one.top is not None] or list(found)
    named = [(f"{about}, {one.data}, {name}", rates) for about, one in some for name, rates in curves(one)]
    picture = str(chart("Certified accuracy and accuracy under attack against changed words", "Accuracy", named))
    key = "".join(
        str(
            tag(
                "g",
                legend_mark(number),
                tag("text", name, x=36, y=10),
                transform=f"translate(46 {HEIGHT + 14 + number * _LINE})",
            )
        )
        for number, (name, _) in enumerate(named)
    )
    return stand_alone(picture, key, below=20 + _LINE * len(named))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.certificates", description=__doc__)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser("add", help="add the records of folders to the file")
    one.add_argument("file", type=Path)
    one.add_argument("folders", type=Path, nargs="+")
    one.add_argument("--about", required=True, help="what was certified, and on which machine")
    two = parts.add_parser("draw", help="draw the picture")
    two.add_argument("file", type=Path)
    two.add_argument("picture", type=Path)
    given = parser.parse_args(words)
    if given.what == "add":
        add(given.file, given.folders, given.about)
    else:
        given.picture.write_text(draw(read(given.file)), encoding="utf-8")


if __name__ == "__main__":
    main()
