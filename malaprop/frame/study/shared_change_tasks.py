"""Tasks of attacks that make one change for all texts: search it on a panel of other texts, then apply it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import RecordError
from malaprop.frame.study.attack_tasks import Conditions, DataReading, run_task
from malaprop.frame.study.shared_tasks import slug

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.frame.runs.shared_change import SharedChange
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext


def attack_tasks(
    name: str, look: str, attack: Attack, victim: Any, conditions: Conditions, reading: DataReading, **more: Any
) -> Iterator[Task]:
    """Yield the tasks of one attack on one victim: its run and, for a change shared by all texts, a search before it.

    The search writes its change to NAME.change.json.
    """
    if attack.together is None:
        yield run_task(name, look, attack, victim, conditions, reading, **more)
        return
    from malaprop.frame.runs.shared_change import SharedChange
    from malaprop.frame.tasks.outputs import JsonFile
    from malaprop.frame.tasks.task import Task

    search = f"{'/'.join(map(slug, name.split('/')))}.change"
    more.pop("clean", None)  # the texts are asked under the change alone
    after = tuple(more.pop("after", (look,)))
    kept = {key: more[key] for key in ("optional", "vital") if key in more}
    seed = reading.selection.seed
    yield Task(
        name=search, work=partial(find, conditions, attack, seed), output=JsonFile(SharedChange),
        victims={"victim": victim}, holds=(look,), after=after, reads=partial(read_panel, attack, look, reading),
        **kept,
    )  # fmt: skip
    yield run_task(
        name, look, attack, victim, conditions, reading, after=(*after, search), follows=True,
        work=partial(put, conditions, attack, seed, search), **more,
    )  # fmt: skip


def read_panel(attack: Attack, look: str, reading: DataReading, inputs: Inputs) -> Inputs:
    """Sample the panel from the training part by the seed, with labels numbered as the victim's."""
    from malaprop.data.matching import agree

    assert attack.together is not None
    texts, about = reading.selection, inputs[look].about
    if isinstance(texts.data, str):
        part = replace(texts, split="train", n=0).whole()
        found = agree(part.sample(attack.together.panel, texts.seed), about)
    else:  # values of Python have no parts
        found = reading.match(look, inputs)  # type: ignore[assignment]
    return {"panel": list(found)[: attack.together.panel]}


def find(
    conditions: Conditions, attack: Attack, seed: int, context: WorkerContext, inputs: Inputs
) -> Iterator[SharedChange]:
    """Search for the change in the worker that holds the victim."""
    from malaprop.frame.runs.shared_change import find_change

    victim = conditions.open(context, inputs["victim"])
    yield find_change(attack, victim, inputs["panel"], seed=seed, width=conditions.width)


def put(
    conditions: Conditions, attack: Attack, seed: int, search: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """Apply the change to a share of the examples."""
    from malaprop.core.victim import VictimDescription
    from malaprop.frame.runs.folder import describe
    from malaprop.frame.runs.shared_change import apply_change
    from malaprop.frame.tasks.outputs import Note

    victim, change = conditions.open(context, inputs["victim"]), inputs[search]
    if (change.victim, change.recipe) != (victim.fingerprint or victim.name, attack.name):
        raise RecordError(f"{search}.json is of {change.recipe} on another victim or prompt; choose another --out")
    notes = (*inputs["doubts"], change.describe())
    about = VictimDescription.of(victim)
    yield describe(attack, about, share.whole, seed=seed, width=conditions.width, notes=notes)
    yield from apply_change(victim, change, share.items, seed=seed)
    yield Note(change.describe())
    yield from (Note(line, once=True) for line in victim.notes)
