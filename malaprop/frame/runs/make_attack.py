"""Make attacks from recipes, goals and settings, and run them on a victim from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.constraints.positions import parse_keep
from malaprop.attacks.goals import GOALS
from malaprop.attacks.goals.goal import Confident, Goal, Moved, Targeted
from malaprop.attacks.quality import STRICT, set_quality
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.validity import set_validity
from malaprop.core.errors import DataError, SettingError
from malaprop.core.settings import call
from malaprop.data.base import Dataset, of
from malaprop.data.matching import agree, are_numbers
from malaprop.frame.records.outcome import Outcomes
from malaprop.frame.runs.local import run


def goal(name: str | None) -> Goal | None:
    """Parse a goal: untargeted, label-only, targeted:LABEL[,MARGIN], confident:FLOOR, moved:BOUND; None stays None."""
    if name is None:
        return None
    kind, _, rest = name.partition(":")
    if kind == "confident" and rest:
        try:
            return Confident(floor=float(rest))
        except ValueError:
            raise SettingError(f"a confident goal is written confident:FLOOR, as confident:0.9, got {name!r}") from None
    if kind == "moved" and rest:
        try:
            return Moved(bound=float(rest))
        except ValueError:
            raise SettingError(f"a goal of moving a score is written moved:BOUND, as moved:0.5, got {name!r}") from None
    if kind != "targeted":
        made: Goal = GOALS[kind]()
        return made
    label, comma, margin = rest.partition(",")
    try:
        return Targeted(target=int(label), margin=float(margin) if comma else 0.0)
    except ValueError:
        raise SettingError(
            "a targeted goal is written targeted:LABEL, with the number of the label, or targeted:LABEL,MARGIN as "
            f"targeted:2,0.3, got {name!r}"
        ) from None


_goal = goal  # `recipe` has an argument of the same name


def protect(attack: Attack, keep: str | Iterable[str] | None) -> Attack:
    """Return the attack with a constraint that keeps these words and spans; None: the attack itself."""
    if keep is None:
        return attack
    stages = tuple(protect(stage, keep) for stage in attack.stages)
    return replace(attack, constraints=(parse_keep(keep), *attack.constraints), stages=stages)


def recipe(
    name: str,
    *,
    budget: int | None = None,
    goal: Goal | str | None = None,
    measures: tuple[str, ...] | None = None,
    keep: str | Iterable[str] | None = None,
    quality: str = "paper",
    validity: str = "",
    **settings: Any,
) -> Attack:
    """Make the attack of a recipe by name and its settings; any recipe takes a goal, budget, measures and validity.

    The goal is a part, or written as on the command line: "label-only", "targeted:2", "confident:0.9". `keep` names
    words, phrases, "re:EXPRESSION" and "@FILE" that must stay. The validity is "valid" or "strict" for an attack that
    must keep the meaning, "paper" for one whose successes a judge rates; without it none is asked. The quality is
    "paper", or "strict" for words that keep grammar and meaning better; ":strict" behind a recipe's name says the same.
    """
    if name not in RECIPES and name.endswith(STRICT):
        name, quality = name.removesuffix(STRICT), "strict"
    made = protect(set_quality(call(RECIPES[name], settings, f"recipe {name}"), quality), keep)
    made = set_validity(made, validity) if validity else made
    return made.but(budget=budget, goal=_goal(goal) if isinstance(goal, str) else goal, measures=measures)


def attack(
    recipe_or_attack: str | Attack,
    victim: Any,
    examples: Any,
    *,
    seed: int = 0,
    width: int = 256,
    budget: int | None = None,
    labels: Sequence[str] = (),
    **settings: Any,
) -> Outcomes:
    """Attack every example in this process and return the outcomes in the order of the examples.

    `mp.attack` does the same as a study, which may use several processes or machines.
    """
    from malaprop.frame.runs.victims import victim as wrap

    made, data = make_attack(recipe_or_attack, settings).but(budget=budget), unique(of(examples))
    made, opened = made.for_labels(data.labels), wrap(victim)
    data = data.ordered_as(labels) if labels else data
    if labels or not are_numbers(data.labels):
        data = agree(data, opened)
    found = {outcome.id: outcome for outcome in run(made, opened, data, seed=seed, width=width)}
    return Outcomes(found[example.id] for example in data)


def unique(data: Dataset) -> Dataset:
    """Return the data; raise DataError if two examples share an id."""
    if len({example.id for example in data}) < len(data):
        raise DataError("two examples share an id; outcomes could not be told apart")
    return data


def make_attack(recipe_or_attack: str | Attack, settings: Mapping[str, Any]) -> Attack:
    """Return the attack of a named recipe with these settings, or a given attack, which takes none."""
    if not isinstance(recipe_or_attack, Attack):
        return recipe(recipe_or_attack, **settings)
    if settings:
        raise SettingError(
            f"{', '.join(settings)}: settings go with the name of a recipe; this attack ({recipe_or_attack.name}) is "
            "made already, so set them where it is made"
        )
    return recipe_or_attack
