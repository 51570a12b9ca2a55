"""The web server that all pages share: headers, limits, tokens, error pages, and the function that starts it.

`site.make_site` gives an application with all of them; `serving.serve` runs it. Needs the extra `malaprop[web]`.
"""

from __future__ import annotations

from hmac import compare_digest
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


_WANTED = ("fastapi", "jinja2", "python_multipart", "uvicorn")


def need_web() -> None:
    """Raise if a library that the pages need is not installed."""
    missing = [name for name in _WANTED if find_spec(name) is None]
    if missing:
        raise SettingError(f"pages in the browser need {', '.join(missing)}; install malaprop[web]")


BYTES = 24  # 192 bits, too many to guess


def new_token() -> str:
    """Return a random secret that is safe in a link."""
    return token_urlsafe(BYTES)


def same_token(given: str | None, expected: str) -> bool:
    """Whether two secrets are equal, compared in constant time; an empty one equals none."""
    if not given or not expected:
        return False
    return compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))


def set_cookie(response: Response, request: Request, name: str, value: str, *, days: float | None = None) -> None:
    """Set a cookie that no script can read and no other site's request carries; without `days`, for one session."""
    response.set_cookie(
        name,
        value,
        max_age=None if days is None else int(days * 86_400),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
