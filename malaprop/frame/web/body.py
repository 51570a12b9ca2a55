"""A bound on what a request may bring, counted as it comes in: a header that lies about the length helps nobody."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Refuses bodies of more than `limit` bytes with 413, and those that take more than `seconds` to come with 408.

    It raises inside the application, whose error pages answer; so it stands below them.
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
                # After the body comes only the news that the client left, which may take as long as it likes.
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
