"""The machine and the versions that a measurement was made with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def describe(device: str) -> dict[str, str]:
    """Return the machine and versions for a record; the processor by its model name if the system has it."""
    import torch

    from malaprop import __version__

    cuda = device.startswith("cuda")
    return {
        "machine": torch.cuda.get_device_name(device) if cuda else f"{processor()}, {os.cpu_count()} cores",
        "malaprop": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()
