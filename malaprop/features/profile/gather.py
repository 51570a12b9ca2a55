"""Make the record of a profile from the files of its tasks: curves, queries, transfer, scores and ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from malaprop.core.text import split_parts
from malaprop.data.base import Dataset
from malaprop.features.profile.answers import NoiseAnswers, Transferred
from malaprop.features.profile.fewest import MOST
from malaprop.features.profile.noise import SHARES
from malaprop.features.profile.record import NoisePoint, ProfileEntry, ProfileRecord, QueriesToBreak, WorstPoint
from malaprop.features.profile.score import Doubles, estimate, noise_areas, worst_areas
from malaprop.frame.records.intervals import Estimate
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.cautions import describe_foreign
from malaprop.frame.study.shared_tasks import CorrectTexts, describe_errors
from malaprop.frame.tasks.outputs import JsonFile, Output, RunFolder, Skipped, read_skipped

if TYPE_CHECKING:
    from malaprop.features.profile.study import Profile

GRID = tuple(round(0.01 * step, 2) for step in range(round(MOST / 0.01) + 1))  # of the worst case
CURVES = ("noise", "attack")
_NEVER = float("inf")
_SLACK = 1e-6  # shares in records are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A victim's entry, and for each curve (noise, attack) the area under it for each text, 0 to 100, by text id.

    `areas` is empty if the victim has no score.
    """

    entry: ProfileEntry
    areas: Mapping[str, Mapping[str, float]]

    @property
    def scores(self) -> dict[str, float]:
        """The score of each text: the mean of both areas."""
        noise, attack = (self.areas.get(curve, {}) for curve in CURVES)
        return {id: (area + attack[id]) / 2 for id, area in noise.items()}


def gather(study: Profile, root: Path, data: Dataset) -> ProfileRecord:
    """Return the record made from the files in the study's folder."""
    noise = {name: _read(JsonFile(NoiseAnswers), root / "noise" / name) for name in study.named}
    labels = Counter(example.label for example in data)
    commonest = max(labels.values(), default=0)
    found = [profile_victim(root, name, noise[name], study.sources, commonest) for name in study.named]
    found.sort(key=lambda one: (-one.entry.score.value if one.entry.score else 1.0, one.entry.victim))
    below: list[Scored | None] = [*found[1:], None]
    entries = [replace(one.entry, gap=_gap(one, other)) for one, other in zip(found, below, strict=True)]
    changed = next((one.changed for one in noise.values() if isinstance(one, NoiseAnswers)), {})
    words = [_count_words(example.fields, example.open) for example in data]
    mean = sum(words) / max(1, len(words))
    short = f"the mean text has {mean:.0f} words; in a text of fewer than 20, 5% of the words is less than one word"
    foreign = describe_foreign(data) if study.validity != "paper" else ""
    off = f"{foreign}: the guards and the judge of meaning read English, so they are off" if foreign else ""
    return ProfileRecord(
        data=data.name, texts=len(data), words=round(mean, 2), seed=study.texts.seed, draws=study.draws,
        attacks=study.attacks, budget=study.budget, surrogate=", ".join(study.surrogate_named), changed=changed,
        validity="paper" if foreign else study.validity, entries=tuple(entries),
        notes=tuple(filter(None, (short if mean < 20 else "", off))),
    )  # fmt: skip


