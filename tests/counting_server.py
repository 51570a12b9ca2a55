"""A server of OpenAI's protocol, and of plain texts, that counts what it was sent and what it would charge.

It answers by the words of the toy victim. Modes are the first part of the path: /well/v1, /minus/v1 ...
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from typing import Any

import toy

WORDS = ("negative", "positive")


@dataclass
class Book:
    """What came and what it cost; `usage` may falsify what an answer says of its cost."""

    delay: float = 0.0  # seconds
    requests: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0
    inside: int = 0
    modes: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def repeated(self) -> int:
        """Requests about a text that was asked about before."""
        return sum(self.texts.values()) - len(self.texts)

    def charge(self, asked: str, made: int) -> dict[str, int]:
        many = len(asked.split()) + 3
        with self.lock:
            self.tokens_in += many
            self.tokens_out += made
        return {"prompt_tokens": many, "completion_tokens": made, "total_tokens": many + made}


def _chat(asked: str) -> dict[str, Any]:
    score = toy.predict([asked])[0]
    order = sorted(range(2), key=lambda label: -score[label])
    top = [{"token": WORDS[label], "logprob": log(max(score[label], 1e-6))} for label in order]
    message = {"role": "assistant", "content": WORDS[order[0]]}
    return {"index": 0, "message": message, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    book: Book

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        book, mode = self.book, self.path.split("/")[1]
        asked = "\n".join(m["content"] for m in body["messages"]) if "messages" in body else ""
        with book.lock:
            book.requests += 1
            book.modes[mode] += 1
            many = book.modes[mode]
            for text in [asked] if asked else body["texts"]:
                book.texts[str(text)] += 1
            book.inside += 1
        try:
            time.sleep(book.delay)
            self._give(*self._answer(mode, many, asked, body))
        finally:
            with book.lock:
                book.inside -= 1

    def _answer(self, mode: str, many: int, asked: str, body: dict[str, Any]) -> tuple[int, Any]:
        if mode == "refuses" and many % 3 == 0:
            return 503, {"error": "busy"}
        if mode == "late" and many % 5 == 0:
            time.sleep(0.6)
        if not asked:
            rows = toy.predict(body["texts"])
            return 200, {"scores": [[float("nan")] * 2 for _ in rows] if mode == "nan" else rows}
        usage: dict[str, Any] = self.book.charge(asked, 1)
        if mode == "minus":
            usage = {"prompt_tokens": -379_000, "completion_tokens": 1}
        if mode == "absurd":
            usage = {"prompt_tokens": 1e300, "completion_tokens": 10**12}
        if mode == "breaks" and many % 4 == 0:
            return 200, {"choices": [], "usage": usage}
        return 200, {"choices": [_chat(asked)], "usage": usage}

    def _give(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # who asked is gone
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address  # a client that was killed


@contextmanager
def counting(book: Book) -> Iterator[str]:
    """The address of a server that runs inside the block."""
    handler = type("Handler", (_Handler,), {"book": book})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
