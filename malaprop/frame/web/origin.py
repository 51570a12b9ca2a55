"""Who may ask: this site's own pages, under the names this site has."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from malaprop.frame.web.headers import HEADERS

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def name_of(host: str) -> str:
    """The name in a Host header, without the port; empty where it is no name."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class SameOrigin:
    """Refuses requests that change something when they come from another site's page.

    Browsers say where a post comes from; a program that says nothing cannot ride on anybody's cookies. It raises: it
    stands below the error pages.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE and not _own(Headers(scope=scope)):
            raise HTTPException(403, "This request came from another site's page and was refused.")
        await self.app(scope, receive, send)


def _own(headers: Headers) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


class KnownHosts:
    """Answers only to these names: else a page elsewhere could let its own name point to this machine and read along.

    The outermost layer, put around the application by `serve`.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str] = LOCAL) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and name_of(Headers(scope=scope).get("host", "")) not in self.names:
            refusal = PlainTextResponse("This server does not answer to that name.\n", 421, HEADERS)
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)
