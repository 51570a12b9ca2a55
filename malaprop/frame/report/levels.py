"""Robust accuracy by what an attack changes: words, spelling, or characters whose change a reader does not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from malaprop.frame.records import Rate
from malaprop.frame.records.paired_texts import hold_under_all, holds
from malaprop.frame.records.run import is_classification
from malaprop.frame.report.run_entries import RunEntry, by_victim


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A kind of change; `kinds` are the classes of candidates that make it, `todo` says what to try against it."""

    name: str
    kinds: frozenset[str]
    about: str
    todo: str
    command: str  # to type for it


_AROUND = frozenset({"", "Union", "Filtered", "Agreeing", "Likely"})  # candidates that take those of others
_PURIFIED = 'malaprop audit --victim "purify:spell(MODEL)" --data DATA'
WORD_SWAPS = Level(
    name="word swaps",
    kinds=frozenset(
        {"WordNetSynonyms", "CloseSynonyms", "NearWords", "Listed", "Thesaurus", "Vocabulary", "Inflections"}
        | {"MaskedWords", "MergedWords", "RuleWords"}
    ),
    about="other words that say the same",
    todo="train on such texts and compare, for our own models gained nothing beyond chance",
    command="malaprop harden auto --model MODEL --data DATA",
)
MISSPELLINGS = Level(
    name="misspellings", kinds=frozenset({"CharEdits", "Misspellings"}),
    about="letters that readers see and read through",
    todo="correct the spelling before the model reads",
    command=_PURIFIED,
)  # fmt: skip
LOOK_ALIKES = Level(
    name="look-alikes",
    kinds=frozenset({"Homoglyphs", "VisualNeighbours", "InvisibleCharacters", "Reorderings", "Deletions"}),
    about="look-alike or invisible characters, which readers do not see",
    todo="normalise the characters before the model reads",
    command=_PURIFIED,
)
LEVELS = (WORD_SWAPS, MISSPELLINGS, LOOK_ALIKES)


def find_level(parts: Mapping[str, Any]) -> str:
    """Return the name of the level of an attack, from its parts as run.toml holds them; empty for any other attack."""
    if parts.get("together"):
        return ""  # one sequence of words for all texts
    levels = {kind: level.name for level in LEVELS for kind in level.kinds}
    found = {levels.get(kind, "") for kind in _kinds(parts)}
    return found.pop() if len(found) == 1 else ""


def _kinds(parts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the classes of the candidates of an attack, its fallback and its stages, without those around others."""
    for one in (parts, parts.get("fallback") or {}, *parts.get("stages", ())):
        if one is not parts and one.get("stages"):
            yield from _kinds(one)
        waiting = [one.get("candidates") or {}]
        while waiting:
            inner = waiting.pop()
            if (kind := str(inner.get("kind", ""))) not in _AROUND:
                yield kind
            of = inner.get("of", ())
            waiting += [one for one in (of if isinstance(of, list) else [of]) if isinstance(one, Mapping)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustLevels:
    """A victim's accuracy without an attack, under the attacks of each level, and under all of its `attacks`.

    `recipes` names the attacks of each level.
    """

    victim: str
    attacks: int
    clean: Rate
    levels: Mapping[str, Rate]
    every: Rate
    recipes: Mapping[str, tuple[str, ...]]

    def shown(self, level: str) -> bool:
        """Return whether there is a rate for this level."""
        return level in self.levels and self.levels[level].shown

    @property
    def sentence(self) -> str:
        """The figures as text, with counts and intervals."""
        return "; ".join([*(f"{name} {rate}" for name, rate in self.levels.items()), f"all attacks {self.every}"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        levels = {name: rate.to_dict() for name, rate in self.levels.items()}
        return {"victim": self.victim, "clean": self.clean.to_dict(), **levels, "all attacks": self.every.to_dict()}


def measure_levels(found: Sequence[RunEntry]) -> list[RobustLevels]:
    """Return the figures of each victim of the runs on classifiers, in the order of the runs."""
    out = []
    for victim, group in by_victim(entry for entry in found if is_classification(entry.run)).items():
        by_level: dict[str, list[RunEntry]] = {}
        for entry in group:
            by_level.setdefault(find_level(entry.run.parts), []).append(entry)
        levels = {level.name: under_all(by_level[level.name]) for level in LEVELS if level.name in by_level}
        out.append(
            RobustLevels(
                victim=victim,
                attacks=len(group),
                clean=max((e.summary.clean for e in group), key=lambda r: r.total),
                levels=levels,
                every=under_all(group),
                recipes={name: tuple(entry.attack for entry in by_level[name]) for name in levels},
            )
        )
    return out


def under_all(group: Sequence[RunEntry]) -> Rate:
    """Return how many texts a victim gets right under every attack, of those on which every attack ended."""
    if len(group) == 1:
        return group[0].summary.robust
    texts = max(len(entry.outcomes) + entry.missing for entry in group)
    found = hold_under_all((((one.id, holds(one)) for one in entry.outcomes) for entry in group), texts).rate
    return replace(found, too_few=found.too_few or any(entry.summary.robust.too_few for entry in group))
