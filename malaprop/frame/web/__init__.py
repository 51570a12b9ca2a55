"""The web server that all pages share: headers, limits, tokens, error pages, and the function that starts it.

`site.make_site` gives an application with all of them; `serving.serve` runs it. Needs the extra `malaprop[web]`.
"""

from __future__ import annotations

from importlib.util import find_spec

from malaprop.core.errors import SettingError

_WANTED = ("fastapi", "jinja2", "python_multipart", "uvicorn")


def need_web() -> None:
    """Raise if a library that the pages need is not installed."""
    missing = [name for name in _WANTED if find_spec(name) is None]
    if missing:
        raise SettingError(f"pages in the browser need {', '.join(missing)}; install malaprop[web]")
