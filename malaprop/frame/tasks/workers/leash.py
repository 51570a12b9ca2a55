"""Leash: a process ends with its parent, whatever it imports or computes at that moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

PARENT = "MALAPROP_PARENT"  # in the environment of a server of forks while it starts: the driver's process
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def end_with(parent: int) -> None:
    """Has the system kill this process when its parent dies; ends it at once where that has happened.

    Linux alone can do that. Elsewhere a worker's thread looks after the driver, which an import can hold up.
    """
    if sys.platform == "linux":
        from ctypes import CDLL

        CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def end_with_driver() -> None:
    """As `end_with`, of a worker whose parent is its driver; one that a server forked is bound already."""
    driver = multiprocessing.parent_process()
    if driver is not None and driver.pid == os.getppid():
        end_with(driver.pid)


def _bind_server(driver: int) -> None:
    """A server of forks imports this before the libraries that take seconds; it and what it forks end with the driver.

    Left to itself the server would look for its driver only behind those imports, and wait for its workers.
    """
    end_with(driver)
    server = os.getpid()
    os.register_at_fork(after_in_child=lambda: end_with(server) if os.getppid() == server else None)


if PARENT in os.environ:
    _bind_server(int(os.environ.pop(PARENT)))
