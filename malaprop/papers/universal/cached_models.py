"""Train the zoo models of a study to the cache, once for all studies that use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import MalapropError, VictimError, plain

if TYPE_CHECKING:
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.splits import Splits


def find_homes(
    names: Sequence[str],
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    training: Mapping[str, Any] | None = None,
) -> dict[str, Path]:
    """Return the cache folder of each zoo model by its name (`NAME#2` too), whether it is trained yet or not."""
    if not names:
        return {}
    from malaprop.zoo import names as zoo
    from malaprop.zoo.cache import home
    from malaprop.zoo.train import TrainingInput

    parts = read_parts(data, text, label)
    given = TrainingInput(settings=training).plain() if training else None
    return {name: home(spec, parts, seed, given) for name in names for spec, seed in (zoo.parse(name),)}


@lru_cache(maxsize=2)
def read_parts(data: str, text: str | None, label: str | None) -> Splits:
    """Read a dataset and split it into the parts that models are trained, validated and tested on."""
    from malaprop.data.base import load
    from malaprop.training.splits import splits

    return splits(partial(load, text=text, label=label), data)


def train_task(
    name: str,
    spec: str,
    home: Path,
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    training: Mapping[str, Any] | None = None,
) -> Task:
    """Return the task that trains a zoo model to its folder; settings of `training` that it does not have are left out.

    A model that is there already is not trained again.
    """
    from malaprop.frame.tasks.outputs import OwnFolder
    from malaprop.frame.tasks.task import Task

    at = str(home.absolute())
    work = partial(train_model, spec, data, text, label, dict(training or {}))
    return Task(name=name, at=at, work=work, output=OwnFolder())


def train_model(
    spec: str,
    data: str,
    text: str | None,
    label: str | None,
    training: Mapping[str, Any],
    context: WorkerContext,
    inputs: Inputs,
) -> Iterator[Any]:
    """Train one zoo model, the work of `train_task`; two studies that want the same model train it once."""
    from malaprop.assets.folders import locked
    from malaprop.frame.study.shared_tasks import settings_of
    from malaprop.frame.tasks.outputs import Note
    from malaprop.training.card import read_card
    from malaprop.zoo import checkpoint
    from malaprop.zoo import names as zoo
    from malaprop.zoo.train import TrainingInput, WordRows, train

    del inputs
    known, seed = zoo.parse(spec)
    parts = context.keep(f"parts of {data}", lambda: read_parts(data, text, label))
    words = context.keep(f"words of {data}", lambda: WordRows.of(parts, int(training.get("least", 1))))
    given = TrainingInput(settings=settings_of(spec, training) if training else None, words=words)
    try:
        with locked(context.folder.name):
            if not checkpoint.is_checkpoint(context.folder):
                train(known, parts, context.folder, seed=seed, device=context.device, given=given, quiet=True)
    except MalapropError as error:
        raise VictimError(f"{spec} cannot be trained: {plain(error)[:300]}") from None
    figures = read_card(context.folder).figures
    yield Note(f"right on {figures['test_accuracy']:.1%} of the test texts; kept in the cache")


class StudyVictims:
    """The victims of a study: which of them are zoo models to be trained, and what is loaded for each."""

    def __init__(self, specs: Sequence[Any], train_data: str) -> None:
        from malaprop.frame.study.shared_tasks import is_trained_here
        from malaprop.papers.universal.study_models import expand_names

        self.train_data = train_data
        self.specs = expand_names(specs)
        self.homes = find_homes([spec for spec in self.specs if is_trained_here(spec)], train_data)

    def train_tasks(self) -> Iterator[Task]:
        for spec, home in self.homes.items():
            yield train_task(f"models/{spec}", spec, home, self.train_data)

    def load_from(self, spec: Any) -> Any:
        """Return what is loaded for a victim: the cache folder of a zoo name, else the victim as it was given."""
        return str(self.homes[spec]) if spec in self.homes else spec

    def training_tasks(self, *specs: Any) -> tuple[str, ...]:
        """Return the names of the tasks that train these victims; empty where none is trained here."""
        return tuple(f"models/{spec}" for spec in specs if spec in self.homes)

    @property
    def victims(self) -> Mapping[str, Any]:
        """Return what is loaded for each victim, by the name that tasks give it ("victim 0", "victim 1", ...)."""
        return {f"victim {number}": self.load_from(spec) for number, spec in enumerate(self.specs)}
