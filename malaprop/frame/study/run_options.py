"""`RunOptions` choose the device, processes and machines of a study; `OutputOptions` its folder and what is printed.

Every study holds both groups of settings. None of them changes a result, so all of them are `free`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.core.budget import Budget
    from malaprop.frame.tasks.workers.job import Workers

ENGINES = ("local", "ray")
TRACKERS = ("mlflow", "wandb", "tensorboard")


def width_option(default: int = 256) -> int:
    """Return the setting `width`, the number of attacks side by side, for studies that run attacks."""
    made: int = opt(default, min=1, free=True)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where tasks run: device, precision, processes, and this machine or a Ray cluster."""

    device: str = opt("auto", free=True)
    precision: str = opt("auto", free=True)
    jobs: int | None = opt(None, min=1, free=True, old=("workers",))
    engine: str = opt("local", choices=ENGINES, free=True)
    address: str | None = opt(None, free=True)

    @property
    def many(self) -> int:
        """The approximate number of tasks at a time; eight on a cluster, whose size is not known yet."""
        return self.jobs or (8 if self.engine == "ray" else 1)

    @property
    def is_cpu(self) -> bool:
        """Whether this machine uses no GPU; studies then train smaller models by default."""
        from malaprop.frame.runs.victims import device_of

        return device_of(self.device) == "cpu"

    def check(self) -> None:
        """Raise SettingError for options that exclude each other."""
        if self.engine != "ray" and self.address is not None:
            raise SettingError("--address is for --engine ray; use --jobs for processes of this machine")

    @contextmanager
    def open_workers(
        self, root: Path, *, quiet: bool = True, budget: Budget | None = None, labels: Sequence[str] = ()
    ) -> Iterator[Workers]:
        """Open the workers: this process, several processes or a cluster's actors. They charge queries to the budget.

        `labels` names the labels of victims that name none.
        """
        from malaprop.frame.tasks.worker_context import Place

        self.check()
        many = self.jobs
        limits = None if budget is None else budget.limits
        place = Place(
            root=root.absolute(), device=self.device, precision=self.precision, quiet=quiet, limits=limits,
            labels=tuple(labels),
        )  # fmt: skip
        if self.engine == "ray":
            from malaprop.frame.tasks.workers.ray_cluster import RayCluster
            from malaprop.frame.tasks.workers.ray_session import join

            with join(self.address, workers=many) as session:
                yield RayCluster(session, place, workers=many, budget=budget)
            return
        from malaprop.frame.runs.victims import device_of

        place = replace(place, device=device_of(self.device))
        if many is None or many == 1:
            from malaprop.frame.tasks.workers.this_process import ThisProcess

            yield ThisProcess(place, budget)
        else:
            from malaprop.frame.tasks.workers.processes import Processes

            yield Processes(many, place, budget=budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where a study's files go, and what is printed."""

    out: Path | None = opt(
        None,
        "Folder for what is written; made if it is missing. The same folder with the same settings goes on with an "
        "interrupted run.",
        free=True,
    )
    resume: bool = opt(False, "Does nothing: every command goes on with its --out.", free=True, hidden=True)
    json: bool = opt(False, free=True)
    quiet: bool = opt(False, free=True)
    track: tuple[str, ...] = opt((), choices=TRACKERS, free=True)
