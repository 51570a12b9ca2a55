"""The versions of libraries that decide outcomes, and the current time, for records."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime


def versions() -> dict[str, str]:
    """Return the versions of Python, Malaprop, numpy and, only if it is imported already, torch."""
    names = ["malaprop", "numpy", "torch"]
    loaded = {name: sys.modules[name] for name in names if name in sys.modules}
    found = {name: str(getattr(module, "__version__", "unknown")) for name, module in loaded.items()}
    return {**found, "python": platform.python_version()}


def now() -> str:
    """Return the current time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
