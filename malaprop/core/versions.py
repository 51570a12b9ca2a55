"""Versions of what decides the outcomes, and the moment, as records note them."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime


def versions() -> dict[str, str]:
    """Of what decides the outcomes; torch only where it is loaded, as asking must not load it."""
    names = ["malaprop", "numpy", "torch"]
    loaded = {name: sys.modules[name] for name in names if name in sys.modules}
    found = {name: str(getattr(module, "__version__", "unknown")) for name, module in loaded.items()}
    return {**found, "python": platform.python_version()}


def now() -> str:
    """This moment, in UTC to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
