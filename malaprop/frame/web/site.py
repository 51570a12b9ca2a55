"""The parts of a site: its page templates, its limits, its error pages, and `make_site`, which puts them together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.frame.web.middleware import BodyLimit, RateBuckets, RateLimit, SameOrigin, SecurityHeaders

WORDS = {
    404: "There is no such page. Please check the link.",
    405: "This page cannot be used in that way.",
    500: "Something went wrong here. It was noted; please try again.",
}


class Pages:
    """The templates of one package; `base.html` and `error.html` come from the shared ones if it lacks them."""

    def __init__(self, package: str, *, site: str) -> None:
        loaders = [PackageLoader(package), PackageLoader("malaprop.frame.web")]
        # Values are escaped whatever the name of the template, and a missing value is an error.
        self.environment = Environment(loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined)
        self.site = site

    def show(
        self, template: str, values: Mapping[str, Any] | None = None, *, status: int = 200, headers: Any = None
    ) -> HTMLResponse:
        page = self.environment.get_template(template).render(site=self.site, **(values or {}))
        return HTMLResponse(page, status, headers)

    def error(self, request: Request, status: int, words: str, headers: Any = None) -> Response:
        """Return an error's words as a page if the request accepts HTML, else as JSON."""
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": words}, status, headers)
        return self.show("error.html", {"status": status, "words": words}, status=status, headers=headers)


def http_error(pages: Pages, request: Request, error: HTTPException) -> Response:
    """Return the page of an HTTPException: its own words, or those of WORDS if it has only the standard phrase."""
    bare = error.detail == HTTPStatus(error.status_code).phrase
    words = WORDS.get(error.status_code, error.detail) if bare else error.detail
    return pages.error(request, error.status_code, words, error.headers)


_log = logging.getLogger("malaprop.frame.web")
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLimits:
    """Limits: `body` bytes a request; per client, `rate` requests a second (None: no limit) and `burst` at once."""

    body: int = 64 * 1024
    rate: float | None = 20.0
    burst: int = 60

    def __post_init__(self) -> None:
        if self.body < 1 or self.burst < 1 or (self.rate is not None and self.rate <= 0):
            raise SettingError("limits need body and burst of at least 1 and a rate above 0, or None")


def make_site(
    package: str, *, title: str, limits: SiteLimits | None = None, lifespan: Lifespan | None = None
) -> tuple[FastAPI, Pages]:
    """Return an application without routes of its own, and the pages it shows.

    `package` has the folders `templates` and `static`; its static files are served under /static/, those that all sites
    share (`base.css`, `base.js`) under /shared/. Add routes to the application; raise `HTTPException(status, words)` or
    a MalapropError for errors that the user can correct. Tracebacks, paths and secrets never reach a page.
    """
    limits = limits or SiteLimits()
    pages = Pages(package, site=title)
    app = FastAPI(
        title=title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        middleware=_layers(limits, pages),
        exception_handlers=_handlers(pages),
    )
    app.mount("/static", StaticFiles(directory=str(files(package) / "static")))
    app.mount("/shared", StaticFiles(directory=str(files("malaprop.frame.web") / "static")))
    return app, pages


def _layers(limits: SiteLimits, pages: Pages) -> list[Middleware]:
    layers = [Middleware(SecurityHeaders), Middleware(_Refusals, pages=pages)]
    if limits.rate is not None:
        layers.append(Middleware(RateLimit, buckets=RateBuckets(limits.rate, limits.burst)))
    return [*layers, Middleware(SameOrigin), Middleware(BodyLimit, limit=limits.body)]


def _handlers(pages: Pages) -> dict[Any, Any]:
    """Return the exception handlers. They show only the words of our own errors and of HTTPExceptions."""

    def http(request: Request, error: HTTPException) -> Response:
        return http_error(pages, request, error)

    def ours(request: Request, error: MalapropError) -> Response:
        return pages.error(request, 400, plain(error))

    def unread(request: Request, error: Exception) -> Response:  # noqa: ARG001 - its words are for programmers
        return pages.error(request, 400, "This request is not what the page expects. Please reload the page.")

    return {HTTPException: http, MalapropError: ours, RequestValidationError: unread}


class _Refusals:
    """Turns errors of the middleware into pages: an HTTPException with its words, any other as a plain 500.

    The middleware is outside the application's exception handlers; this class is outside the other middleware, but
    inside `SecurityHeaders`.
    """

    def __init__(self, app: ASGIApp, *, pages: Pages) -> None:
        self.app, self.pages = app, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except HTTPException as error:
            if begun:
                raise
            await http_error(self.pages, Request(scope), error)(scope, receive, send)
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            _log.error("%s %s: %s", scope["method"], type(error).__name__, error, exc_info=error)
            await self.pages.error(Request(scope), 500, WORDS[500])(scope, receive, send)
