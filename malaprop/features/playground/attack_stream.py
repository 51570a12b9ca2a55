"""Attacks one text with one recipe on every victim, as a stream of server-sent events; a client may run few at once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from malaprop.core.example import Example, content_id
from malaprop.core.score import winner
from malaprop.features.playground.error_messages import BusyError, describe_error
from malaprop.features.playground.input_checks import GivenText, cut
from malaprop.features.playground.jobs import attack_on, describe_ending, record, scores_of
from malaprop.features.playground.victim_thread import VictimThread, VictimThreadJob
from malaprop.features.playground.victims import Recipe

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
