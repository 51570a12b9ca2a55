"""The library's front door: attack a victim from Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.goals import GOALS
from malaprop.attacks.goals.goal import Goal, Targeted
from malaprop.attacks.recipes import RECIPES
from malaprop.core.errors import DataError, SettingError
from malaprop.core.settings import call
from malaprop.data.base import Source, of
from malaprop.runs.local import run

if TYPE_CHECKING:
    from malaprop.core.example import Example
    from malaprop.records.outcome import Outcome


def goal(name: str | None) -> Goal | None:
    """A goal as it is typed: untargeted, label-only, or targeted:LABEL; None stays None."""
    if name is None:
        return None
    kind, _, rest = name.partition(":")
    if kind != "targeted":
        made: Goal = GOALS[kind]()
        return made
    if not rest.isdecimal():
        raise SettingError(f"a targeted goal is written targeted:LABEL, with the number of the label, got {name!r}")
    return Targeted(target=int(rest))


def recipe(
    name: str,
    *,
    budget: int | None = None,
    goal: Goal | None = None,
    measures: tuple[str, ...] | None = None,
    **settings: Any,
) -> Attack:
    """A recipe by name, with its own settings by name; its goal, budget and measures may be set for any."""
    made: Attack = call(RECIPES[name], settings, f"recipe {name}")
    return made.but(budget=budget, goal=goal, measures=measures)


def attack(
    recipe_or_attack: str | Attack,
    victim: Any,
    examples: Iterable[Example | tuple[Source, int]],
    *,
    seed: int = 0,
    width: int = 256,
    budget: int | None = None,
    **settings: Any,
) -> list[Outcome]:
    """Attacks every example and gives the outcomes in the order of the examples.

    `victim` is what `mp.victim` takes, or a victim; examples are (text, label) pairs, ((premise, hypothesis), label)
    pairs, or Examples. Further keywords are settings of the recipe.
    """
    from malaprop.runs.victims import victim as wrap

    made = recipe_or_attack if isinstance(recipe_or_attack, Attack) else recipe(recipe_or_attack, **settings)
    data = of(examples)
    if len({example.id for example in data}) < len(data):
        raise DataError("two examples share an id; outcomes could not be told apart")
    found = {o.id: o for o in run(made.but(budget=budget), wrap(victim), data, seed=seed, width=width)}
    return [found[example.id] for example in data]
