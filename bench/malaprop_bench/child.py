"""Run each measurement in a Python process of its own, with the number of threads set from its start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import malaprop
from malaprop.core.errors import MalapropError

GRACE = 600  # seconds for imports, a cold disk, and the example that was begun before the limit


class BenchError(MalapropError):
    """One side of a comparison failed or took too long."""


def environment(threads: int, more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the thread count of every library set, and a fixed hash seed."""
    count = str(threads)
    limits = {f"{name}_NUM_THREADS": count for name in ("OMP", "MKL", "OPENBLAS")}
    return {**os.environ, **limits, "PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", **more}


def import_folder(folder: Path) -> Path:
    """Return a folder for PYTHONPATH that holds both packages and nothing else of their environment."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in (Path(malaprop.__file__).parent, Path(__file__).parent):
        link = folder / package.name
        if not link.exists():
            link.symlink_to(package, target_is_directory=True)
    return folder


def run(command: Sequence[str | os.PathLike[str]], env: Mapping[str, str], *, seconds: float, what: str) -> None:
    """Run a command to its end; raise with its last line of output if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 - our own script, in the Python that the user named
            [os.fspath(part) for part in command],
            env=dict(env),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + GRACE,
            check=False,
        )
    except OSError as error:
        raise BenchError(f"{what} cannot start: {error}") from None
    except subprocess.TimeoutExpired:
        raise BenchError(f"{what} took over {seconds + GRACE:.0f} s; ask for fewer examples") from None
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise BenchError(f"{what} ended with {done.returncode}: {said[-1].strip() if said else 'no message'}")
