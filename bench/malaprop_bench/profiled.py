"""Profiles of many victims on one or two samples of texts, and with another seed on the first: agreement, twins.

python -m malaprop_bench.profiled add docs/measured/profile.json OUT --kind first --name LONG=SHORT --twin SWAPS=LSTM
python -m malaprop_bench.profiled add docs/measured/profile.json MORE --kind first --more     further victims of a run
python -m malaprop_bench.profiled draw docs/measured/profile.json docs/profile.svg
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from malaprop.core.codec import decode, encode
from malaprop.core.errors import RecordError
from malaprop.core.seeds import generator
from malaprop.features.profile.answers import NoiseAnswers
from malaprop.features.profile.gather import CURVES, profile_victim
from malaprop.features.profile.record import ProfileEntry, ProfileRecord
from malaprop.features.profile.report import CHART, chart
from malaprop.features.profile.score import Doubles, estimate
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.summary import Rate
from malaprop.frame.tasks.outputs import JsonFile, RunFolder
from malaprop_bench.picture import stand_alone

KINDS = ("first", "other texts", "other seed")  # the first run, and others on other texts and with another seed
HEAD = (
    "victim", "score", "on other texts", "same texts, other seed", "noise", "attack", "clean", "1 word", "10%", "20%",
    "queries",
)  # fmt: skip
TWINS = ("hardened", "plain", "score, hardened less plain", "noise", "attack")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """One run of `malaprop profile`: its record, and the areas of each text under both curves, 0 to 100, by victim.

    `kind` is one of KINDS: how its texts and its seed differ from the first. `successes` are counted by recipe.
    """

    kind: str
    profile: ProfileRecord
    areas: Mapping[str, Mapping[str, tuple[float, ...]]]  # victim: "noise" or "attack": [text]
    successes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Runs over the same victims, by their kinds; `twins` has the plain victim of each hardened one."""

    runs: tuple[ProfileRun, ...] = ()
    twins: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> ProfileRun:
        """Return the run of a kind."""
        return next(run for run in self.runs if run.kind == kind)

    @property
    def samples(self) -> tuple[ProfileRun, ...]:
        """The runs on different texts: one or two."""
        return tuple(run for run in self.runs if run.kind in KINDS[:2])


