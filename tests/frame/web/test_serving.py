"""How a site is started: on this machine alone, under its own names, with one clear line where it cannot be."""

from __future__ import annotations

import socket
import threading
import time
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the pages are an extra")

from starlette.requests import Request
from starlette.responses import Response

from malaprop.core.errors import SettingError
from malaprop.frame.web import need_web, new_token, same_token, set_cookie
from malaprop.frame.web.serving import bind, is_local, serve
from malaprop.frame.web.site import make_site


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.0.0.9", True), ("0.0.0.0", False), ("::", False)],
)
def test_what_is_local(host, local):
    assert is_local(host) is local


def test_other_machines_need_a_flag():
    with pytest.raises(SettingError, match="pass --expose"):
        bind("0.0.0.0", 0)
    bind("0.0.0.0", 0, expose=True).close()


def test_a_port_in_use_is_one_line():
    first = bind("127.0.0.1", 0)
    number = first.getsockname()[1]
    with pytest.raises(SettingError, match=f"port {number} is in use on 127.0.0.1; .* --port"):
        bind("127.0.0.1", number)
    first.close()
    bind("127.0.0.1", number).close()


@pytest.mark.parametrize(("host", "port"), [("no such host.", 0), ("127.0.0.1", 70_000), ("192.0.2.1", 0)])
def test_an_address_that_cannot_be_is_one_line(host, port):
    with pytest.raises(SettingError, match=r"not an address of this machine|cannot listen|from 0 to 65535"):
        bind(host, port, expose=True)


def test_missing_libraries_are_named(monkeypatch):
    need_web()
    monkeypatch.setattr("malaprop.frame.web.find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(SettingError, match=r"need uvicorn; install malaprop\[web\]"):
        need_web()


def ask(port: int, host: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("GET", "/hello", skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    status, text = answer.status, answer.read().decode()
    connection.close()
    return status, text


@pytest.mark.parametrize("expose", [False, True])
def test_it_answers_under_its_own_names(expose, monkeypatch):
    import uvicorn

    servers: list[Any] = []
    monkeypatch.setattr(
        uvicorn, "Server", lambda config, made=uvicorn.Server: servers.append(made(config)) or servers[-1]
    )
    app, _ = make_site("malaprop.frame.web", title="here")
    app.get("/hello")(lambda: "hello")
    opened, lines = bind("127.0.0.1", 0), []
    port = opened.getsockname()[1]
    thread = threading.Thread(
        target=serve, args=(app,), kwargs={"expose": expose, "say": lines.append, "listening": opened}
    )
    thread.start()
    try:
        while not (servers and servers[0].started):
            time.sleep(0.01)
        assert lines[-1] == f"open http://127.0.0.1:{port}/ (Ctrl-C stops)"
        assert (len(lines) == 2 and "unencrypted" in lines[0]) is expose
        for name in ("127.0.0.1", "localhost", "LOCALHOST:80", "[::1]:80"):
            assert ask(port, name) == (200, '"hello"')
        for name in ("elsewhere.example", "127.0.0.1.elsewhere.example", "", "[::1"):
            assert ask(port, name)[0] == (421 if not expose else 200)
    finally:
        servers[0].should_exit = True
        thread.join(20)
    assert not thread.is_alive()
    with pytest.raises(OSError, match=r".*"):
        socket.create_connection(("127.0.0.1", port), timeout=1)


@pytest.mark.parametrize(
    ("given", "expected", "same"),
    [("a", "a", True), ("a", "b", False), ("", "", False), (None, "a", False), ("é\udc80", "é\udc80", True)],
)
def test_tokens_compare(given, expected, same):
    assert same_token(given, expected) is same


def test_tokens_differ_and_suit_a_link():
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(len(token) == 32 and token.replace("-", "").replace("_", "").isalnum() for token in made)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cookies_are_kept_from_scripts_and_other_sites(scheme):
    response = Response()
    request = Request({"type": "http", "scheme": scheme, "server": ("x", 80), "path": "/", "headers": []})
    set_cookie(response, request, "who", "me", days=2)
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=172800" in cookie
    assert ("Secure" in cookie) is (scheme == "https")
