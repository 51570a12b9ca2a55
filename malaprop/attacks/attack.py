"""Attack: a goal, candidates, constraints and a search, put together as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from malaprop.attacks.goals.goal import Goal, Untargeted
from malaprop.attacks.trial import Held, Space, Spent, Trial
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.capability import Capability
from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, TextError, plain
from malaprop.core.example import Example
from malaprop.core.score import Flags, Floats, winner
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants

MEASURES = ("similarity", "perplexity")


class Candidates(Protocol):
    """What may stand in a slot."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        """For each slot of the original the ids of its replacements, sorted by string, without the word itself."""


class SlotRule(Protocol):
    stage: ClassVar[Literal["slot"]]

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        """Which slots may change."""


class WordRule(Protocol):
    stage: ClassVar[Literal["word"]]

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        """Which words may stand in which slot."""


class EditRule(Protocol):
    stage: ClassVar[Literal["edit"]]

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        """Which variants are allowed; array work, done before the victim is asked."""


class TextRule(Protocol):
    stage: ClassVar[Literal["text"]]

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        """Which finished texts are allowed; asks a service, so it is put only to texts that would win."""


Constraint = SlotRule | WordRule | EditRule | TextRule


class Search(Protocol):
    """Moves from a start through the space; sees scores, not goals, budgets, caches or other examples."""

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How an attack on one example ended. `final` is the adversarial text, or the strongest attempt where it failed."""

    status: Literal["success", "failed", "skipped", "error"]
    origin: Text | None
    first: Floats | None
    final: Text | None
    last: Floats | None
    asked: int
    reason: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One recipe. `budget` bounds the victim queries an example may ask, the first one included; None: no bound.

    `measures` are taken of every success: the similarity to the original, the perplexity before and after.
    """

    name: str
    candidates: Candidates
    search: Search
    constraints: tuple[Constraint, ...] = ()
    goal: Goal = field(default_factory=Untargeted)
    budget: int | None = None
    measures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 1:
            raise SettingError(f"budget must be at least 1 query an example, got {self.budget}")
        for name in self.measures:
            if name not in MEASURES:
                raise unknown("measure", name, MEASURES)

    @property
    def needs(self) -> frozenset[Capability]:
        return self.goal.needs

    def but(self, **settings: Any) -> Attack:
        """The same attack with other settings; those that are None stay as they are."""
        return replace(self, **{name: value for name, value in settings.items() if value is not None})

    def steps(self, example: Example, table: Words, owner: int, *, seed: int, unknown: str = "[UNK]") -> Steps[Ending]:
        """The whole attack on one example, ending in an outcome whatever happens on the way."""
        try:
            origin = Text.of(example.fields, table, owner)
        except TextError as error:
            return Ending("error", None, None, None, None, 0, plain(error))
        if missing := [name for name in example.open if name not in example.fields]:
            reason = f"no field is called {missing[0]!r}; the example has {', '.join(example.fields)}"
            return Ending("error", origin, None, None, None, 0, reason)
        trial = Trial(self, example, origin, seed, unknown)
        try:
            return (yield from self._run(trial))
        except ServiceFailed as failure:
            return Ending("error", origin, None, None, None, trial.asked, str(failure))

    def _run(self, trial: Trial) -> Steps[Ending]:
        origin, label = trial.origin, trial.example.label
        first = yield from trial.first()
        if not 0 <= label < len(first):
            reason = f"label {label} is not among the victim's {len(first)} labels"
            return Ending("error", origin, first, None, None, trial.asked, reason)
        if self.goal.wrong(first[None], label)[0]:
            right = winner(first) == label
            reason = "its label is the target already" if right else "the victim does not give the true label"
            return Ending("skipped", origin, first, None, None, trial.asked, reason)
        if not len(trial.open()):
            return Ending("error", origin, first, None, None, trial.asked, "the text holds no word that could change")
        start = trial.start(first)
        try:
            space = yield from trial.space()
            end = start
            if any(len(words) for words in space.words):
                end = yield from self.search.steps(trial, start, space)
            trial.hold(end)
        except Spent:
            yield from trial.look_back()
        final = trial.held or start
        if not final.reached:
            return Ending("failed", origin, first, final.text, final.answer, trial.asked)
        return (yield from self._verified(trial, first, final))

    def _verified(self, trial: Trial, first: Floats, final: Held) -> Steps[Ending]:
        """Asks again, afresh and by the plain road, before a success counts."""
        (fresh,) = yield Ask("verify", [final.text])
        origin = trial.origin
        if bool(self.goal.reached(np.asarray([fresh], np.float32), trial.example.label, 0.0)[0]):
            measured = yield from _measured(self.measures, origin, final.text)
            return Ending("success", origin, first, final.text, fresh, trial.asked, measures=measured)
        was, now = winner(final.answer), winner(fresh)
        reason = f"victim is not deterministic: it answered label {was}, then {now}, for the same text"
        return Ending("error", origin, first, None, None, trial.asked, reason)


def _measured(names: Sequence[str], origin: Text, final: Text) -> Steps[dict[str, float]]:
    """What was asked for besides: both texts go to the encoder and to the language model."""
    both, out = [str(origin), str(final)], {}
    if "similarity" in names:
        one, two = yield Ask("encoder", both)
        out["similarity"] = float(np.dot(one, two))
    if "perplexity" in names:
        before, after = yield Ask("language-model", both)
        out["perplexity_before"], out["perplexity"] = float(before), float(after)
    return out