def read(path: Path) -> Profiles:
    """Return what `add` wrote to the file; nothing if there is no file."""
    try:
        return decode(Profiles, json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Profiles()
    except (OSError, ValueError, RecordError) as error:
        raise RecordError(f"{path} does not hold profiles: {error}; write it with: add") from None


def add(
    path: Path, folder: Path, kind: str, names: Mapping[str, str], twins: Mapping[str, str], *, more: bool = False
) -> None:
    """Add the profile of a folder to the file as the run of a kind, with other names for some victims.

    With `more` its victims join those of the run of this kind that the file holds.
    """
    held, new = read(path), open_run(folder, kind, names)
    runs = {run.kind: run for run in (*held.runs, join(held.of(kind), new) if more else new)}
    kept = Profiles(runs=tuple(runs[one] for one in KINDS if one in runs), twins={**held.twins, **twins})
    path.write_text(json.dumps(encode(kept)) + "\n", encoding="utf-8")


def open_run(folder: Path, kind: str, names: Mapping[str, str]) -> ProfileRun:
    """Return the profile of a folder, without its kinds of noise and its transfer, and the areas of its texts."""
    record = ProfileRecord.read(folder)
    if record is None:
        raise RecordError(f"{folder} holds no profile.json; write one with malaprop profile --out")
    entries = tuple(
        replace(
            one, victim=names.get(one.victim, one.victim), transfer={},
            noise=tuple(replace(point, kinds={}) for point in one.noise),
        )
        for one in record.entries
    )  # fmt: skip
    areas, recipes = {}, Counter[str]()
    for one in record.entries:
        if one.score is not None:
            noise = JsonFile(NoiseAnswers).value(folder / "noise" / one.victim)
            found = profile_victim(folder, one.victim, noise, (), 0)
            areas[names.get(one.victim, one.victim)] = {
                curve: _in_order(noise.ids, found.areas[curve]) for curve in CURVES
            }
            runs = RunFolder().value(folder / "runs" / one.victim)
            recipes.update(outcome.by for outcome in runs if outcome.status == "success")
    return ProfileRun(kind=kind, profile=replace(record, entries=entries), areas=areas, successes=dict(recipes))


def join(one: ProfileRun, more: ProfileRun) -> ProfileRun:
    """Return a run with the victims of both, ranked by score; raise unless both had the same copies and attacks.

    `changed` tells different texts and seeds apart: it has the share of words that each noise has really changed.
    """
    for name in ("data", "texts", "seed", "draws", "attacks", "budget", "validity", "changed"):
        if getattr(one.profile, name) != getattr(more.profile, name):
            raise RecordError(f"the runs differ in {name}, so their victims cannot be compared; profile them alike")
    areas = {**one.areas, **more.areas}
    held = {entry.victim: entry for entry in (*one.profile.entries, *more.profile.entries)}
    ranked = sorted(held.values(), key=lambda entry: -entry.score.value if entry.score else float("inf"))
    joined = replace(one, areas=areas, successes=dict(Counter(one.successes) + Counter(more.successes)))
    entries = [
        replace(entry, gap=estimate(_score_texts(joined, entry.victim) - _score_texts(joined, below.victim)))
        if entry.score and below.score
        else replace(entry, gap=None)
        for entry, below in pairwise(ranked)
    ]
    return replace(joined, profile=replace(one.profile, entries=(*entries, replace(ranked[-1], gap=None))))


def _in_order(ids: Sequence[str], areas: Mapping[str, float]) -> tuple[float, ...]:
    """Return the areas of the texts in one order for all victims; a text that ended in an error makes this raise."""
    return tuple(round(areas[id], 2) for id in ids)


def tau(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return Kendall's rank correlation of two scores of the victims that both have."""
    pairs = combinations([name for name in one if name in other], 2)
    return float(np.mean([np.sign(one[a] - one[b]) * np.sign(other[a] - other[b]) for a, b in pairs]))


def scores(run: ProfileRun) -> dict[str, float]:
    """Return the score of each victim."""
    return {one.victim: one.score.value for one in run.profile.entries if one.score}


def halve(run: ProfileRun) -> tuple[dict[str, float], dict[str, float]]:
    """Return the score of each victim on every second text, and on the others."""
    areas = {name: _score_texts(run, name) for name in run.areas}
    even, odd = ({name: float(some[begin::2].mean()) for name, some in areas.items()} for begin in (0, 1))
    return even, odd


def expect_tau(held: Profiles, texts: int, draws: int = 300) -> float:
    """Return the mean rank correlation of two samples of so many texts, drawn from the texts of both runs."""
    names = [name for name in held.samples[0].areas if all(name in run.areas for run in held.samples)]
    values = np.stack([np.concatenate([_score_texts(run, name) for run in held.samples]) for name in names], 1)
    rng, found = generator(0, "samples", str(texts)), []
    for _ in range(draws):
        both = values[rng.integers(len(values), size=(2, texts))].mean(1)
        found.append(tau(*(dict(zip(names, scored, strict=True)) for scored in both.tolist())))
    return float(np.mean(found))


def _score_texts(run: ProfileRun, name: str, curves: Sequence[str] = CURVES) -> Doubles:
    """Return the score of each text; of one curve, its area."""
    areas: Doubles = np.asarray([run.areas[name][curve] for curve in curves]).mean(0)
    return areas


def differ(held: Profiles, one: str, other: str, curves: Sequence[str] = CURVES) -> Estimate:
    """Return a victim's score less that of another, over the texts of both samples; of one curve, its area."""
    gaps = [
        _score_texts(run, one, curves) - _score_texts(run, other, curves)
        for run in held.samples
        if one in run.areas and other in run.areas
    ]
    return estimate(np.concatenate(gaps))


def decided(held: Profiles) -> list[tuple[str, str, bool]]:
    """Return the pairs whose difference has an interval without 0, and whether both samples put them in one order."""
    first, second = (scores(run) for run in held.samples)
    out = []
    for a, b in combinations([name for name in first if name in second], 2):
        gap = differ(held, a, b)
        if not gap.low <= 0 <= gap.high:
            out.append((a, b, (first[a] - first[b]) * (second[a] - second[b]) > 0))
    return out


def rows(raw: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each victim: its figures in the first run, and its score in the others."""
    held = decode(Profiles, raw)
    runs = {run.kind: run.profile for run in held.runs}
    out = []
    for rank, one in enumerate(runs[KINDS[0]].entries, start=1):
        scores = [_score(kind in runs and _entry(runs[kind], one.victim)) for kind in KINDS[1:]]
        areas = [_plain(area) for area in (one.noise_score, one.worst_score)]
        rates = [_rate(rate) for rate in (one.clean, one.one_word, one.worst_at(0.1), one.worst_at(0.2))]
        asked = one.queries and one.queries.median
        out.append([f"{rank}. {one.victim}", _score(one), *scores, *areas, *rates, f"{asked:.0f}" if asked else "-"])
    return out


def _entry(record: ProfileRecord, name: str) -> ProfileEntry | None:
    return next((one for one in record.entries if one.victim == name), None)


def _score(one: ProfileEntry | Literal[False] | None) -> str:
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
    return stand_alone(str(chart(held.of(KINDS[0]).profile.entries)), wide=CHART)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.profiled", description=__doc__)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser("add", help="add the profile of a folder to the file")
    one.add_argument("file", type=Path)
    one.add_argument("folder", type=Path)
    one.add_argument("--kind", choices=KINDS, default=KINDS[0])
    one.add_argument("--name", action="append", default=[], help="LONG=SHORT: another name for a victim")
    one.add_argument(
        "--twin", action="append", default=[], help="HARDENED=PLAIN: a victim and what it was hardened from"
    )
    one.add_argument("--more", action="store_true", help="add its victims to those of the run of this kind")
    two = parts.add_parser("draw", help="draw the picture")
    two.add_argument("file", type=Path)
    two.add_argument("picture", type=Path)
    given = parser.parse_args(words)
    if given.what == "add":
        names, twins = (dict(text.split("=", 1) for text in some) for some in (given.name, given.twin))
        add(given.file, given.folder, given.kind, names, twins, more=given.more)
    else:
        given.picture.write_text(draw(read(given.file)), encoding="utf-8")


if __name__ == "__main__":
    main()
