"""Middleware of every site: security headers, same-origin and host checks, and limits on request size and rate."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Collection
from time import monotonic
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# No inline script or style, so that text injected as markup cannot run.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Other sites get no referrer. `no-referrer` would also make browsers post forms to ourselves with `Origin: null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Adds `HEADERS` to every answer: browsers load only this site's files, and no other site may frame it.

    Browsers may keep files that have an ETag and revalidate them; they keep nothing else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        await self.app(scope, receive, add if scope["type"] == "http" else send)


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def name_of(host: str) -> str:
    """Return the host name in a Host header, without the port; empty if the header is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class SameOrigin:
    """Refuses requests that change something if they come from another site's page.

    Browsers name the origin of a request; a program that does not has no user's cookies to misuse. It raises
    HTTPException, so it must be inside the layer that makes error pages.
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
    """Answers only requests for these host names, so that a foreign name pointed at this machine gets no page.

    `serve` adds it as the outermost layer.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str] = LOCAL) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and name_of(Headers(scope=scope).get("host", "")) not in self.names:
            refusal = PlainTextResponse("This server does not answer to that name.\n", 421, HEADERS)
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies of more than `limit` bytes with 413, and any part that takes over `seconds` with 408.

    It raises HTTPException, so it must be inside the layer that makes error pages.
    """

    def __init__(self, app: ASGIApp, *, limit: int, seconds: float = 20.0) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated = Headers(scope=scope).get("content-length", "0")
        if not stated.isdecimal() or int(stated) > self.limit:
            raise too_large(self.limit)
        seen, whole = 0, False

        async def counted() -> Message:
            nonlocal seen, whole
            try:
                # After the body, receive returns only when the client disconnects, which may take any time.
                message = await (receive() if whole else asyncio.wait_for(receive(), self.seconds))
            except TimeoutError:
                raise HTTPException(408, "The request took too long to arrive. Please send it again.") from None
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if seen > self.limit:
                    raise too_large(self.limit)
            return message

        await self.app(scope, counted, send)


def too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"That is too much text: this page takes at most {limit // 1024:,} KB at a time.")


CLIENTS = 10_000  # clients remembered at a time; the one not seen for longest is forgotten first


class RateBuckets:
    """Token buckets: each client starts with `burst` tokens and gains `rate` a second; a request costs one."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._levels: OrderedDict[str, tuple[float, float]] = (
            OrderedDict()
        )  # by client: tokens, and the time of that count

    def wait(self, client: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self.clock()
        level, then = self._levels.pop(client, (float(self.burst), now))
        level = min(float(self.burst), level + (now - then) * self.rate)
        enough = level >= 1
        self._levels[client] = (level - 1 if enough else level, now)
        if len(self._levels) > CLIENTS:
            self._levels.popitem(last=False)
        return 0.0 if enough else (1 - level) / self.rate


def client_of(scope: Scope) -> str:
    """Return the address that the request came from; headers that claim another one are ignored."""
    client = scope.get("client")
    return client[0] if client else ""


class RateLimit:
    """Refuses requests of a client whose bucket is empty with 429, as an HTTPException for the error pages."""

    def __init__(self, app: ASGIApp, *, buckets: RateBuckets) -> None:
        self.app, self.buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (wait := self.buckets.wait(client_of(scope))):
            raise HTTPException(
                429,
                "Too many requests at once. Please wait a moment and try again.",
                {"retry-after": str(max(1, math.ceil(wait)))},
            )
        await self.app(scope, receive, send)
