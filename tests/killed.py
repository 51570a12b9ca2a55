"""Runs work in a forked process that is killed by SIGKILL within a write, again and again, until it ends."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path


def until_done(work: Callable[[bool], object], seed: int, most: int = 12) -> int:
    """`work` is told whether it goes on with something; each child dies within one of its first writes, or ends.

    A write that is the last one is made in part, so that lines are torn. Gives how many were killed.
    """
    rng = random.Random(seed)
    for number in range(most):
        child = os.fork()
        if child == 0:
            _die_within(rng.randrange(1, 7) if number < most - 1 else 0, rng.random())
            try:
                work(number > 0)
                os._exit(0)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(3)
        rng.random(), rng.randrange(7)  # the child's own draws are not ours
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return number
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("it was killed every time")


def _die_within(count: int, share: float) -> None:
    """The `count`th write to a file, or the renaming of one, is this process's last; 0: none is."""
    write, rename, left = os.write, Path.replace, [count]

    def last() -> bool:
        left[0] -= 1
        return left[0] == 0

    def torn(fd: int, data: bytes) -> int:
        if fd > 2 and last():
            write(fd, bytes(data)[: int(share * len(data))])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(fd, data)

    def halted(self: Path, target: Path) -> Path:
        if last():
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    os.write, Path.replace = torn, halted  # type: ignore[assignment, method-assign]
