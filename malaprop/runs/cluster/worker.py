"""Worker: holds a victim in a process of the cluster."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import nullcontext
from pathlib import Path

from malaprop import __version__
from malaprop.core.errors import MalapropError, plain
from malaprop.core.victim import About, Victim
from malaprop.runs.cluster.order import Failure, Greeting, Order


class Worker:
    """Made in a process of its own; nothing is loaded before `hello`."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.victim: Victim | None = None

    def hello(self) -> Greeting | Failure:
        """Loads the victim and says what it is."""
        try:
            self._settle()
            victim = self._load()
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver has to hear of it in words
            return failure(error, f"{_shown(self.order.thing)} cannot be loaded")
        return Greeting(about=About.of(victim), node=_node(), version=__version__)

    def _settle(self) -> None:
        """Takes on the driver's surroundings, as far as this machine has them."""
        for name, value in self.order.surroundings.items():
            if Path(value).exists():
                os.environ.setdefault(name, value)
        if self.order.folder and Path(self.order.folder).is_dir():
            os.chdir(self.order.folder)

    def _load(self) -> Victim:
        from malaprop.runs.cluster.parcel import Parcel, unpack
        from malaprop.runs.victims import victim

        thing = self.order.thing
        with unpack(thing) if isinstance(thing, Parcel) else nullcontext(thing) as found:
            self.victim = victim(found, device=self.order.device, **self.order.options)
        if (torch := sys.modules.get("torch")) is not None:  # one share of the machine, one thread
            torch.set_num_threads(self.order.threads)
        return self.victim


def failure(error: BaseException, what: str) -> Failure:
    """An error in words that can travel."""
    if short_of_memory(error):
        words = f"{what}: no memory for it ({plain(error)[:200]}); use fewer workers a machine, or larger machines"
        return Failure("VictimError", words, _node(), memory=True)
    if isinstance(error, MalapropError):
        return Failure(type(error).__name__, plain(error), _node())
    return Failure("VictimError", f"{what}: {plain(error)[:300]}", _node())


def short_of_memory(error: BaseException | None) -> bool:
    """Python's, torch's and the device's ways to say so, also where another error wraps them."""
    while error is not None:
        words = str(error).lower()
        if isinstance(error, MemoryError) or "out of memory" in words or "can't allocate memory" in words:
            return True
        error = error.__cause__
    return False


def _shown(thing: object) -> str:
    return thing if isinstance(thing, str) else str(getattr(thing, "name", type(thing).__name__))


def _node() -> str:
    return socket.gethostname()
