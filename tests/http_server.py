"""A real server for the tests of victims behind an address: healthy routes and broken ones, on the loopback alone."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import toy
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from malaprop.core.victim import Victim

KEY = "sk-very-secret-123"
NAMES = ("NEGATIVE", "POSITIVE")
GARBAGE = (
    b"null", b"true", b"{}", b"[" * 100_000, b"\xff\xfe\x00", b'{"scores": [1', b"[[1,2],[1]]", b'[["a", "b"]]',
    b'{"scores": [[1e999, 1]]}', b'{"scores": "none"}', b'{"scores": [[' + b"9" * 400 + b", 1]]}", b'{"error": null}',
    b'[{"label": 1}]',
)  # fmt: skip
LEAKS: dict[str, Callable[[str], Response]] = {  # answers that repeat the key, each in its own way
    "error": lambda key: JSONResponse({"error": f"bad key {key}"}),
    "nested": lambda key: JSONResponse({"error": {"message": ["no such key", key.upper()]}}),
    "field": lambda key: JSONResponse({key: 1}),
    "labels": lambda key: JSONResponse([[{"label": key, "score": 0.5}, {"label": key, "score": 0.5}]]),
    "names": lambda key: JSONResponse({"labels": [key]}),
    "long": lambda key: JSONResponse({"detail": "y" * (117 - 17 - 11) + key + "z" * 300}, 401),
    "escaped": lambda key: Response("".join(f"\\u{ord(c):04x}" for c in key), 403),
    "coded": lambda key: Response(b"Authorization: " + b64encode(f"Bearer {key}".encode()), 403),
    "page": lambda key: HTMLResponse("<title>" + "".join(f"&#{ord(c)};" for c in key) + "</title>"),
    "elsewhere": lambda key: RedirectResponse(f"http://{key.lower()}.invalid/", 307),
    "nowhere": lambda key: RedirectResponse(f"http://[{key}/", 307),
}


@dataclass
class Log:
    """What the server was asked, by route."""

    calls: dict[str, int] = field(default_factory=dict)
    texts: dict[str, list[Any]] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    ports: set[int] = field(default_factory=set)
    failed: int = 0
    inside: int = 0
    most: int = 0  # requests at a time

    def note(self, route: str, request: Request, texts: list[Any]) -> None:
        self.calls[route] = self.calls.get(route, 0) + 1
        self.texts.setdefault(route, []).extend(texts)
        self.headers.append(dict(request.headers))
        self.ports.add(request.client.port if request.client else 0)


def application(log: Log, victim: Victim | None = None) -> FastAPI:
    app = FastAPI()
    dice = random.Random(0)

    async def read(route: str, request: Request, under: str = "texts") -> list[Any]:
        texts = [tuple(t) if isinstance(t, list) else t for t in (await request.json())[under]]
        log.note(route, request, texts)
        return texts

    def scored(texts: list[Any]) -> dict[str, Any]:
        return {"scores": toy.predict(texts)}

    @app.post("/healthy")
    async def healthy(request: Request) -> Any:
        return scored(await read("healthy", request))

    @app.post("/zoo")
    def zoo(body: dict[str, Any]) -> Any:
        assert victim is not None
        return {"scores": victim.predict([(text,) for text in body["texts"]]).tolist()}

    @app.post("/bare")
    async def bare(request: Request) -> Any:
        return scored(await read("bare", request))["scores"]

    @app.post("/named")
    async def named(request: Request) -> Any:
        rows = toy.predict(await read("named", request, "inputs"))
        pairs = [[{"label": n, "score": s} for n, s in zip(NAMES, row, strict=True)] for row in rows]
        return [sorted(row, key=lambda p: -p["score"]) for row in pairs]

    @app.post("/numbered")
    async def numbered(request: Request) -> Any:
        row = [{"label": "LABEL_1", "score": 0.75}, {"label": "LABEL_0", "score": 0.25}]
        return [row for _ in await read("numbered", request)]

    @app.post("/named-pairs")
    async def named_pairs(request: Request) -> Any:
        texts = await read("named-pairs", request)
        if any(isinstance(text, str) for text in texts):
            return JSONResponse({"detail": "pairs, please"}, 422)
        return [[{"label": n, "score": 0.5} for n in NAMES] for _ in texts]

    @app.post("/first-only")
    async def first_only(request: Request) -> Any:
        return [{"label": "POSITIVE", "score": 0.9} for _ in await read("first-only", request)]

    @app.post("/single/{form}")
    async def single(form: str, request: Request) -> Any:
        """Takes one text a request, and answers in one of several forms."""
        text = (await request.json()).get("text")
        if text is None:
            return JSONResponse({"detail": "text, please"}, 422)
        log.note("single", request, [tuple(text) if isinstance(text, list) else text])
        log.inside += 1
        log.most = max(log.most, log.inside)
        await asyncio.sleep(0.05)
        log.inside -= 1
        row = toy.predict([tuple(text) if isinstance(text, list) else text])[0]
        named = [{"label": n, "score": s} for n, s in zip(NAMES, row, strict=True)]
        winner = max(named, key=lambda entry: entry["score"])
        return {
            "scores": {"scores": row}, "rows": {"scores": [row]}, "bare": row, "named": named, "inner": [named],
            "number": row[1], "score": {"score": row[1]}, "winner": winner, "list": [winner],
            "label": {"label": winner["label"]}, "wrong": {"answer": row},
        }[form]  # fmt: skip

    @app.post("/fails")
    async def fails(request: Request) -> Any:
        await read("fails", request)
        return JSONResponse({"error": "no model"}, 500)

    @app.post("/labels")
    async def labels(request: Request) -> Any:
        return {"labels": [NAMES[row[1] > row[0]] for row in toy.predict(await read("labels", request))]}

    @app.post("/winners")
    async def winners(request: Request) -> Any:
        rows = toy.predict(await read("winners", request, "inputs"))
        return [{"label": NAMES[row[1] > row[0]], "score": max(row)} for row in rows]

    @app.post("/sigmoid")
    async def sigmoid(request: Request) -> Any:
        return [[row[1]] for row in toy.predict(await read("sigmoid", request))]

    @app.post("/flaky")
    async def flaky(request: Request) -> Any:
        texts = await read("flaky", request)
        if dice.random() < 0.1:
            log.failed += 1
            return JSONResponse({"detail": "busy"}, 503)
        return scored(texts)

    @app.post("/cut")
    async def cut(request: Request) -> Any:
        whole = json.dumps(scored(await read("cut", request)))
        if dice.random() < 0.2:
            log.failed += 1
            whole = whole[: dice.randrange(1, len(whole))]
        return Response(whole, media_type="application/json")

    @app.post("/garbage")
    async def garbage(request: Request) -> Any:
        texts = await read("garbage", request)
        return Response(dice.choice(GARBAGE), media_type="application/json") if "awful" in str(texts) else scored(texts)

    @app.post("/busy")
    async def busy(request: Request) -> Any:
        await read("busy", request)
        if log.calls["busy"] < 3:
            return JSONResponse({}, 429, {"Retry-After": "0"})
        return scored(["good"])

    @app.post("/hangs")
    async def hangs(request: Request) -> Any:
        texts = await read("hangs", request)
        if any("awful" in str(t) for t in texts):
            await asyncio.sleep(1.5)
        return scored(texts)

    @app.post("/drips")
    async def drips(request: Request) -> Any:
        from fastapi.responses import StreamingResponse

        await read("drips", request)

        async def drops() -> Any:
            for _ in range(40):
                yield b" "
                await asyncio.sleep(0.05)

        return StreamingResponse(drops(), media_type="application/json")

    @app.post("/slow")
    async def slow(request: Request) -> Any:
        texts = await read("slow", request)
        log.inside += 1
        log.most = max(log.most, log.inside)
        await asyncio.sleep(0.2 if "good" in texts[0] else 0.01)
        log.inside -= 1
        return scored(texts)

    @app.post("/nan")
    async def nan(request: Request) -> Any:
        rows = [[float("nan"), 0.5] if "awful" in str(t) else toy.predict([t])[0] for t in await read("nan", request)]
        return Response(json.dumps({"scores": rows}), media_type="application/json")

    @app.post("/shape")
    async def shape(request: Request) -> Any:
        return {"scores": scored(await read("shape", request))["scores"][:-1]}

    @app.post("/flat")
    async def flat(request: Request) -> Any:
        return {"scores": [3.0 for _ in await read("flat", request)]}

    @app.post("/html")
    async def html(request: Request) -> Any:
        await read("html", request)
        return HTMLResponse("<!doctype html><html><title>Log in,\n please</title></html>")

    @app.post("/empty")
    async def empty(request: Request) -> Any:
        await read("empty", request)
        return Response(b"")

    @app.post("/text")
    async def text(request: Request) -> Any:
        await read("text", request)
        return Response(b"scores: \x1b[31m0.1 0.9", media_type="text/plain")

    @app.post("/loading")
    async def loading(request: Request) -> Any:
        await read("loading", request)
        return {"error": "Model is still loading", "estimated_time": 20}

    @app.post("/locked")
    async def locked(request: Request) -> Any:
        texts = await read("locked", request)
        given = request.headers.get("authorization", "")
        if given != f"Bearer {KEY}":
            return JSONResponse({"detail": f"not a key of ours: {given}"}, 401)
        return scored(texts)

    @app.post("/leak/{way}")
    async def leak(way: str, request: Request) -> Any:
        """Answers texts with `awful` by repeating the key that was sent."""
        texts = await read("leak", request)
        if not any("awful" in str(text) for text in texts):
            return scored(texts)
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        return LEAKS[way](key)

    @app.post("/moved")
    async def moved(request: Request) -> Any:
        await read("moved", request)
        return RedirectResponse("/healthy", 307)

    @app.post("/elsewhere")
    async def elsewhere(request: Request) -> Any:
        await read("elsewhere", request)
        return RedirectResponse("http://other.invalid/steal?session=1", 307)

    @app.post("/round")
    async def round_(request: Request) -> Any:
        await read("round", request)
        return RedirectResponse("/round", 308)

    return app


@contextmanager
def serving(log: Log | FastAPI, victim: Victim | None = None) -> Iterator[str]:
    """The address of a server that stops with the block; a victim is at /zoo. An application is served as it is."""
    app = log if isinstance(log, FastAPI) else application(log, victim)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        end = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(5)
