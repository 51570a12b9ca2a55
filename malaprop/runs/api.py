"""The library's front door: attack a victim from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.goals import GOALS
from malaprop.attacks.goals.confident import Confident
from malaprop.attacks.goals.goal import Goal, Targeted
from malaprop.attacks.goals.moved import Moved
from malaprop.attacks.recipes import RECIPES
from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.core.settings import call
from malaprop.data.base import of
from malaprop.data.matching import agree, are_numbers
from malaprop.runs.folder import ENGINES, Engine
from malaprop.runs.local import Local

if TYPE_CHECKING:
    from malaprop.records.outcome import Outcome


def goal(name: str | None) -> Goal | None:
    """A goal as it is typed: untargeted, label-only, targeted:LABEL, confident:FLOOR, moved:BOUND; None stays None."""
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
    if not rest.isdecimal():
        raise SettingError(f"a targeted goal is written targeted:LABEL, with the number of the label, got {name!r}")
    return Targeted(target=int(rest))


_goal = goal  # `recipe` calls an argument so


def recipe(
    name: str,
    *,
    budget: int | None = None,
    goal: Goal | str | None = None,
    measures: tuple[str, ...] | None = None,
    **settings: Any,
) -> Attack:
    """A recipe by name, with its own settings by name; its goal, budget and measures may be set for any.

    The goal is a part, or written as on the command line: "label-only", "targeted:2", "confident:0.9".
    """
    made: Attack = call(RECIPES[name], settings, f"recipe {name}")
    return made.but(budget=budget, goal=_goal(goal) if isinstance(goal, str) else goal, measures=measures)


def attack(
    recipe_or_attack: str | Attack,
    victim: Any,
    examples: Any,
    *,
    seed: int = 0,
    width: int = 256,
    budget: int | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    labels: Sequence[str] = (),
    **settings: Any,
) -> list[Outcome]:
    """Attacks every example and gives the outcomes in the order of the examples.

    `victim` is what `mp.victim` takes, or a victim; examples are (text, label) pairs, ((premise, hypothesis), label)
    pairs, Examples, dictionaries, a DataFrame or a set of the `datasets` library. A label is a number of the victim's
    scores or a name, which is matched with the victim's names; `labels` are those names in the order of its scores, for
    a victim that does not know them. Further keywords are settings of the recipe. `engine="ray"` does the same work on
    the cluster at `address`, or on one started on this machine for the time being.
    """
    made = _made(recipe_or_attack, settings)
    data = of(examples)
    if len({example.id for example in data}) < len(data):
        raise DataError("two examples share an id; outcomes could not be told apart")
    made = made.but(budget=budget).for_labels(data.labels)
    with _engine(engine, victim, address, workers) as place:
        data = data.ordered_as(labels) if labels else data
        if labels or not are_numbers(data.labels):
            data = agree(data, place.victim if isinstance(place, Local) else place.about)
        found = {o.id: o for o in place.run(made, data, seed=seed, width=width, many=len(data))}
    return [found[example.id] for example in data]


def _made(recipe_or_attack: str | Attack, settings: Mapping[str, Any]) -> Attack:
    if not isinstance(recipe_or_attack, Attack):
        return recipe(recipe_or_attack, **settings)
    if settings:
        raise SettingError(
            f"{', '.join(settings)}: settings go with the name of a recipe; this attack ({recipe_or_attack.name}) is "
            "made already, so set them where it is made"
        )
    return recipe_or_attack


@contextmanager
def _engine(name: str, victim: Any, address: str | None, workers: int | None) -> Iterator[Engine]:
    """Where the attacks run, with the victim at hand there."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if name == "local":
        from malaprop.runs.victims import victim as wrap

        if address is not None or workers is not None:
            raise SettingError("address and workers are for engine='ray'")
        yield Local(victim=wrap(victim))
        return
    from malaprop.runs.cluster import Crew, join

    with join(address, workers=workers) as cluster, Crew(cluster, victim, workers=workers) as crew:
        yield crew
