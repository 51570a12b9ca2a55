"""What every served page has: headers, limits, and error pages that give nothing away."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the pages are an extra")

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

import malaprop.frame.web
from malaprop.core.errors import DataError, SettingError
from malaprop.frame.web.middleware import HEADERS, RateBuckets
from malaprop.frame.web.site import SiteLimits, make_site

HTML = {"accept": "text/html"}


def site(**limits: Any) -> FastAPI:
    app, _ = make_site("malaprop.frame.web", title="<Try> & see", limits=SiteLimits(**limits))

    @app.get("/fine")
    def fine() -> dict[str, str]:
        return {"fine": "yes"}

    @app.get("/mine")
    def mine() -> None:
        raise DataError("the text holds <b>no</b> word")

    @app.get("/bug")
    def bug() -> None:
        raise RuntimeError(f"key=secret in {Path(__file__)}")

    @app.get("/gone")
    def gone() -> None:
        raise HTTPException(410, "This link was used up.")

    @app.post("/size")
    async def size(request: Request) -> dict[str, int]:
        return {"size": len(await request.body())}

    @app.get("/number/{value}")
    def number(value: int) -> int:
        return value

    return app


def client(**limits: Any) -> TestClient:
    return TestClient(site(**limits), raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/fine", "/mine", "/bug", "/nowhere", "/shared/base.css", "/number/x", "/size"])
def test_every_answer_has_the_headers(path, caplog):
    answer = client().get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == ("no-cache" if path.endswith("css") else "no-store")


def test_the_policy_lets_nothing_inline_run():
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert HEADERS["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/mine", 400, "the text holds <b>no</b> word"),
        ("/gone", 410, "This link was used up."),
        ("/nowhere", 404, "There is no such page. Please check the link."),
        ("/size", 405, "This page cannot be used in that way."),
        ("/number/x", 400, "This request is not what the page expects. Please reload the page."),
    ],
)
def test_errors_have_plain_words(path, status, words):
    said = client().get(path)
    assert said.status_code == status
    assert said.json() == {"error": words}
    page = client().get(path, headers=HTML)
    assert page.status_code == status
    assert "<b>" not in page.text
    assert words.replace("<b>", "&lt;b&gt;").replace("</b>", "&lt;/b&gt;") in page.text
    assert "<title>" + str(status) + " · &lt;Try&gt; &amp; see" in page.text


def test_a_bug_shows_nothing_of_itself(caplog):
    with caplog.at_level(logging.ERROR, "malaprop.frame.web"):
        page = client().get("/bug", headers=HTML)
    assert page.status_code == 500
    assert "secret" not in page.text
    assert "RuntimeError" not in page.text
    assert ".py" not in page.text
    assert "key=secret" in caplog.text, "whoever runs the server can read it"


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"x" * 100, 200), (b"x" * 101, 413), ([b"x" * 60, b"x" * 60], 413), ([b"x" * 60, b"x" * 40], 200)],
)
def test_a_body_is_counted_as_it_comes(body, status):
    """A list is sent in chunks, without a length."""
    given = iter(body) if isinstance(body, list) else body
    answer = client(body=100).post("/size", content=given)
    assert answer.status_code == status
    if status == 413:
        assert "too much text" in answer.json()["error"]


def test_a_length_that_is_no_number_is_refused():
    assert client().post("/size", content=b"x", headers={"content-length": "-5"}).status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://testserver"}, 200),
        ({"origin": "http://testserver", "sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://testserver:81"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://testserver", "sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_only_our_own_pages_may_post(headers, status):
    assert client().post("/size", content=b"x", headers=headers).status_code == status
    assert client().get("/fine", headers=headers).status_code == 200


def test_a_client_that_asks_too_often_waits():
    asking = client(rate=0.001, burst=3)
    assert [asking.get("/fine").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = asking.get("/fine", headers=HTML)
    assert int(refused.headers["retry-after"]) >= 1
    assert "Please wait a moment" in refused.text
    assert client(rate=None).get("/fine").status_code == 200


def test_buckets_fill_at_their_rate():
    now = [0.0]
    buckets = RateBuckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.wait("b") == 0.0, "each client has its own"
    now[0] = 0.5
    assert [buckets.wait("a") for _ in range(2)] == [0.0, 0.5]
    now[0] = 100.0
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5], "never more than the burst"


def test_buckets_forget_who_was_not_seen_for_longest(monkeypatch):
    monkeypatch.setattr("malaprop.frame.web.middleware.CLIENTS", 2)
    buckets = RateBuckets(rate=0.001, burst=1)
    for name in ("a", "b", "a", "c"):
        buckets.wait(name)
    assert set(buckets._levels) == {"a", "c"}


def test_limits_are_checked():
    with pytest.raises(SettingError, match="at least 1"):
        SiteLimits(rate=0)


def test_a_value_that_was_not_given_is_an_error():
    _, pages = make_site("malaprop.frame.web", title="x")
    with pytest.raises(Exception, match="undefined"):
        pages.show("error.html")


def test_pages_are_dressed_in_the_colours_that_reports_have():
    from malaprop.frame.report.markup import style

    app, _ = make_site("malaprop.frame.web", title="x")
    shared = TestClient(app).get("/shared/palette.css").text
    assert "--accent:" in shared
    assert style().startswith(shared)
    assert '"/shared/palette.css"' in (Path(malaprop.frame.web.__path__[0]) / "templates/base.html").read_text("utf-8")
