"""Run several recipes from one start: libraries and victim are loaded once, each recipe runs in a fork of that process.

So caches of one recipe do not serve the next, a recipe that fails does not stop the others, and files on disk are
complete.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

REASON = ".reason"  # of a recipe that did not come to its end


def run_each(recipes: Sequence[str], out: Path, attack: Callable[[str, Path], None], *, seconds: float) -> None:
    """Call `attack` with each recipe and its file; `out` gets RECIPE.json, or RECIPE.reason after a failure."""
    out.mkdir(parents=True, exist_ok=True)
    for recipe in recipes:
        reason = out / f"{recipe}{REASON}"
        reason.unlink(missing_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            _attack_and_leave(recipe, out, attack, reason)
        if not _wait(child, seconds):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            reason.write_text(f"took over {seconds:.0f} s", encoding="utf-8")


def _attack_and_leave(recipe: str, out: Path, attack: Callable[[str, Path], None], reason: Path) -> None:
    """Attack in the fork and end its process."""
    try:
        part = out / f"{recipe}.part"
        attack(recipe, part)
        part.rename(out / f"{recipe}.json")
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the others go on
        traceback.print_exc()
        reason.write_text(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", encoding="utf-8")
        os._exit(1)


def _wait(child: int, seconds: float) -> bool:
    """Wait for the child; return whether it ended in time."""
    end = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
