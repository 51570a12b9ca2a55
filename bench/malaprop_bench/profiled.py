"""Profiles of many victims, on two samples of texts: whether the samples agree, and hardened models beside plain ones.

python -m malaprop_bench.profiled add docs/measured/profile.json OUT... --about NAME="one epoch" --twin SWAPS=LSTM
python -m malaprop_bench.profiled draw docs/measured/profile.json docs/profile.svg
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.codec import decode, encode
from malaprop.core.errors import RecordError
from malaprop.features.profile.answers import NoiseAnswers
from malaprop.features.profile.gather import CURVES, profile_victim
from malaprop.features.profile.record import ProfileEntry, ProfileRecord
from malaprop.features.profile.report import CHART, chart
from malaprop.features.profile.score import estimate
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Rate
from malaprop.frame.tasks.outputs import JsonFile
from malaprop_bench.picture import stand_alone

HEAD = ("victim", "score", "score, second sample", "noise", "attack", "clean", "1 word", "10%", "20%", "queries")
TWINS = ("hardened", "plain", "score, hardened less plain", "noise", "attack")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """One run of `malaprop profile`: its record, and the areas of each text under both curves, 0 to 100, by victim."""

    profile: ProfileRecord
    areas: Mapping[str, Mapping[str, tuple[float, ...]]]  # victim: "noise" or "attack": [text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Runs over the same victims; `about` says how each was made, `twins` has the plain victim of each hardened one."""

    runs: tuple[ProfileRun, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)


def read(path: Path) -> Profiles:
    """Return what `add` wrote to the file; nothing if there is no file."""
    try:
        return decode(Profiles, json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Profiles()
    except (OSError, ValueError, RecordError) as error:
        raise RecordError(f"{path} does not hold profiles: {error}; write it with: add") from None


def add(path: Path, folders: Sequence[Path], about: Mapping[str, str], twins: Mapping[str, str]) -> None:
    """Add the profiles of these folders to the file; the last of each seed stays."""
    held = read(path)
    runs = {run.profile.seed: run for run in (*held.runs, *map(open_run, folders))}
    ordered = tuple(runs[seed] for seed in sorted(runs))
    kept = Profiles(runs=ordered, about={**held.about, **about}, twins={**held.twins, **twins})
    path.write_text(json.dumps(encode(kept)) + "\n", encoding="utf-8")


def open_run(folder: Path) -> ProfileRun:
    """Return the profile of a folder, without its kinds of noise and its transfer, and the areas of its texts."""
    record = ProfileRecord.read(folder)
    if record is None:
        raise RecordError(f"{folder} holds no profile.json; write one with malaprop profile --out")
    entries = tuple(
        replace(one, transfer={}, noise=tuple(replace(point, kinds={}) for point in one.noise))
        for one in record.entries
    )
    areas = {}
    for one in entries:
        if one.score is not None:
            noise = JsonFile(NoiseAnswers).value(folder / "noise" / one.victim)
            found = profile_victim(folder, one.victim, noise, (), 0)
            areas[one.victim] = {curve: _in_order(noise.ids, found.areas[curve]) for curve in CURVES}
    return ProfileRun(profile=replace(record, entries=entries), areas=areas)


def _in_order(ids: Sequence[str], areas: Mapping[str, float]) -> tuple[float, ...]:
    """Return the areas of the texts in one order for all victims; a text that ended in an error makes this raise."""
    return tuple(round(areas[id], 2) for id in ids)


def tau(one: ProfileRecord, other: ProfileRecord) -> float:
    """Return Kendall's rank correlation of the scores of the victims that both profiles have."""
    first, second = ({e.victim: e.score.value for e in record.entries if e.score} for record in (one, other))
    both = [name for name in first if name in second]
    signs = [np.sign(first[a] - first[b]) * np.sign(second[a] - second[b]) for a, b in combinations(both, 2)]
    return float(np.mean(signs))


def differ(held: Profiles, one: str, other: str, curves: Sequence[str] = CURVES) -> Estimate:
    """Return a victim's score less that of another, over the texts of all runs; of one curve, its area."""
    gaps = [
        np.mean([run.areas[one][curve] for curve in curves], 0)
        - np.mean([run.areas[other][curve] for curve in curves], 0)
        for run in held.runs
        if one in run.areas and other in run.areas
    ]
    return estimate(np.concatenate(gaps))


def rows(raw: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim: its figures in the first run, and its score in the second."""
    first, *others = decode(Profiles, raw).runs
    out = []
    for rank, one in enumerate(first.profile.entries, start=1):
        scores = [_score(_entry(run.profile, one.victim)) for run in others]
        areas = [_plain(area) for area in (one.noise_score, one.worst_score)]
        rates = [_rate(rate) for rate in (one.clean, one.one_word, one.worst_at(0.1), one.worst_at(0.2))]
        asked = one.queries and one.queries.median
        out.append([f"{rank}. {one.victim}", _score(one), *scores, *areas, *rates, f"{asked:.0f}" if asked else "-"])
    return out


def _entry(record: ProfileRecord, name: str) -> ProfileEntry | None:
    return next((one for one in record.entries if one.victim == name), None)


def _score(one: ProfileEntry | None) -> str:
    return _ranged(one.score) if one and one.score else "-"


def _ranged(found: Estimate, sign: str = "") -> str:
    return f"{found.value:{sign}.1f} ({found.low:{sign}.1f} to {found.high:{sign}.1f})"


def _plain(found: Estimate | None) -> str:
    return f"{found.value:.1f}" if found else "-"


def _rate(rate: Rate | None) -> str:
    return f"{rate.value:.1%}" if rate else "-"


def twin_rows(raw: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each hardened victim with its differences from the plain one."""
    held = decode(Profiles, raw)
    return [
        [name, plain, *(_ranged(differ(held, name, plain, curves), "+") for curves in (CURVES, *zip(CURVES)))]
        for name, plain in held.twins.items()
    ]


def draw(held: Profiles) -> str:
    """Draw both curves of all victims of the first run as an SVG file."""
    return stand_alone(str(chart(held.runs[0].profile.entries)), wide=CHART)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.profiled", description=__doc__)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser("add", help="add the profiles of folders to the file")
    one.add_argument("file", type=Path)
    one.add_argument("folders", type=Path, nargs="+")
    one.add_argument("--about", action="append", default=[], help="NAME=TEXT: how a victim was made")
    one.add_argument(
        "--twin", action="append", default=[], help="HARDENED=PLAIN: a victim and what it was hardened from"
    )
    two = parts.add_parser("draw", help="draw the picture")
    two.add_argument("file", type=Path)
    two.add_argument("picture", type=Path)
    given = parser.parse_args(words)
    if given.what == "add":
        about, twins = (dict(text.split("=", 1) for text in some) for some in (given.about, given.twin))
        add(given.file, given.folders, about, twins)
    else:
        given.picture.write_text(draw(read(given.file)), encoding="utf-8")


if __name__ == "__main__":
    main()
