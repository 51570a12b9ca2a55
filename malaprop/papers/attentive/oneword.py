"""The study of one-word attacks: its texts and attacks, the quality of adversarial texts, and its record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.catalogue import unknown
from malaprop.core.errors import RecordError
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.records.summary import Rate, Summary
from malaprop.frame.runs.services import shared
from malaprop.papers.attentive.oneword_record import (
    Against,
    DistanceCurve,
    OneWordCell,
    OneWordMean,
    OneWordModel,
    OneWordRecord,
)

QUALITY_MEASURES = ("similarity", "perplexity", "grammar", "agreement")
_SERVICES = {"similarity": "encoder", "perplexity": "language-model", "grammar": "grammar", "agreement": "agreement"}


def check_quality_measures(names: Sequence[str]) -> None:
    """Raise on a name that is not a quality measure."""
    for name in names:
        if name not in QUALITY_MEASURES:
            raise unknown("measure", name, QUALITY_MEASURES)


def measure_quality(
    outcomes: Sequence[Outcome], names: Sequence[str], *, fields: Sequence[str] = ()
) -> dict[str, list[float]]:
    """Measure the adversarial text of each outcome by each named measure; `NAME_before` measures the original.

    Similarity is the cosine of both texts in MiniLM, perplexity that of SmolLM2, grammar a count of mistakes. `fields`
    are those that may change, all if none is named: a field that stays would hide what happened to the other.
    """
    check_quality_measures(names)
    before = [_join_fields(o.original.fields, fields) for o in outcomes]
    after = [_join_fields(o.adversarial.fields, fields) if o.adversarial is not None else "" for o in outcomes]
    out: dict[str, list[float]] = {}
    for name in names:
        old, new = _ask_service(_SERVICES[name], before), _ask_service(_SERVICES[name], after)
        if name == "similarity":
            out[name] = [float(np.dot(one, two)) for one, two in zip(old, new, strict=True)]
        else:
            out[f"{name}_before"], out[name] = [float(n) for n in old], [float(n) for n in new]
    return out


def _join_fields(texts: dict[str, str], fields: Sequence[str]) -> str:
    return " ".join(text for name, text in texts.items() if not fields or name in fields)


def _ask_service(service: str, texts: Sequence[str]) -> list[Any]:
    one = shared()[service]
    return one.finish(one.begin([texts]))[0]


RECIPES = ("random", "list", "asmin-gr", "asmax-gr", "asmin-ec", "asmax-ec", "gs-gr", "gs-ec")
PAIRS = (("gs-gr", "gs-ec"), ("asmax-gr", "asmax-ec"), ("asmin-gr", "asmin-ec"))
TEXTS = "texts.json"
_FEW = 5  # successes of which deciles say something

Quality = Callable[[Sequence[Outcome]], Mapping[str, list[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWordDesign:
    """The design of a study: which recipes run on which models; `models` are named by their run folders."""

    models: tuple[str, ...]
    recipes: tuple[str, ...] = RECIPES
    vocabulary: int = 20_000
    words: int = 1
    trials: int = 100_000
    more: Mapping[str, Any] = field(default_factory=dict)  # further settings, for the recipes that take them

    def settings(self, recipe: str) -> dict[str, Any]:
        """Return the settings of one recipe."""
        if recipe == "list":
            return {"words": self.words, **{name: value for name, value in self.more.items() if name == "near"}}
        swept = {"vocabulary": self.vocabulary, "words": self.words}
        if recipe == "random":
            return {"trials": self.trials, **swept}
        kind = ("probe",) if recipe.startswith("gs-") else ("layer", "direction")
        return {**swept, **{name: value for name, value in self.more.items() if name in kind}}

    def cells(self) -> Iterator[tuple[str, str]]:
        return ((model, recipe) for model in self.models for recipe in self.recipes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The chosen texts: the ids that every model classifies correctly, each model's accuracy and its capabilities.

    `right` counts the `examined` texts that each model classifies correctly.
    """

    data: str
    fields: tuple[str, ...]
    seed: int
    examined: int
    common: int
    ids: tuple[str, ...]
    right: Mapping[str, int]
    offers: Mapping[str, Sequence[str]]

    def write(self, root: Path) -> None:
        (root / TEXTS).write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, root: Path) -> Texts | None:
        """Read the chosen texts of a study; None if none were chosen yet."""
        path = root / TEXTS
        if not path.is_file():
            return None
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            raw["fields"], raw["ids"] = tuple(raw["fields"]), tuple(raw["ids"])
            return cls(**raw)
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(f"{path} cannot be read as a study's texts ({str(error)[:80]}); remove it") from None


def common(answered: Mapping[str, Sequence[bool]], ids: Sequence[str], n: int) -> tuple[tuple[str, ...], int]:
    """Return the first `n` ids that every model classified correctly, and how many there are in all."""
    fine = [id for id, *right in zip(ids, *answered.values(), strict=True) if all(right)]
    return tuple(fine[:n]), len(fine)


def run_folder(root: Path, model: str, recipe: str) -> Path:
    return root / "runs" / model / recipe


