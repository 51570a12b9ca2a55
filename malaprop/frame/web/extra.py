"""The libraries behind the pages are an extra; who lacks them is told so."""

from __future__ import annotations

from importlib.util import find_spec

from malaprop.core.errors import SettingError

_WANTED = ("fastapi", "jinja2", "python_multipart", "uvicorn")


def need_web() -> None:
    """Raises where a library that the pages need is missing."""
    missing = [name for name in _WANTED if find_spec(name) is None]
    if missing:
        raise SettingError(f"pages in the browser need {', '.join(missing)}; install malaprop[web]")
