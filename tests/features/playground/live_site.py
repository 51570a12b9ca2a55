"""A site that really listens, for what a test client cannot do: streams, clients that leave, browsers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from malaprop.frame.web.middleware import KnownHosts
from malaprop.frame.web.serving import bind


@contextmanager
def live(app: Any) -> Iterator[str]:
    """Serves inside `with`; gives the address."""
    opened = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(KnownHosts(app), log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{opened.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        opened.close()
    assert not thread.is_alive()


def until(fact: Any, seconds: float = 20.0) -> None:
    """Waits for something to become true."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
