"""Server-rendered pages: templates that escape whatever they are given, and error pages with plain words."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

WORDS = {
    404: "There is no such page. Please check the link.",
    405: "This page cannot be used in that way.",
    500: "Something went wrong here. It was noted; please try again.",
}


class Pages:
    """The templates of one package, with those that all share behind them: `base.html` and `error.html`."""

    def __init__(self, package: str, *, site: str) -> None:
        loaders = [PackageLoader(package), PackageLoader("malaprop.frame.web")]
        # Whatever the name of a template, what is put into it is escaped; a name that was not given is an error.
        self.environment = Environment(loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined)
        self.site = site

    def show(
        self, template: str, values: Mapping[str, Any] | None = None, *, status: int = 200, headers: Any = None
    ) -> HTMLResponse:
        page = self.environment.get_template(template).render(site=self.site, **(values or {}))
        return HTMLResponse(page, status, headers)

    def error(self, request: Request, status: int, words: str, headers: Any = None) -> Response:
        """Clear words: as JSON where a script asked, as a page where a person did."""
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": words}, status, headers)
        return self.show("error.html", {"status": status, "words": words}, status=status, headers=headers)


def http_error(pages: Pages, request: Request, error: HTTPException) -> Response:
    """The page for an error that was raised with a status: its own words, or ours where it has but the usual phrase."""
    bare = error.detail == HTTPStatus(error.status_code).phrase
    words = WORDS.get(error.status_code, error.detail) if bare else error.detail
    return pages.error(request, error.status_code, words, error.headers)
