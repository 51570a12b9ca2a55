"""malaprop humans serve: the pages of a study (instructions, one item a page, thanks) and its progress page."""

from __future__ import annotations

import asyncio
import csv
import io
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from malaprop.core.errors import MalapropError, RecordError
from malaprop.features.humans.items import show, to_shown, to_stored
from malaprop.features.humans.score import progress
from malaprop.features.humans.study import AnswerWriter, GivenAnswer, Rater, RatingStudy
from malaprop.frame.web import same_token, set_cookie
from malaprop.frame.web.middleware import RateBuckets, client_of
from malaprop.frame.web.serving import bind, serve
from malaprop.frame.web.site import Pages, SiteLimits, make_site

COOKIE = "malaprop_admin"
BODY = 8 * 1024  # an answer is a few bytes
_BROKEN = "This link is not complete, or belongs to another study. Please open the whole link you were sent."
_BUSY = "Too many requests at once. Please wait a moment and try again."


def personal_links(study: RatingStudy) -> dict[str, str]:
    """Return each rater's personal path by name; raters whose answers were imported have none."""
    return {rater.name: f"/r/{rater.id}.{rater.secret}" for rater in study.raters().values() if rater.secret}


@dataclass(frozen=True, slots=True)
class Visit:
    """A rater who opened a valid link, with the answers so far by item."""

    rater: Rater
    link: str
    given: dict[int, str]


class RatingPages:
    """Checks links and answers requests; request rates are limited per rater, as raters may share an address."""

    def __init__(self, study: RatingStudy, writer: AnswerWriter, pages: Pages) -> None:
        self.study, self.writer, self.pages = study, writer, pages
        self.raters = study.raters()
        self._raters = RateBuckets(rate=15, burst=60)
        self._strangers = RateBuckets(rate=2, burst=20)

    def limit_guesses(self, request: Request) -> None:
        """Limit how many links or tokens one address can guess."""
        if self._strangers.wait(client_of(request.scope)):
            raise HTTPException(429, _BUSY)

    def visit(self, request: Request, link: str) -> Visit:
        """Check a personal link, and return its rater with the answers so far."""
        number, _, secret = link.partition(".")
        rater = self.raters.get(int(number)) if number.isdecimal() and len(number) < 9 else None
        if rater is None or not same_token(secret, rater.secret):
            self.limit_guesses(request)
            raise HTTPException(404, _BROKEN)
        if self._raters.wait(str(rater.id)):
            raise HTTPException(429, _BUSY, {"retry-after": "1"})
        try:
            return Visit(rater, link, self.study.answers_of(rater.id))
        except MalapropError:  # its message names the file, which raters should not see
            raise HTTPException(503, "The study cannot be read just now. Please try again in a moment.") from None

    def due(self, visit: Visit) -> int | None:
        """Return the first place without an answer; None if all are answered."""
        turns = self.study.turns[visit.rater.id]
        return next((place for place, turn in enumerate(turns, start=1) if turn.item not in visit.given), None)

    def check_place(self, visit: Visit, place: int) -> int:
        """Return the place; raise if the rater's list does not have it."""
        if not 1 <= place <= len(self.study.turns[visit.rater.id]):
            raise HTTPException(404, "There is no such item in your list. Please open your personal link again.")
        return place

    def start(self, visit: Visit) -> Response:
        turns, due = self.study.turns[visit.rater.id], self.due(visit)
        own = dict.fromkeys(self.study.items[turn.item].question for turn in turns)
        values = {
            "link": visit.link,
            "total": len(turns),
            "done": sum(turn.item in visit.given for turn in turns),
            "due": due,
            "questions": [q.word_for(self.study.images) for q in self.study.facts.questions if q.name in own],
            "what": "image" if self.study.images else "text",
            "labels": self.study.facts.labels,
        }
        return self.pages.show("start.html" if due is not None else "thanks.html", values)

    def item(self, visit: Visit, place: int) -> Response:
        turns = self.study.turns[visit.rater.id]
        turn = turns[place - 1]
        item, stored = self.study.items[turn.item], visit.given.get(turn.item)
        values = {
            "link": visit.link,
            "place": place,
            "total": len(turns),
            "done": sum(t.item in visit.given for t in turns),
            "shown": show(item, turn.flip, self.study.facts.labels),
            "given": None if stored is None else to_shown(item, turn, stored),
        }
        return self.pages.show("item.html", values)

    async def answer(self, visit: Visit, place: int, value: str, change: bool) -> Response:
        due = self.due(visit)
        if due is not None and place > due:
            return self._show_message(409, "Please answer in order", f"Item {due} comes first.", visit, due)
        turn = self.study.turns[visit.rater.id][place - 1]
        stored = to_stored(self.study.items[turn.item], turn, value, self.study.facts.labels)
        if stored is None:
            words = "Nothing was chosen, so nothing was saved. Please choose one of the answers."
            return self._show_message(400, "Please choose an answer", words, visit, place)
        try:
            entered = await asyncio.wrap_future(self.writer.put(GivenAnswer(visit.rater.id, turn.item, stored, change)))
        except MalapropError:
            again = {"link": visit.link, "place": place, "value": value, "change": change}
            return self.pages.show("unsaved.html", again, status=503)
        if entered == "taken":
            words = "You have answered this item before, and your first answer stands. Open it to change it."
            return self._show_message(409, "Already answered", words, visit, place)
        visit.given[turn.item] = stored
        after = place + 1 if place < len(self.study.turns[visit.rater.id]) else self.due(visit)
        return RedirectResponse(f"/r/{visit.link}" + (f"/{after}" if after else ""), 303)

    def _show_message(self, status: int, title: str, words: str, visit: Visit, place: int) -> Response:
        values = {"title": title, "words": words, "link": visit.link, "place": place}
        return self.pages.show("message.html", values, status=status)


