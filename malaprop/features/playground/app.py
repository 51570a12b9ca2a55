"""The playground's web application: its page, and the requests of its script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from malaprop.core.capability import Capability
from malaprop.core.errors import DataError
from malaprop.core.score import winner
from malaprop.features.playground import attack_stream as tries
from malaprop.features.playground.error_messages import BusyError, ShownError, describe_error
from malaprop.features.playground.input_checks import EXPLAINED, WORDS, GivenText, cut, name_of, number_of, text_of
from malaprop.features.playground.jobs import SHOWN, attention_of, importance_of, scores_of, substitutes_at, weights
from malaprop.features.playground.victim_thread import VictimThread, VictimThreadJob
from malaprop.features.playground.victims import FIRST, PlaygroundVictims
from malaprop.frame.web.middleware import client_of
from malaprop.frame.web.site import SiteLimits, make_site

T = TypeVar("T")
SEEDS = 1_000_000
LIMITS = SiteLimits(body=128 * 1024, rate=50.0, burst=150)  # scores follow the typing, two requests a victim


def make_app(room: PlaygroundVictims, *, limits: SiteLimits | None = None) -> FastAPI:
    """Return the web application; it closes the victims when it shuts down."""

    @asynccontextmanager
    async def open_room(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(room.close)

    app, pages = make_site(
        "malaprop.features.playground", title="Malaprop playground", limits=limits or LIMITS, lifespan=open_room
    )
    going = tries.StreamTally()

    @app.exception_handler(BusyError)
    async def busy(request: Request, error: BusyError) -> Response:
        return pages.error(request, 429, str(error), {"retry-after": "2"})

    @app.get("/")
    async def page() -> Response:
        return pages.show("playground.html", _page(room))

    _answer_questions(app, room)

    @app.post("/api/attack")
    async def attack(request: Request) -> Response:
        sent = await _sent(request)
        asked = tries.AttackStream(
            text_of(sent, room.fields),
            room.recipes[name_of(sent, "recipe", list(room.recipes))],
            None if sent.get("label") is None else number_of(sent, "label", 1_000),
            number_of(sent, "seed", SEEDS, 0),
        )
        events = _counted(going, client_of(request.scope), tries.stream(asked, room.threads, request.is_disconnected))
        first = await anext(events)  # an attack that is refused raises here, before the response begins
        return StreamingResponse(
            _with(first, events), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    return app


def _answer_questions(app: FastAPI, room: PlaygroundVictims) -> None:
    """Add the routes that query one victim for the typed text: scores, word importance, substitutes, attention."""

    @app.post("/api/scores")
    async def scores(request: Request) -> dict[str, Any]:
        sent = await _sent(request)
        given, thread = text_of(sent, room.fields), room.threads[number_of(sent, "victim", len(room.threads))]
        found = await _done(request, thread.submit(scores_of(given.fields)), thread)
        return {"fields": cut(given.fields), "scores": found.tolist(), "prediction": winner(found)}

    @app.post("/api/words")
    async def words(request: Request) -> dict[str, Any]:
        sent = await _sent(request)
        given, thread = _explained(sent, room), room.threads[number_of(sent, "victim", len(room.threads))]
        found = await _done(request, thread.submit(importance_of(thread, given.fields, None, None)), thread)
        return {"label": found.label, "unknown": found.unknown, "asked": found.asked, "weights": weights(found)}

    @app.post("/api/word")
    async def word(request: Request) -> dict[str, Any]:
        sent = await _sent(request)
        given, thread = _explained(sent, room), room.threads[number_of(sent, "victim", len(room.threads))]
        slot = number_of(sent, "slot", given.count)
        chosen = given.words[slot]
        if room.substitutes is None:
            raise DataError("substitutes need WordNet, which this server does not have; install it there")
        every = room.substitutes
        one = importance_of(thread, given.fields, None, lambda w: every(w) if w == chosen else ())
        found = await _done(request, thread.submit(one), thread)
        return {"word": chosen, "label": found.label, "substitutes": substitutes_at(found, slot)}

    @app.post("/api/attention")
    async def attention(request: Request) -> dict[str, Any]:
        sent = await _sent(request)
        given, thread = text_of(sent, room.fields), room.threads[number_of(sent, "victim", len(room.threads))]
        if given.count > SHOWN:
            raise DataError(f"attention is shown for texts of at most {SHOWN} words; this one has {given.count:,}")
        return await _done(request, thread.submit(attention_of(thread, given.fields)), thread)


def _page(room: PlaygroundVictims) -> dict[str, Any]:
    setting = {
        "victims": [
            {
                "name": thread.name,
                "labels": room.label_names(thread),
                "attends": Capability.ATTENTION in thread.victim.offers,
            }
            for thread in room.threads
        ],
        "fields": room.fields,
        "examples": [{"fields": dict(e.fields), "label": e.label} for e in room.examples],
        "recipes": {name: found.about for name, found in room.recipes.items()},
        "words": WORDS,
        "explained": EXPLAINED,
    }
    return {"room": room, "first": FIRST, "setting": json.dumps(setting)}


async def _sent(request: Request) -> Mapping[str, Any]:
    """Return the JSON object of a request; raise if the body is not a JSON object."""
    try:
        sent = json.loads(await request.body())
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise DataError("this request is not what the page expects; please reload the page")
    return sent


def _explained(sent: Mapping[str, Any], room: PlaygroundVictims) -> GivenText:
    given = text_of(sent, room.fields)
    if given.count > EXPLAINED:
        raise DataError(
            f"word importance is shown for texts of at most {EXPLAINED} words; this one has {given.count:,}"
        )
    return given


async def _done(request: Request, job: VictimThreadJob[T], thread: VictimThread) -> T:
    """Return the result of a job, which stops if the client leaves; a victim that fails is a 503."""
    waiting = asyncio.wrap_future(job.future)
    try:
        while not (await asyncio.wait([waiting], timeout=tries.PATIENCE))[0]:
            if await request.is_disconnected():
                raise HTTPException(408, "The client has left.")
        return waiting.result()[0]
    except ShownError as error:
        raise HTTPException(503, describe_error(error, thread.name)) from None
    finally:
        job.stop.set()


async def _counted(going: tries.StreamTally, client: str, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(events):
        with going.one(client):
            async for one in events:
                yield one


async def _with(first: str, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(events):
        yield first
        async for one in events:
            yield one
