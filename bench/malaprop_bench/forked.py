"""Several recipes from one start: libraries and victim are loaded once, and each recipe runs in a fork of that process.

So nothing is remembered from one recipe to the next, one that breaks costs the others nothing, and what is on disk is
done.
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
    """`attack` is given a recipe and the file to write; `out` gets RECIPE.json for each, or RECIPE.reason."""
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
    """What the fork does: it never comes back."""
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
    """Whether the child ended in time."""
    end = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
