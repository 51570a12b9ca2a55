"""The share of a server's capacity that attacks use: a stub answers so many requests at a time, each after 50 ms.

python -m malaprop_bench.served docs/measured/served.jsonl

Capacity is the number of places over 50 ms. The stub is a process of its own; *busy* is the share of the time of all
places in which they held a request, from the first request to the last answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from math import exp, log
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from malaprop.core.example import Example

HEAD = (
    "recipe", "texts", "places of the server", "requests in flight, at most", "answers", "answers a second",
    "of its capacity", "places busy", "processor ms a request",
)  # fmt: skip
ANSWER = 0.05  # seconds
CELLS = (("pwws", 4, 8), ("pwws", 16, 32), ("pwws", 32, 64), ("genetic", 32, 64))  # recipe, places, concurrency
TEXTS = 200
LABELS = ("negative", "positive")


@dataclass(slots=True)
class Stub:
    """A server of OpenAI's protocol that gives each word of a prompt a fixed weight."""

    places: asyncio.Semaphore
    answers: int = 0
    busy: float = 0.0
    times: list[float] = field(default_factory=list)  # of the first request, and of the last answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while head := await _read_head(reader):
            asked = await reader.readexactly(_length(head))
            if head.startswith(b"GET"):
                told = {"answers": self.answers, "busy": self.busy, "seconds": self.times[-1] - self.times[0]}
                self.answers, self.busy, self.times = 0, 0.0, []
            else:
                told = await self.answer(json.loads(asked)["messages"][-1]["content"])
            body = json.dumps(told).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async def answer(self, prompt: str) -> dict[str, Any]:
        """Hold one place for 50 ms, and return the answer."""
        self.times = self.times or [monotonic()]
        async with self.places:
            began = monotonic()
            await asyncio.sleep(ANSWER)
            self.busy += monotonic() - began
        self.answers, self.times[1:] = self.answers + 1, [monotonic()]
        return reply(prompt)


def reply(prompt: str) -> dict[str, Any]:
    """Return an answer that depends on the words of a prompt alone."""
    lean = sum(crc32(word.encode()) % 1001 / 500 - 1 for word in prompt.lower().split())
    odds = dict(zip(LABELS, (1 / (1 + exp(lean)), 1 / (1 + exp(-lean))), strict=True))
    top = [{"token": word, "logprob": log(odds[word])} for word in sorted(odds, key=odds.__getitem__, reverse=True)]
    message = {"role": "assistant", "content": top[0]["token"]}
    choice = {"index": 0, "message": message, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}
    return {"choices": [choice], "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": 1}}


def name_label(prompt: str) -> str:
    """Return the stub's answer."""
    return str(reply(prompt)["choices"][0]["message"]["content"])


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n")[0] or 0)


async def _serve(places: int) -> None:
    stub = Stub(asyncio.Semaphore(places))
    server = await asyncio.start_server(stub.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def stub(places: int) -> Iterator[int]:
    """Run a stub of so many places in another process; the block gets its port."""
    words = [sys.executable, "-m", "malaprop_bench.served", "--stub", str(places)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this program
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def read_stub(port: int) -> dict[str, Any]:
    """Return what a stub has counted, and let it begin again."""
    line = HTTPConnection("127.0.0.1", port)
    line.request("GET", "/")
    found: dict[str, Any] = json.loads(line.getresponse().read())
    line.close()
    return found


def measure(recipe: str, places: int, concurrency: int, examples: Sequence[Example]) -> dict[str, Any]:
    """Attack the stub, after two texts that warm up; return the answers that it gave and the time that it took."""
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.make_attack import recipe as make
    from malaprop.frame.runs.victims import victim as open_victim

    with stub(places) as port:
        spec = f"openai:stub@http://127.0.0.1:{port}/v1#concurrency={concurrency}"
        victim = open_victim(spec, prompt="{text}", labels=LABELS, quiet=True)
        list(run(make(recipe), victim, examples[:2]))
        read_stub(port)
        spent = process_time()
        found = list(run(make(recipe), victim, examples[2:]))
        spent = process_time() - spent
        seen = read_stub(port)
    return {
        "recipe": recipe, "texts": len(found), "places": places, "concurrency": concurrency, "answer_s": ANSWER,
        "answers": seen["answers"], "seconds": round(seen["seconds"], 3), "busy": round(seen["busy"], 3),
        "processor_s": round(spent, 3), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def share(one: Mapping[str, Any]) -> float:
    """Return the answers of a run over those that the server could have given in that time."""
    return float(one["answers"] * one["answer_s"] / (one["places"] * one["seconds"]))


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each run."""
    return [
        [
            one["recipe"], str(one["texts"]), str(one["places"]), str(one["concurrency"]), f"{one['answers']:,}",
            f"{one['answers'] / one['seconds']:,.0f}", f"{share(one):.0%}",
            f"{one['busy'] / one['places'] / one['seconds']:.0%}", f"{1e3 * one['processor_s'] / one['answers']:.2f}",
        ]
        for one in records
    ]  # fmt: skip


def main(words: Sequence[str]) -> None:
    """Serve as a stub, or measure the cells."""
    if words[0] == "--stub":
        asyncio.run(_serve(int(words[1])))
        return
    from malaprop.data import load

    examples = load("mr").sample(TEXTS).examples
    with Path(words[0]).open("w", encoding="utf-8") as file:
        for cell in CELLS:
            file.write(json.dumps(measure(*cell, examples)) + "\n")
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
