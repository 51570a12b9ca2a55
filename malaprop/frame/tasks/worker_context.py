"""`WorkerContext` is what a task finds where it runs: device, folder, loaded victims, services and the budget."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.core.budget import BudgetClient, BudgetState, Charge, Limits, charge_to
from malaprop.core.errors import MalapropError, SettingError, VictimError, plain

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.frame.runs.services import Services
    from malaprop.frame.tasks.task import Task

Made = TypeVar("Made")
CHECKED = "checked.sqlite"  # fresh answers that were paid for, kept while a run goes on in case it is killed
NO_CACHE = Path("none")  # keep answers in no file, even if they are paid for
_HELD = 48  # victims kept loaded; the least recently used one goes first
_CARRIED = ("MALAPROP_CACHE", "MALAPROP_DATA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How a worker loads models: device, precision, threads, limits. It is sent to every worker."""

    root: Path  # the study's folder
    device: str = "cpu"
    precision: str = "auto"
    threads: int | None = None  # of one process; None leaves torch alone
    sharing: int = 1  # processes on one GPU
    quiet: bool = True
    limits: Limits | None = None  # what the run may spend; None: nothing is counted
    labels: tuple[str, ...] = ()  # names for the labels of victims that name none, in the order of their scores
    home: str = field(default_factory=os.getcwd)  # the driver's working folder
    surroundings: Mapping[str, str] = field(
        default_factory=lambda: {name: os.environ[name] for name in _CARRIED if name in os.environ}
    )

    def apply(self) -> None:
        """Apply the driver's environment, working folder, threads and share of the GPU to this worker process."""
        for name, value in self.surroundings.items():
            if Path(value).exists():
                os.environ[name] = value
        if Path(self.home).is_dir():
            os.chdir(self.home)
        if self.threads is not None:
            os.environ["OMP_NUM_THREADS"] = str(self.threads)
        if self.device.startswith("cuda"):
            from malaprop.models.tokens.batches import avoid_cudnn_attention, read_parts, share_gpu

            avoid_cudnn_attention()
            if (parts := max(self.sharing, read_parts())) > 1:
                share_gpu(parts)
        self.keep_threads()

    def keep_threads(self) -> None:
        """Limit torch, if it is loaded, to this process's share of the cores."""
        if self.threads is not None and (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(self.threads)


class WorkerContext:
    """What a task finds where it runs. `folder` is the task's own; `before` is what an earlier attempt finished."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.folder = place.root
        self.before: Any = frozenset()
        self._held: OrderedDict[str, Victim] = OrderedDict()
        self._services: tuple[str, int, Services] | None = None
        self._kept: dict[str, Any] = {}
        self._held_for: tuple[Path, Any] | None = None
        self._notes: list[str] = []
        self.tell: Callable[[str], None] = self._notes.append  # workers replace it by a function that sends at once
        self.budget_client: BudgetClient | None = None

    def charge_through(self, send: Callable[[Charge], BudgetState]) -> None:
        """Charge every query to the run's budget through `send`, if the run counts queries."""
        if self.place.limits is not None:
            self.budget_client = BudgetClient(send, self.place.limits)

    @property
    def device(self) -> str:
        return self.place.device

    @property
    def quiet(self) -> bool:
        return self.place.quiet

    def note(self, text: str) -> None:
        """Send a line to the user from the middle of long work; between pieces a task may yield a `Note` instead."""
        self.tell(text)

    def take_notes(self) -> list[str]:
        """Return the notes that were not sent yet, and forget them."""
        found, self._notes[:] = list(self._notes), []
        return found

    def begin(self, task: Task, before: Any, folder: Path | None = None) -> None:
        """Prepare for a task: set its folder, and drop what was held for another one."""
        self.folder = task.folder(self.place.root) if folder is None else folder
        self.before = before
        if self._services is not None and self._services[0] != str(self.folder):
            self._services = None
        if self._held_for is not None and self._held_for[0] != self.folder:
            self._held_for = None

    def victim(self, thing: Any, cache: Path | None = None) -> Victim:
        """Return the victim that `mp.victim` makes of a name, folder or object; load it once for all later tasks.

        Its queries are counted if the run counts them. Its answers are kept in the file `cache`; without one, answers
        that are paid for are kept in a file of malaprop's own. `NO_CACHE` keeps them nowhere.
        """
        key = f"{cache}: {thing}" if _is_named(thing) else f"{cache}: object {id(thing)}"
        if key not in self._held:
            self._held[key] = self._guard(self._load(thing), thing, cache)
            while len(self._held) > _HELD or (len(self._held) > 1 and self._crowded()):
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]

    def keep(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what `make` returned for this name, called once in this process: for data that many tasks read."""
        if name not in self._kept:
            self._kept[name] = make()
        found: Made = self._kept[name]
        return found

    def hold(self, make: Callable[[], Made]) -> Made:
        """Return what `make` returned, called once for all shares of a task and dropped when another task begins."""
        if self._held_for is None:
            self._held_for = self.folder, make()
        found: Made = self._held_for[1]
        return found

    def services(self, victim: Victim) -> Services:
        """Return the services for attacks on a victim; their memory serves all shares of a task.

        Models that a judge of meaning asks are counted as victims are.
        """
        from malaprop.frame.runs.services import services

        key = (str(self.folder), id(victim))
        if self._services is None or self._services[:2] != key:
            self._services = (*key, services(victim))
            self._services[2].find = self.victim
        return self._services[2]

    def give_memory_back(self) -> None:
        """Free unused GPU memory after a job, if other processes share the GPU."""
        if self.place.sharing > 1:
            self._crowded()

    def _load(self, thing: Any) -> Victim:
        from malaprop.frame.runs.victims import name_labels, victim

        place = self.place
        named = _is_named(thing)
        options: dict[str, Any] = {"precision": place.precision, "quiet": place.quiet} if named else {}
        thing = str(thing) if isinstance(thing, Path) else thing
        try:
            with charge_to(self.budget_client):  # a probe at loading costs queries, too
                made = victim(thing, device=place.device, **options)
        except MalapropError:
            raise
        except Exception as error:
            raise VictimError(f"{getattr(thing, 'spec', thing)} cannot be loaded: {plain(error)[:300]}") from error
        place.keep_threads()
        if place.labels and made is not thing:
            name_labels(made, place.labels)
        return made

    def _guard(self, made: Victim, thing: Any, cache: Path | None) -> Victim:
        """Wrap the victim in `Paid` if its answers are to be kept or counted."""
        if cache is not None and cache != NO_CACHE and made.renews:
            raise SettingError(f"--cache would keep one draw of {made.name} for ever; leave out --cache or seed=fresh")
        if cache is None and self._is_paid(thing) and not made.renews:
            cache = self._answers_of(made)
            self.note(f"answers of {made.name} are kept in {cache} and not paid for twice; --cache none keeps none")
        disk = None if cache == NO_CACHE else cache
        if disk is None and self.budget_client is None:
            return made
        from malaprop.engine.paid import Paid

        again = self.place.root / CHECKED if disk is not None and self.place.root.is_dir() else None
        return Paid(made, disk, self.budget_client, again)

    def _answers_of(self, victim: Victim) -> Path:
        """Return the file for paid answers: one for each fingerprint; without a fingerprint one for this study."""
        from malaprop.assets.folders import cache_root

        if not victim.fingerprint:
            return self.place.root / "answers.sqlite"
        return cache_root() / "answers" / f"{victim.fingerprint}.sqlite"

    def _is_paid(self, thing: Any) -> bool:
        """Return whether answers cost money: the run has a price, or the victim is behind a paid service."""
        priced = self.place.limits is not None and self.place.limits.priced
        return priced or (_is_named(thing) and "openai:" in str(thing))

    def _crowded(self) -> bool:
        """Free GPU memory if it is short; return whether it still is."""
        if not self.place.device.startswith("cuda"):
            return False
        import torch

        from malaprop.frame.runs.local import free_memory
        from malaprop.models.tokens.batches import crowded

        device = torch.device(self.place.device)
        if crowded(device):
            free_memory()
        return crowded(device)


def forget_checks(root: Path) -> None:
    """Remove the fresh answers of a run that has ended, for nothing resumes it."""
    for path in root.glob(f"{CHECKED}*"):
        path.unlink(missing_ok=True)


def _is_named(thing: Any) -> bool:
    """Return whether a victim is given by name, so that loading it once is enough."""
    from malaprop.frame.runs.victims import Configured

    return isinstance(thing, (str, os.PathLike, Configured))
