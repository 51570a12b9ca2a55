"""The victims of one playground with their threads, its recipes and examples, and their warm-up."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.attacks.recipes import RECIPES
from malaprop.core.errors import AssetError, MalapropError, SettingError
from malaprop.core.example import Example
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.features.explain.importance import Substitutes, wordnet_substitutes
from malaprop.features.playground.input_checks import VICTIMS, distinct, log, shorten_name
from malaprop.features.playground.jobs import attack_on, importance_of, scores_of
from malaprop.features.playground.victim_thread import VictimThread
from malaprop.frame.runs.make_attack import recipe

FIRST = "pwws"  # the recipe that the page selects at first


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe that the page offers; `about` is the first paragraph of its docstring."""

    name: str
    about: str
    attack: Attack


class PlaygroundVictims:
    """The victims, recipes and examples of one playground; close it when it is no longer served."""

    def __init__(self, victims: Sequence[Victim], *, data: Dataset | None = None, budget: int = 5_000) -> None:
        if not 1 <= len(victims) <= VICTIMS:
            raise SettingError(f"the playground shows 1 to {VICTIMS} victims side by side, got {len(victims)}")
        data = None if data is None else data.in_terms_of(_labels(victims))
        names = distinct([shorten_name(victim.name) for victim in victims])
        self.recipes = recipes(budget)
        self.fields = ("text",) if data is None else data.fields
        self.examples = [] if data is None else list(data)
        self.data_labels = () if data is None else data.labels
        self.substitutes = _substitutes()
        self.threads = [VictimThread(victim, name) for victim, name in zip(victims, names, strict=True)]

    def label_names(self, thread: VictimThread) -> tuple[str, ...]:
        """Return the names of the victim's labels: its own, or those of the data if their number agrees."""
        own: tuple[str, ...] = thread.victim.label_names
        if own:
            return own
        return self.data_labels if thread.victim.labels in (None, len(self.data_labels)) else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels to choose from: the first victim's, by whose numbers the examples are labelled."""
        return self.label_names(self.threads[0])

    def close(self) -> None:
        for thread in self.threads:
            thread.close()


def recipes(budget: int) -> dict[str, Recipe]:
    """Return all recipes that need no settings, with a query budget."""
    found = {}
    for name in RECIPES:
        make = RECIPES[name]
        if any(given.default is given.empty for given in inspect.signature(make).parameters.values()):
            continue
        about = (inspect.getdoc(make) or "").split("\n\n")[0].replace("\n", " ")
        found[name] = Recipe(name, about, recipe(name, budget=budget))
    return found


def _labels(victims: Sequence[Victim]) -> tuple[str, ...]:
    """Return the label names of the first victim that has any."""
    return next(filter(None, (victim.label_names for victim in victims)), ())


def _substitutes() -> Substitutes | None:
    try:
        return wordnet_substitutes()
    except AssetError as error:
        log.warning("no substitutes: %s", error)
        return None


SECONDS = 120.0  # most waiting for each warm-up job


def warm_up(room: PlaygroundVictims) -> None:
    """Run small jobs on every victim, so that the first visitor does not wait for models and lexicons to load.

    A failure is logged; a visitor who needs that job gets the error.
    """
    for thread in room.threads:
        for future in _work(room, thread):
            try:
                future.result(SECONDS)
            except (MalapropError, TimeoutError) as error:
                log.warning("%s is not ready: %s", thread.name, error)


def _work(room: PlaygroundVictims, thread: VictimThread) -> list[Future[Any]]:
    fields = dict.fromkeys(room.fields, "a warm and funny film")
    out: list[Future[Any]] = [thread.submit(scores_of(fields)).future]
    try:
        out.append(thread.submit(importance_of(thread, fields, None, room.substitutes)).future)
        for label in (0, 1):  # one of them is what the victim says
            example = Example(f"warm-up-{label}", fields, label)
            out.append(thread.submit(attack_on(thread, room.recipes[FIRST].attack, example, 0)).future)
    except MalapropError as error:
        log.warning("%s is not ready: %s", thread.name, error)
    return out
