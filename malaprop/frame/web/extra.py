"""A check that the libraries of the extra `malaprop[web]` are installed."""

from __future__ import annotations

from importlib.util import find_spec

from malaprop.core.errors import SettingError

_WANTED = ("fastapi", "jinja2", "python_multipart", "uvicorn")


def need_web() -> None:
    """Raise if a library that the pages need is not installed."""
    missing = [name for name in _WANTED if find_spec(name) is None]
    if missing:
        raise SettingError(f"pages in the browser need {', '.join(missing)}; install malaprop[web]")
