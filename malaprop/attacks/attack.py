"""Attack: a goal, candidates, constraints and a search, put together as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from malaprop.assets.languages import ENGLISH, Language, choose_language, open_language
from malaprop.attacks.candidates.rules import RuleWords
from malaprop.attacks.constraints.positions import KeepWords
from malaprop.attacks.encoders import check as check_encoder
from malaprop.attacks.goals.goal import Accepted, Goal, Moved, Untargeted
from malaprop.attacks.judge import Judge
from malaprop.attacks.partmarks import Bits
from malaprop.attacks.trial import Held, Space, Spent, Trial
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.capability import Capability
from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, SettingError, TextError, plain
from malaprop.core.example import ALL_PROTECTED, NO_WORDS, NOTHING_TO_CHANGE, PAIR, TARGET_ALREADY, Example
from malaprop.core.insight import Apart
from malaprop.core.score import Flags, Floats, winner
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import find_rejected

MEASURES = ("similarity", "perplexity", "grammar", "agreement", "distance")
WRONG = "the victim does not give the true label"
REFUSED = "the judge of meaning refuses every text that reaches the goal"
RETRIES = 32  # searches of one example that may end with a success that a fresh query does not confirm


class Candidates(Protocol):
    """A source of replacements for the words of a text."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        """Return for each slot of the original the ids of its replacements, sorted by string, without its own word."""


class SlotRule(Protocol):
    """A constraint that says which slots may change."""

    stage: ClassVar[Literal["slot"]]

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        """Flag the slots that may change."""


class WordRule(Protocol):
    """A constraint on each replacement of a slot, checked before the victim is queried."""

    stage: ClassVar[Literal["word"]]

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        """Flag for each slot the replacements that are allowed there."""


class PartRule(Protocol):
    """A constraint on the part of speech of replacements."""

    stage: ClassVar[Literal["part"]]

    def parts(self, trial: Trial, slots: Ints) -> Steps[Bits]:
        """Return for each slot the allowed parts of speech as bits; candidates may use them to filter early."""


class EditRule(Protocol):
    """A cheap constraint on whole variants, such as how many words differ from the original."""

    stage: ClassVar[Literal["edit"]]

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        """Flag the allowed variants; array work, done before the victim is queried."""


class TextRule(Protocol):
    """A costly constraint on whole texts, such as the similarity of sentences."""

    stage: ClassVar[Literal["text"]]

    def texts(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        """Flag the allowed texts; it needs a service, so only texts that the search would choose are checked."""


Constraint = SlotRule | WordRule | PartRule | EditRule | TextRule


class Search(Protocol):
    """A search through the replacements of one text; it sees scores, not goals, budgets, caches or other examples."""

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]: ...


@runtime_checkable
class Fetching(Protocol):
    """A search that can fetch the replacements of a slot when it comes to it, with `Trial.options`."""

    @property
    def fetches(self) -> bool:
        """Whether it does; then its space has the slots that may change, and no words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """A second try after a failed search: other candidates and another search, from the original text.

    The constraints stay the same, and so does the budget, of which the rest may be spent.
    """

    candidates: Candidates
    search: Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """One change shared by many texts: of a language model's instruction, or a prefix of `words` words.

    It is scored on a `panel` of that many labelled texts: the mean score of their true labels must fall by `drop`.
    """

    side: Literal["prompt", "prefix"]
    words: int = 3
    panel: int = 32
    drop: float = 0.2

    def __post_init__(self) -> None:
        if self.side not in ("prompt", "prefix"):
            raise SettingError(f"Together.side is prompt or prefix, got {self.side!r}")
        if self.words < 1 or self.panel < 1 or not 0 < self.drop <= 1:
            raise SettingError(
                f"words and panel must be at least 1 and drop above 0 and at most 1, got {self.words}, {self.panel} "
                f"and {self.drop}"
            )


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
    checks: int = 0  # unbatched answers that were needed, with the one that confirmed a success
    by: str = ""  # the recipe that succeeded, where several were tried in turn
    meaning: float | None = None  # the judge's number for a success, where there is a judge
    flips: int = 0  # texts that reached the goal, but changed their meaning in the eyes of the judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """An attack: a goal, candidates, constraints and a search as one value. Recipes return these.

    `budget` bounds the victim queries of one example, the first one included; None: no bound. `measures` are taken of
    every success: the similarity to the original, the perplexity, grammar mistakes and agreement slips before and
    after, and the distance from the original in the vector that the victim's classifier reads.
    """

    name: str
    candidates: Candidates
    search: Search
    constraints: tuple[Constraint, ...] = ()
    goal: Goal = field(default_factory=Untargeted)
    budget: int | None = None
    measures: tuple[str, ...] = ()
    fallback: Fallback | None = None
    wants: frozenset[Capability] = field(default=frozenset(), repr=False)  # of the victim, beside what the goal needs
    encoder: str = "minilm"  # the sentence encoder that compares texts: minilm, mpnet, use
    together: Together | None = (
        None  # one change for all texts, not one for each; see `malaprop.frame.runs.shared_change`
    )
    abreast: int | None = None  # most examples in flight, where one fills batches alone; changes the memory alone
    stages: tuple[Attack, ...] = ()  # attacks tried in turn until one succeeds; the first has the parts above
    judge: Judge | None = None  # only texts that it allows may win
    rater: Judge | None = field(default=None, metadata={"record": False})  # rates successes; None: `judge` does
    # the languages of the texts; of several, each text's own is guessed, and the first stands where none is seen
    languages: tuple[str, ...] = field(default=(ENGLISH,), metadata={"record": False})

    def __post_init__(self) -> None:
        if self.budget is not None and (not isinstance(self.budget, (int, np.integer)) or self.budget < 1):
            raise SettingError(f"budget must be at least 1 query an example, a whole number, got {self.budget!r}")
        check_encoder(self.encoder)
        for name in self.measures:
            if name not in MEASURES:
                raise unknown("measure", name, MEASURES)
        if not self.languages:
            raise SettingError(f"{self.name} needs at least one language, such as en; got none")
        for code in self.languages:
            open_language(code)

    @property
    def needs(self) -> frozenset[Capability]:
        if self.together is not None:
            return frozenset({Capability.LABELS}) | self.wants
        distance = frozenset({Capability.EMBEDDINGS}) if "distance" in self.measures else frozenset()
        return self.goal.needs.union(self.wants, distance, *(stage.wants for stage in self.stages))

    def but(self, **settings: Any) -> Attack:
        """Return the attack with other settings; those that are None stay as they are."""
        return replace(self, **{name: value for name, value in settings.items() if value is not None})

    def for_labels(self, names: Sequence[str]) -> Attack:
        """Return the attack for data whose labels have these names; rules and bounds use the names."""
        made = self
        if isinstance(self.goal, Moved):
            made = replace(made, goal=self.goal.for_labels(names))
        if isinstance(self.candidates, RuleWords):
            made = replace(made, candidates=self.candidates.for_labels(names))
        if self.judge or self.rater:
            judge, rater = (one and one.for_labels(names) for one in (self.judge, self.rater))
            made = replace(made, judge=judge, rater=rater)
        return replace(made, stages=tuple(stage.for_labels(names) for stage in self.stages)) if self.stages else made

    def for_victim(self, label_names: Sequence[str]) -> Attack:
        """Return the attack for a victim with these labels; a text that it rejects is no success."""
        rejected = find_rejected(label_names)
        if rejected < 0 or isinstance(self.goal, Accepted):
            return self
        return replace(self, goal=Accepted(self.goal, rejected))

    def find_language(self, example: Example) -> Language:
        """Return the language of the fields of an example that may change."""
        shown = (str(value) for name, value in example.fields.items() if name in example.open)
        return choose_language("\n".join(shown), self.languages)

    def steps(
        self,
        example: Example,
        table: Words,
        owner: int,
        *,
        seed: int,
        unknown: str = "[UNK]",
        rounding: float = 0.0,
    ) -> Steps[Ending]:
        """Attack one example; always return an `Ending`, whatever fails on the way.

        `rounding` is the largest difference between the victim's batched answers and those of `predict`; where it is
        above 0, a success that `predict` does not confirm is no error: the search goes on without it.
        """
        try:
            origin = Text.of(example.fields, table, owner, cut=self.find_language(example).cut)
        except TextError as error:
            return Ending("error", None, None, None, None, 0, plain(error))
        if missing := [name for name in example.open if name not in example.fields]:
            reason = f"no field is called {missing[0]!r}; the example has {', '.join(example.fields)}"
            return Ending("error", origin, None, None, None, 0, reason)
        if empty := [name for name in PAIR if not example.fields.get(name, name).strip()]:
            return Ending("error", origin, None, None, None, 0, f"the {empty[0]} is empty; a pair needs both")
        trial = Trial(self, example, origin, seed, unknown, rounding)
        try:
            return (yield from self._run(trial))
        except ServiceFailed as failure:
            return Ending("error", origin, trial.clean, None, None, trial.asked, str(failure))
        except AssetError as missing:
            language = self.find_language(example)
            if language.code == self.languages[0]:
                raise  # no text of the main language can be attacked
            return Ending("error", origin, trial.clean, None, None, trial.asked, f"in {language.name}: {missing}")

    def _run(self, trial: Trial) -> Steps[Ending]:
        first = yield from trial.first()
        if not isinstance(self.goal, Moved):
            return (yield from self._go_on(trial, first))
        trial.attack = replace(self, goal=self.goal.from_original(first))
        return (yield from trial.attack._go_on(trial, first))

    def _go_on(self, trial: Trial, first: Floats) -> Steps[Ending]:
        """Continue the attack after the answer for the original."""
        origin, label, number = trial.origin, trial.example.label, isinstance(self.goal, Moved)
        if not number and not 0 <= label < len(first):
            reason = f"label {label} is not among the victim's {len(first)} labels"
            return Ending("error", origin, first, None, None, trial.asked, reason)
        if self.goal.wrong(first[None], label)[0]:
            right = not number and winner(first) == label
            wrong = "the victim's score is off by more than the bound" if number else WRONG
            return Ending("skipped", origin, first, None, None, trial.asked, TARGET_ALREADY if right else wrong)
        if not len(trial.open()):
            return Ending("failed", origin, first, origin, first, trial.asked, NO_WORDS)
        stages = list(self.stages)
        by = stages.pop(0).name if stages else ""
        while True:
            final = yield from _search(trial, first)
            if not final.reached and not trial.spent:
                if trial.attack.fallback is not None:
                    trial = trial.pass_on(_second(trial.attack, trial.attack.fallback))
                    continue
                if stages:
                    by = stages[0].name
                    trial = trial.pass_on(_under_conditions_of(trial.attack, stages.pop(0)))
                    continue
            if not final.reached:
                return Ending(
                    *("failed", origin, first, final.text, final.answer, trial.asked),
                    reason=_describe_failure(trial),
                    measures=trial.notes,
                    checks=trial.checks,
                    flips=trial.flips,
                )
            fresh = yield from trial.verified(final.text)
            if bool(self.goal.reached(np.asarray([fresh], np.float32), label, 0.0)[0]):
                return (yield from self._succeed(trial, first, final.text, fresh, by))
            if not trial.rounding:
                was, now = winner(final.answer), winner(fresh)
                reason = f"victim is not deterministic: it answered label {was}, then {now}, for the same text"
                return Ending("error", origin, first, None, None, trial.asked, reason)
            if trial.times > RETRIES:
                reason = f"{RETRIES + 1} successes in fewer bits were not confirmed by the victim's plain answers"
                return Ending("failed", origin, first, final.text, fresh, trial.asked, reason, checks=trial.checks)
            trial = trial.rewound()

    def _succeed(self, trial: Trial, first: Floats, final: Text, fresh: Floats, by: str) -> Steps[Ending]:
        """Measure a confirmed success and let the judge rate it; one that the judge refuses is a failure."""
        rater, meaning = self.judge or self.rater, None
        if rater is not None:
            (meaning,) = yield from rater.rate(trial, [final])
            if self.judge is not None and meaning < self.judge.floor:
                return Ending(
                    *("failed", trial.origin, first, final, fresh, trial.asked, REFUSED),
                    measures=trial.notes,
                    checks=trial.checks,
                    meaning=meaning,
                    flips=trial.flips + 1,
                )
        measured = yield from _measured(self.measures, trial, final)
        return Ending(
            *("success", trial.origin, first, final, fresh, trial.asked),
            measures={**trial.notes, **measured},
            checks=trial.checks,
            by=by,
            meaning=meaning,
            flips=trial.flips,
        )


def _describe_failure(trial: Trial) -> str:
    """Return the reason why a search ended without success, where one is known."""
    if not trial.tried and not trial.spent:
        return _describe_nothing(trial)
    return trial.reason or (REFUSED if trial.flips else "")


def _describe_nothing(trial: Trial) -> str:
    """Return the reason why there was no edit to try."""
    kept = [rule for rule in trial.attack.constraints if isinstance(rule, KeepWords)]
    protected = any(not rule.slots(trial, trial.open()).any() for rule in kept)
    return ALL_PROTECTED if protected else NOTHING_TO_CHANGE


def _second(attack: Attack, fallback: Fallback) -> Attack:
    """Return the attack that the fallback makes of a failed one."""
    return replace(attack, candidates=fallback.candidates, search=fallback.search, fallback=None)


def _under_conditions_of(attack: Attack, stage: Attack) -> Attack:
    """Return a stage with the goal, budget, measures, judge and languages of the attack that it belongs to."""
    shared = ("goal", "budget", "measures", "judge", "rater", "languages")
    return replace(stage, **{name: getattr(attack, name) for name in shared})


def try_in_turn(name: str, attacks: Sequence[Attack]) -> Attack:
    """Return several attacks as one: each is tried on the texts on which the earlier ones failed.

    A budget is for all of them together, and the queries of all count.
    """
    if not attacks:
        raise SettingError(f"{name} needs at least one attack, got none")
    for one in attacks:
        if one.together is not None or one.stages:
            raise SettingError(
                f"{one.name} cannot be a part of {name}: it changes all texts at once, or is several attacks"
            )
    widths = [one.abreast for one in attacks if one.abreast is not None]
    return replace(attacks[0], name=name, stages=tuple(attacks), abreast=min(widths, default=None))


def _search(trial: Trial, first: Floats) -> Steps[Held]:
    """Run the search; return its best text, before a fresh query confirms it."""
    attack, start = trial.attack, trial.start(first)
    try:
        later = isinstance(attack.search, Fetching) and attack.search.fetches
        space = yield from trial.space(later=later)
        end = start
        own = isinstance(attack.candidates, Own) or (later and len(space.slots) > 0)
        if own or any(len(words) for words in space.words):
            end = yield from attack.search.steps(trial, start, space)
        trial.hold(end)
    except Spent:
        yield from trial.look_back()
    return trial.held or start


def _measured(names: Sequence[str], trial: Trial, final: Text) -> Steps[dict[str, float]]:
    """What was asked for besides: both texts go to the encoder and to the language model, without what must stay."""
    both, out = [trial.shown(trial.origin), trial.shown(final)], {}
    if "similarity" in names:
        one, two = yield Ask(trial.encoder, both)
        out["similarity"] = float(np.dot(one, two))
    if "perplexity" in names:
        before, after = yield Ask("language-model", both)
        out["perplexity_before"], out["perplexity"] = float(before), float(after)
        out["perplexity_ratio"] = float(after) / max(float(before), 1e-30)
    for name in ("grammar", "agreement"):
        if name in names:
            before, after = yield Ask(name, both)
            out[f"{name}_before"], out[name] = float(before), float(after)
    if "distance" in names:
        (apart,) = yield Ask("embeddings", [Apart(origin=trial.origin, variants=Variants.itself(final))])
        out["distance"] = float(apart[0])
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """Candidates for searches that make their own replacements: no words, for the open slots of the space."""

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:  # noqa: ARG002
        yield from ()  # a generator like its siblings, though it asks nothing
        return [np.empty(0, np.int64) for _ in slots]