def make_app(path: Path) -> tuple[FastAPI, RatingStudy]:
    """Return the application that serves a study file, and the study that it reads."""
    RatingStudy(path).close()  # raises before the writer touches a file that is not a study
    writer = AnswerWriter(
        path
    )  # before reading: it says whether answers can be written, and lets readers in beside them
    try:
        study = RatingStudy(path)
    except MalapropError:
        writer.close()
        raise

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        study.close()
        writer.close()

    app, pages = make_site(
        "malaprop.features.humans", title="Text study", limits=SiteLimits(body=BODY, rate=None), lifespan=lifespan
    )
    rating = RatingPages(study, writer, pages)
    _rater_routes(app, rating)
    _admin_routes(app, rating)
    return app, study


def _rater_routes(app: FastAPI, rating: RatingPages) -> None:
    @app.get("/")
    async def home() -> Response:
        return rating.pages.show("home.html")

    @app.get("/r/{link}")
    async def start(request: Request, link: str) -> Response:
        return rating.start(rating.visit(request, link))

    @app.get("/r/{link}/{place}")
    async def item(request: Request, link: str, place: int) -> Response:
        visit = rating.visit(request, link)
        place, due = rating.check_place(visit, place), rating.due(visit)
        if due is not None and place > due:
            return RedirectResponse(f"/r/{link}/{due}", 303)
        return rating.item(visit, place)

    @app.post("/r/{link}/{place}")
    async def answer(request: Request, link: str, place: int) -> Response:
        visit = rating.visit(request, link)
        form = await _form(request)
        return await rating.answer(
            visit, rating.check_place(visit, place), form.get("answer", ""), form.get("change") == "1"
        )


def _admin_routes(app: FastAPI, rating: RatingPages) -> None:
    @app.get("/admin")
    async def admin(request: Request) -> Response:
        given = request.cookies.get(COOKIE)
        if not same_token(given, rating.study.facts.admin):
            return rating.pages.show("login.html", {"wrong": False})
        found = await asyncio.to_thread(_progress, rating.study.path)
        return rating.pages.show("admin.html", {"facts": rating.study.facts, "progress": found})

    @app.post("/admin")
    async def login(request: Request) -> Response:
        rating.limit_guesses(request)
        token = (await _form(request)).get("token", "").strip()
        if not same_token(token, rating.study.facts.admin):
            return rating.pages.show("login.html", {"wrong": True}, status=403)
        response = RedirectResponse("/admin", 303)
        set_cookie(response, request, COOKIE, token)
        return response


def _progress(path: Path) -> object:
    with RatingStudy(path) as own:  # this runs in another thread, which needs its own connection
        return progress(own)


async def _form(request: Request) -> dict[str, str]:
    """Return the first value of each field of a posted form."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return {name: values[0] for name, values in parse_qs(body, max_num_fields=20).items()}
    except ValueError:
        raise HTTPException(400, "This request is not what the page expects. Please reload the page.") from None


FEW = 20  # links printed on the terminal; more are better written to a file


def host_study(
    path: Path,
    *,
    host: str,
    port: int,
    expose: bool,
    links: Path | None,
    url: str | None = None,
    secrets: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a study until stopped. The port is bound first, so that a port in use fails before the study is opened.

    `url` is the address under which raters reach the server, if it is another. Without `secrets`, links and token are
    not printed.
    """
    opened = bind(host, port, expose=expose)
    try:
        app, study = make_app(path)
    except BaseException:
        opened.close()
        raise
    number = opened.getsockname()[1]
    base = url.rstrip("/") if url is not None else _address(host, number)
    personal = {name: base + link for name, link in personal_links(study).items()}
    if links is not None:
        _write_links(links, personal)
        say(f"links: {links} ({len(personal)} raters; anyone who has a link can answer under it)")
    elif secrets:
        for name, link in list(personal.items())[:FEW]:
            say(f"{name}: {link}")
        if len(personal) > FEW:
            say(f"and {len(personal) - FEW} more; --links FILE writes them all")
    if secrets:
        say(f"progress: {base}/admin with the token {study.facts.admin}")
    serve(app, host=host, port=port, expose=expose, say=say, listening=opened)


def _address(host: str, port: int) -> str:
    """Return the address for links; the machine's name where the server listens on all interfaces."""
    name = gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{name}:{port}"


def _write_links(path: Path, personal: dict[str, str]) -> None:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("rater", "link"))
    rows.writerows(personal.items())
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(out.getvalue())
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another place for --links") from None
