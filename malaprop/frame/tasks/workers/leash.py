"""Worker processes end with their driver, whatever they import or compute at that moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

PARENT = "MALAPROP_PARENT"  # in the environment of a server of forks while it starts: the driver's process
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def end_with(parent: int) -> None:
    """Ask the system to kill this process when its parent dies; exit at once if the parent is dead already.

    Only Linux can do that. Elsewhere a thread of the worker watches the driver, which a long import can delay.
    """
    if sys.platform == "linux":
        from ctypes import CDLL

        CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def end_with_driver() -> None:
    """Bind a worker to its driver if that is its parent; a worker that a fork server started is bound already."""
    driver = multiprocessing.parent_process()
    if driver is not None and driver.pid == os.getppid():
        end_with(driver.pid)


def _bind_server(driver: int) -> None:
    """Bind a fork server, and every process that it forks, to the driver; it imports this before slow libraries.

    By itself the server would notice the end of its driver only after those imports, and wait for its workers.
    """
    end_with(driver)
    server = os.getpid()
    os.register_at_fork(after_in_child=lambda: end_with(server) if os.getppid() == server else None)


if PARENT in os.environ:
    _bind_server(int(os.environ.pop(PARENT)))