def _count_words(fields: Mapping[str, str], open_: Sequence[str]) -> int:
    return sum(len(split_parts(fields[name])) // 2 for name in open_)


def _read(output: Output, folder: Path) -> Any:
    """Return the value of a task; `Skipped` if it was skipped or is not finished."""
    if (why := read_skipped(folder)) is not None:
        return why
    return output.value(folder) if output.there(folder) else Skipped("a spending limit ended the run before it")


def profile_victim(root: Path, name: str, noise: Any, sources: Sequence[str], commonest: int) -> Scored:
    """Return one victim's entry and the areas of its texts, from the files of its tasks and its answers to noise."""
    clean, runs = _read(JsonFile(CorrectTexts), root / "clean" / name), _read(RunFolder(), root / "runs" / name)
    missing = next((one for one in (clean, noise, runs) if isinstance(one, Skipped)), None)
    entry = ProfileEntry(victim=name, reason="" if missing is None else missing.reason)
    if not isinstance(clean, Skipped):
        entry = replace(entry, clean=Rate(sum(clean.right), len(clean.right)))
    if missing is not None:
        return Scored(entry=entry, areas={})
    breaks = find_breaks(runs)
    ids = [id for id in noise.ids if id in breaks]
    if not ids:
        return Scored(entry=replace(entry, reason=describe_errors(runs)), areas={})
    right = _noise_accuracy(noise, ids)
    noisy = 100 * noise_areas((0.0, *SHARES), right)
    worst = 100 * worst_areas(np.asarray([breaks[id] for id in ids]), MOST)
    cautions = _describe_cautions(runs, sum(clean.right), commonest)
    entry = replace(
        entry, score=estimate((noisy + worst) / 2), noise_score=estimate(noisy), worst_score=estimate(worst),
        noise=_noise_points(noise, ids, right), one_word=_one_word(runs), worst=_worst_points(list(breaks.values())),
        queries=_queries(runs), transfer=_transfer(root, name, sources), notes=cautions,
    )  # fmt: skip
    areas = {
        curve: dict(zip(ids, area.tolist(), strict=True)) for curve, area in zip(CURVES, (noisy, worst), strict=True)
    }
    return Scored(entry=entry, areas=areas)


def _describe_cautions(runs: Sequence[Outcome], right: int, commonest: int) -> tuple[str, ...]:
    """Return warnings: errors, invalid successes, and an accuracy that one fixed label would reach."""
    guess = (
        f"it is right on {right} texts, no more than if it always gave the commonest label ({commonest}). Its accuracy "
        "is that of a constant answer, so do not read this score as robustness; check the order of the model's labels"
    )
    rated = [one for one in runs if one.status == "success" and one.validity is not None]
    kept = sum(one.validity == "kept" for one in rated)
    invalid = f"the judge of meaning calls {kept} of {len(rated)} successes valid" if kept < len(rated) else ""
    return tuple(filter(None, (describe_errors(runs), guess if right <= commonest else "", invalid)))


def find_breaks(runs: Sequence[Outcome]) -> dict[str, float]:
    """Return for each text the smallest share of changed words at which the attack succeeds.

    That is 0 if the victim is wrong on the original, and infinity if the attack fails. Texts on which the attack ended
    in an error are left out.
    """
    shares = {"skipped": 0.0, "failed": _NEVER}
    return {one.id: shares.get(one.status, one.changed_share) for one in runs if one.status != "error"}


def _noise_accuracy(noise: NoiseAnswers, ids: Sequence[str]) -> Doubles:
    """Return [share, text] from 0 to 1, the unchanged texts first: the mean over kinds and draws."""
    some = _places(noise, ids)
    copies = np.asarray(list(noise.right.values()), float).mean(0)[:, some] / noise.draws
    return np.concatenate([np.asarray(noise.clean, float)[None, some], copies])


def _places(noise: NoiseAnswers, ids: Sequence[str]) -> list[int]:
    place = {id: number for number, id in enumerate(noise.ids)}
    return [place[id] for id in ids]


def _noise_points(noise: NoiseAnswers, ids: Sequence[str], right: Doubles) -> tuple[NoisePoint, ...]:
    some = _places(noise, ids)
    kinds = {kind: np.asarray(found, float)[:, some].mean(1) / noise.draws for kind, found in noise.right.items()}
    first = NoisePoint(share=0.0, accuracy=estimate(right[0]), kinds={})
    rest = (
        NoisePoint(
            share=share, accuracy=estimate(right[number + 1]),
            kinds={kind: round(float(means[number]), 6) for kind, means in kinds.items()},
        )
        for number, share in enumerate(SHARES)
    )  # fmt: skip
    return (first, *rest)


def _worst_points(breaks: Sequence[float]) -> tuple[WorstPoint, ...]:
    return tuple(
        WorstPoint(share=share, accuracy=Rate(sum(one > share + _SLACK for one in breaks), len(breaks)))
        for share in GRID
    )


def _one_word(runs: Sequence[Outcome]) -> Rate:
    """Return the accuracy under an attack that may change one word of each text."""
    tried = [one for one in runs if one.status != "error"]
    fell = (one.status == "skipped" or (one.status == "success" and len(one.edits) <= 1) for one in tried)
    return Rate(len(tried) - sum(fell), len(tried))


def _queries(runs: Sequence[Outcome]) -> QueriesToBreak:
    asked = [one.queries.asked for one in runs if one.status == "success"]
    broken = Rate(len(asked), sum(one.status in ("success", "failed") for one in runs))
    if not asked:
        return QueriesToBreak(broken=broken)
    lower, median, upper, most = (float(np.percentile(asked, at)) for at in (25, 50, 75, 100))
    return QueriesToBreak(broken=broken, lower=lower, median=median, upper=upper, most=most)


def _transfer(root: Path, name: str, sources: Sequence[str]) -> dict[str, Rate]:
    found = {
        source: _read(JsonFile(Transferred), root / "transfer" / name / source) for source in sources if source != name
    }
    return {source: one.rate for source, one in found.items() if not isinstance(one, Skipped)}


def _gap(one: Scored, below: Scored | None) -> Estimate | None:
    """Return a victim's score minus that of the one below it, over the texts that both have."""
    both = [id for id in one.scores if below is not None and id in below.scores]
    if below is None or not both:
        return None
    return estimate(np.asarray([one.scores[id] - below.scores[id] for id in both]))


def to_rows(record: ProfileRecord) -> list[dict[str, Any]]:
    """Return a row of plain values for each victim, the best first."""
    return [_row(rank, entry) for rank, entry in enumerate(record.entries, start=1)]


def _row(rank: int, one: ProfileEntry) -> dict[str, Any]:
    score, queries, carried = one.score, one.queries, one.transferred
    noise = {f"noise {100 * share:g}%": _value(one.noise_at(share)) for share in SHARES}
    worst = {f"attack {100 * share:g}%": _value(one.worst_at(share)) for share in (0.05, 0.1, 0.2)}
    return {
        "rank": rank, "victim": one.victim, "score": _value(score), "low": score and score.low,
        "high": score and score.high, "noise score": _value(one.noise_score), "attack score": _value(one.worst_score),
        "clean": _value(one.clean), **noise, "attack 1 word": _value(one.one_word), **worst,
        "queries": queries and queries.median, "transfer": _value(carried), "reason": one.reason or None,
    }  # fmt: skip


def _value(figure: Rate | Estimate | None) -> float | None:
    if figure is None or figure.value != figure.value:
        return None
    return round(figure.value, 6)
