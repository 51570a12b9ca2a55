"""Requests: as many at a time as are allowed, each in one piece."""

from __future__ import annotations

from threading import Barrier, Event
from types import SimpleNamespace

import numpy as np

from malaprop.models.victims.endpoint import _Line
from malaprop.models.victims.requests import RequestPool


def make_pool(ask, concurrency: int) -> RequestPool:
    return RequestPool(ask=ask, begun=lambda: True, batch=1, concurrency=concurrency)


def test_as_many_requests_are_in_flight_as_are_allowed():
    full = Barrier(8)  # lets none through until eight are there

    def ask(texts):
        full.wait(timeout=10)
        return np.zeros((len(texts), 2), np.float32)

    texts = [(str(number),) for number in range(64)]
    assert make_pool(ask, 8).answer(texts).shape == (64, 2)


def test_a_slow_answer_does_not_hold_up_the_other_requests():
    others, left = Event(), iter(range(30))

    def ask(texts):
        if texts[0] == ("slow",):
            assert others.wait(timeout=10)
        elif next(left) == 29:
            others.set()
        return np.full((1, 1), len(texts[0][0]), np.float32)

    texts = [("slow",), *((f"{number:02}",) for number in range(30))]
    assert make_pool(ask, 3).answer(texts).ravel().tolist() == [4, *[2] * 30]


def test_a_request_is_sent_in_one_piece():
    sent = []
    line = _Line("localhost")
    line.sock = SimpleNamespace(sendall=sent.append)
    line.request("POST", "/v1", b'{"a": 1}', {"Accept": "application/json"})
    (whole,) = sent
    assert whole.startswith(b"POST /v1 HTTP/1.1\r\n")
    assert whole.endswith(b'\r\n\r\n{"a": 1}')
