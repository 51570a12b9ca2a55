"""The playground's web application: its page, the requests of its script, and attacks as streams of events."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from malaprop.core.capability import Capability
from malaprop.core.errors import DataError
from malaprop.core.example import Example, content_id
from malaprop.core.score import winner
from malaprop.features.playground.input_checks import (
    EXPLAINED,
    WORDS,
    BusyError,
    GivenText,
    ShownError,
    cut,
    describe_error,
    name_of,
    number_of,
    text_of,
)
from malaprop.features.playground.jobs import (
    SHOWN,
    attack_on,
    attention_of,
    describe_ending,
    importance_of,
    record,
    scores_of,
    substitutes_at,
    weights,
)
from malaprop.features.playground.victim_thread import VictimThread, VictimThreadJob
from malaprop.features.playground.victims import FIRST, PlaygroundVictims, Recipe
from malaprop.frame.web.middleware import client_of
from malaprop.frame.web.site import SiteLimits, make_site

AT_ONCE = 3  # attacks of one client
PATIENCE = 0.25  # seconds between two checks whether the client is still connected


class StreamTally:
    """Counts the running attacks of each client and refuses more than `most`."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self.most, self.going = most, Counter[str]()

    @contextmanager
    def one(self, client: str) -> Iterator[None]:
        if self.going[client] >= self.most:
            raise BusyError(f"you have {self.most} attacks running; stop one, or wait until one ends")
        self.going[client] += 1
        try:
            yield
        finally:
            self.going[client] -= 1
            if not self.going[client]:
                del self.going[client]


@dataclass(frozen=True, slots=True)
class AttackStream:
    """The attack that a client requested; without a `label` each victim's own answer is attacked."""

    text: GivenText
    recipe: Recipe
    label: int | None
    seed: int


def event(kind: str, values: dict[str, Any]) -> str:
    """Return one server-sent event as text."""
    return f"event: {kind}\ndata: {json.dumps(values, ensure_ascii=True, separators=(',', ':'))}\n\n"


async def stream(
    asked: AttackStream, threads: list[VictimThread], gone: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[str]:
    """Yield the events of an attack until all victims are done; it stops when closed or when the client leaves."""
    loop, events = asyncio.get_running_loop(), asyncio.Queue[str]()
    jobs: list[VictimThreadJob[Any]] = []

    def tell(kind: str, values: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # the server is closing
            loop.call_soon_threadsafe(events.put_nowait, event(kind, values))

    work = [asyncio.create_task(_one(asked, number, thread, jobs, tell)) for number, thread in enumerate(threads)]
    try:
        yield event("text", {"fields": cut(asked.text.fields), "recipe": asked.recipe.name})
        while not (events.empty() and all(task.done() for task in work)):
            try:
                yield await asyncio.wait_for(events.get(), PATIENCE)
            except TimeoutError:
                if await gone():
                    return
                yield ": still at it\n\n"
        yield event("done", {})
    finally:
        for job in jobs:
            job.stop.set()
        for task in work:
            task.cancel()


async def _one(
    asked: AttackStream, number: int, thread: VictimThread, jobs: list[VictimThreadJob[Any]], tell: Callable[..., None]
) -> None:
    """Attack one victim and send its events; the last one is sent before this ends."""

    def here(kind: str, values: dict[str, Any]) -> None:
        tell(kind, {"victim": number, **values})

    async def done(job: VictimThreadJob[Any]) -> Any:
        jobs.append(job)
        return await asyncio.wrap_future(job.future)

    try:
        first, _ = await done(thread.submit(scores_of(asked.text.fields)))
        label = winner(first) if asked.label is None else asked.label
        here("begin", {"label": label, "scores": first.tolist(), "prediction": winner(first)})
        example = Example(content_id(asked.text.fields, label), asked.text.fields, label)
        began = perf_counter()
        ending, cost = await done(thread.submit(attack_on(thread, asked.recipe.attack, example, asked.seed, here)))
        made = record(example, ending, cost, asked.seed, began)
        here("end", describe_ending(made, victim=thread.name, recipe=asked.recipe.name))
    except Exception as error:  # noqa: BLE001 - the page shows a plain message; the log has the rest
        here("problem", {"words": describe_error(error, thread.name)})
    await asyncio.sleep(0)  # lets the loop queue the events before this task counts as done


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
    going = StreamTally()

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
        asked = AttackStream(
            text_of(sent, room.fields),
            room.recipes[name_of(sent, "recipe", list(room.recipes))],
            None if sent.get("label") is None else number_of(sent, "label", 1_000),
            number_of(sent, "seed", SEEDS, 0),
        )
        events = _counted(going, client_of(request.scope), stream(asked, room.threads, request.is_disconnected))
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
        while not (await asyncio.wait([waiting], timeout=PATIENCE))[0]:
            if await request.is_disconnected():
                raise HTTPException(408, "The client has left.")
        return waiting.result()[0]
    except ShownError as error:
        raise HTTPException(503, describe_error(error, thread.name)) from None
    finally:
        job.stop.set()


async def _counted(going: StreamTally, client: str, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(events):
        with going.one(client):
            async for one in events:
                yield one


async def _with(first: str, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(events):
        yield first
        async for one in events:
            yield one
