"""A bound on how often one client may ask: a bucket of tokens that fills at an even pace."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

CLIENTS = 10_000  # remembered at a time; who was not seen for longest is forgotten first


class RateBuckets:
    """Each client has `burst` tokens at first and gets `rate` a second back; a request costs one."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when that was

    def wait(self, client: str) -> float:
        """Takes a token and gives 0, or gives the seconds until there is one."""
        now = self.clock()
        level, then = self._levels.pop(client, (float(self.burst), now))
        level = min(float(self.burst), level + (now - then) * self.rate)
        enough = level >= 1
        self._levels[client] = (level - 1 if enough else level, now)
        if len(self._levels) > CLIENTS:
            self._levels.popitem(last=False)
        return 0.0 if enough else (1 - level) / self.rate


def client_of(scope: Scope) -> str:
    """The address a request came from. What a header claims in its place is not believed."""
    client = scope.get("client")
    return client[0] if client else ""


class RateLimit:
    """Answers 429 to a client whose bucket is empty. It raises: it stands below the error pages."""

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
