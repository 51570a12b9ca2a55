"""Many raters at once, as bare HTTP clients, against a server that is killed: `rating_load.py SECONDS THINK KILLS`."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from tiny_study import LABELS, TYPO, write_run

from malaprop.features.humans.export import Design, export
from malaprop.features.humans.study import RatingStudy

RATERS = 50


def make_study(folder: Path, items: int) -> Path:
    names = [f"film number {n} was {'good' if n % 2 else 'poor'} from start to end, said many who saw it" for n in
             range(items)]  # fmt: skip
    runs = write_run(folder / "runs", "typo", TYPO, texts=names, labels=LABELS)
    export([runs], folder / "study.db", Design(ask=("label",), items=items, raters=RATERS, checks=2))
    return folder / "study.db"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Server:
    """The command as a user starts it; `kill` ends it without a word and starts it again on the same port."""

    study: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        links = self.study.with_name("links.csv")
        command = [sys.executable, "-m", "malaprop", "humans", "serve", str(self.study), "--port", str(self.port)]
        self.process = subprocess.Popen([*command, "--links", str(links)], stderr=subprocess.DEVNULL)

    def ready(self) -> None:
        for _ in range(600):
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/", timeout=20):
                    return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("the server did not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(20)

    def links(self) -> list[str]:
        text = self.study.with_name("links.csv").read_text()
        return re.findall(r"http://[^/]+(/r/\S+)", text)


@dataclass
class Tally:
    """`confirmed` is what a rater saw accepted, by link and place; `sent` all that may have arrived.

    `seconds` are of answers to a server that was up, `waited` of those that came in while it was down or starting.
    """

    confirmed: dict[tuple[str, int], str] = field(default_factory=dict)
    sent: dict[tuple[str, int], str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    broken: int = 0
    down: bool = False

    def share(self, of: list[float], part: float) -> float:
        return sorted(of)[min(len(of) - 1, int(part * len(of)))]


class Client:
    """One kept connection; an error closes it, and the next request opens another."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: str = "") -> int:
        try:
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self.streams
            head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n"
            if body:
                head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}\r\n{body}".encode())
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            return int(answer.split(" ", 2)[1])
        except (OSError, asyncio.IncompleteReadError):
            if self.streams is not None:
                self.streams[1].close()
            self.streams = None
            raise ConnectionError from None

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()


async def rate(port: int, link: str, items: int, until: float, think: float, tally: Tally, rng: random.Random) -> None:
    """One person: read the page, think, answer; after a broken connection, answer again."""
    client = Client(port)
    await asyncio.sleep(rng.random() * think)
    place = 1
    while place <= items and time.monotonic() < until:
        value = rng.choice("01")
        try:
            start = time.perf_counter()
            if await client.ask("GET", f"{link}/{place}") == 200:
                tally.pages.append(time.perf_counter() - start)
        except ConnectionError:
            await asyncio.sleep(0.1)
            continue
        await asyncio.sleep(rng.uniform(0.5, 1.5) * think)
        if await answer(client, link, place, value, until, tally):
            place += 1
    client.close()


async def answer(client: Client, link: str, place: int, value: str, until: float, tally: Tally) -> bool:
    while time.monotonic() < until + 15:
        tally.sent[link, place] = value
        start, down = time.perf_counter(), tally.down
        try:
            status = await client.ask("POST", f"{link}/{place}", f"answer={value}")
        except ConnectionError:
            tally.broken += 1
            await asyncio.sleep(0.1)
            continue
        if status == 303:
            (tally.waited if down else tally.seconds).append(time.perf_counter() - start)
            tally.confirmed[link, place] = value
            return True
        assert status in (429, 503), status
        await asyncio.sleep(0.5)
    return False


async def _killer(server: Server, kills: int, seconds: float, tally: Tally, rng: random.Random) -> None:
    moments = sorted(rng.uniform(0.05, 0.95) * seconds for _ in range(kills))
    start = time.monotonic()
    for moment in moments:
        await asyncio.sleep(max(0.0, start + moment - time.monotonic()))
        tally.down = True
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(server.ready)
        tally.down = False


def load(folder: Path, *, seconds: float, think: float, kills: int, items: int = 600, seed: int = 0) -> Tally:
    """Runs it all and checks the file at the end: nothing that was confirmed is missing, nothing is there twice."""
    study = make_study(folder, items)
    server, tally, rng = Server(study), Tally(), random.Random(seed)
    server.start()
    server.ready()

    async def together() -> None:
        until = time.monotonic() + seconds
        people = [
            rate(server.port, link, items, until, think, tally, random.Random(f"{seed} {link}"))
            for link in server.links()
        ]
        await asyncio.gather(_killer(server, kills, seconds, tally, rng), *people)

    try:
        asyncio.run(together())
        if kills:
            server.kill()  # once more, at the end: what is in the file is all there is
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
    check(study, server.links(), tally)
    return tally


def check(study: Path, links: list[str], tally: Tally) -> None:
    base = sqlite3.connect(study)
    rows = base.execute(
        "SELECT rater, place, value FROM answers JOIN turns USING (rater, item) ORDER BY rater, place"
    ).fetchall()
    assert base.execute("SELECT count(*) FROM changes").fetchone() == (0,)
    base.close()
    with RatingStudy(study) as reader:
        assert len(reader.answers()) == len(rows), "who only reads sees them all too"
    kept = {(links[rater - 1], place): value for rater, place, value in rows}
    assert len(kept) == len(rows), "an answer is there twice"
    lost = {key for key, value in tally.confirmed.items() if kept.get(key) != value}
    assert not lost, f"{len(lost)} confirmed answers are lost or other than confirmed"
    strange = {key for key, value in kept.items() if tally.sent.get(key) != value}
    assert not strange, f"{len(strange)} answers were never sent"


def told(tally: Tally) -> str:
    shares = {f"{100 * part:.0f}%": 1000 * tally.share(tally.seconds, part) for part in (0.5, 0.95, 0.99)}
    figures = ", ".join(f"{name} under {value:.1f} ms" for name, value in shares.items())
    pages = 1000 * tally.share(tally.pages, 0.95)
    counts = f"{len(tally.confirmed)} answers confirmed, {len(tally.waited)} after a restart, {tally.broken} broken off"
    return f"{counts}; {figures}; pages 95% under {pages:.1f} ms"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        seconds, think, kills = (float(word) for word in sys.argv[1:4])
        print(told(load(Path(place), seconds=seconds, think=think, kills=int(kills))))