def gather(
    root: Path,
    plan: OneWordDesign,
    texts: Texts,
    *,
    kin: Mapping[str, str],
    lacking: Mapping[tuple[str, str], str] | None = None,
    quality: Quality | None = None,
) -> OneWordRecord:
    """Build the record from the runs on disk; `lacking` says why a recipe cannot run on a model."""
    why = lacking or {}
    runs = {
        (model, recipe): read_outcomes(folder)
        for model, recipe in plan.cells()
        if (folder := run_folder(root, model, recipe)).is_dir()
    }
    measured = {key: _measure(outcomes, quality) for key, outcomes in runs.items()}
    return OneWordRecord(
        data=texts.data,
        task="entailment" if len(texts.fields) > 1 else "sentiment",
        examined=texts.examined,
        common=texts.common,
        texts=len(texts.ids),
        vocabulary=plan.vocabulary,
        words=plan.words,
        trials=plan.trials,
        seed=texts.seed,
        models=tuple(
            OneWordModel(name=name, accuracy=Rate(texts.right[name], texts.examined), kin=kin.get(name, ""))
            for name in plan.models
        ),
        cells=tuple(
            _cell(model, recipe, runs.get((model, recipe), ()), measured.get((model, recipe), {}), why)
            for model, recipe in plan.cells()
        ),
        against=tuple(found for model in plan.models for pair in PAIRS for found in _against(model, pair, measured)),
        curves=tuple(
            found
            for model in plan.models
            for pair in PAIRS
            for found in draw_curves(model, {name: runs.get((model, name), []) for name in pair})
        ),
    )


def draw_curves(model: str, runs: Mapping[str, Sequence[Outcome]]) -> Iterator[DistanceCurve]:
    """Yield the success of each recipe within the deciles of the first recipe's distances; nothing if too few."""
    tried = {name: [o for o in runs[name] if o.status in ("success", "failed")] for name in runs}
    needed = {name: [o.measures["distance"] for o in some if "distance" in o.measures] for name, some in tried.items()}
    first = next(iter(runs))
    if len(needed[first]) < _FEW:
        return
    bounds = [round(float(bound), 6) for bound in np.quantile(needed[first], np.linspace(0.1, 1, 10))]
    for name, far in needed.items():
        points = tuple((b, Rate(sum(d <= b + 1e-6 for d in far), len(tried[name]))) for b in bounds)
        yield DistanceCurve(model=model, recipe=name, points=points)


Measured = dict[str, dict[str, float]]  # by measure and by the id of an outcome


def _measure(outcomes: Sequence[Outcome], quality: Quality | None) -> Measured:
    """Collect the measures of the successes: those taken in the run, and the quality of their texts."""
    won = [o for o in outcomes if o.status == "success"]
    found: Measured = {}
    for outcome in won:
        for name, value in outcome.measures.items():
            found.setdefault(name, {})[outcome.id] = value
    if quality is not None and won:
        for name, values in quality(won).items():
            found[name] = {o.id: value for o, value in zip(won, values, strict=True)}
    return found


_KEYS: Mapping[str, Callable[[Outcome], float]] = {
    "length": lambda outcome: sum(len(text.split()) for text in outcome.original.fields.values()),
    "confidence": lambda outcome: max(outcome.original.scores, default=0.0),
}


def _halve(outcomes: Sequence[Outcome], key: Callable[[Outcome], float]) -> tuple[Rate, Rate]:
    """Return the success on the lower half of the texts by `key` and on the upper half, which has the middle text."""
    tried = sorted((o for o in outcomes if o.status in ("success", "failed")), key=lambda o: (key(o), o.id))
    middle = len(tried) // 2
    return Summary.of(tried[:middle]).success, Summary.of(tried[middle:]).success


def _cell(
    model: str, recipe: str, outcomes: Sequence[Outcome], measured: Measured, why: Mapping[tuple[str, str], str]
) -> OneWordCell:
    summary = Summary.of(outcomes)
    shares = [o.measures["hit_share"] for o in outcomes if "hit_share" in o.measures]
    means = {name: OneWordMean.of(values.values()) for name, values in measured.items() if name != "hit_share"}
    return OneWordCell(
        model=model,
        recipe=recipe,
        success=summary.success,
        share=OneWordMean.of(shares),
        asked=summary.asked,
        distance=means.pop("distance", None),
        measures={name: mean for name, mean in means.items() if mean is not None},
        halves={name: _halve(outcomes, key) for name, key in _KEYS.items()} if outcomes else {},
        reason=why.get((model, recipe), "" if outcomes else "not run"),
    )


def _against(
    model: str,
    pair: tuple[str, str],
    measured: Mapping[tuple[str, str], Measured],
) -> Iterator[Against]:
    first, second = (measured.get((model, recipe), {}) for recipe in pair)
    for name in sorted(first.keys() & second.keys()):
        both = sorted(first[name].keys() & second[name].keys())
        gap = OneWordMean.of(second[name][id] - first[name][id] for id in both)
        if gap is None:
            continue
        yield Against(
            model=model,
            first=pair[0],
            second=pair[1],
            measure=name,
            before=sum(first[name][id] for id in both) / len(both),
            after=sum(second[name][id] for id in both) / len(both),
            gap=gap,
            lower=Rate(sum(second[name][id] < first[name][id] for id in both), len(both)),
        )
