"""Starts the pages of a study and says where they are."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from socket import gethostname

from malaprop.core.errors import RecordError
from malaprop.features.humans.server import links as links_of
from malaprop.features.humans.server import make_app
from malaprop.frame.web.serving import bind, serve

FEW = 20  # links shown on the terminal; beyond, a file serves better


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
    """Serves until stopped. The port is taken first, so that one in use is found before anything is opened.

    `url` is how raters reach it, where that is not the address itself. Without `secrets`, links and token are not said.
    """
    opened = bind(host, port, expose=expose)
    try:
        app, study = make_app(path)
    except BaseException:
        opened.close()
        raise
    number = opened.getsockname()[1]
    base = url.rstrip("/") if url is not None else _address(host, number)
    personal = {name: base + link for name, link in links_of(study).items()}
    if links is not None:
        _write_links(links, personal)
        say(f"links: {links} ({len(personal)} raters; whoever has a link can answer under it)")
    elif secrets:
        for name, link in list(personal.items())[:FEW]:
            say(f"{name}: {link}")
        if len(personal) > FEW:
            say(f"and {len(personal) - FEW} more; --links FILE writes them all")
    if secrets:
        say(f"progress: {base}/admin with the token {study.facts.admin}")
    serve(app, host=host, port=port, expose=expose, say=say, listening=opened)


def _address(host: str, port: int) -> str:
    """The address for links; that of all interfaces is nobody's, so the machine's name stands for it."""
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
