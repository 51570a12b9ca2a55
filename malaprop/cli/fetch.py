"""malaprop fetch: download resources before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.frame.command import options as o


def fetch(
    names: Annotated[list[str], typer.Argument(help="Assets, or 'all': see malaprop list assets.")],
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fetch resources into the cache, or check those that are there against their hashes.

    Examples:

      malaprop fetch wordnet glove

      malaprop fetch all
    """
    from malaprop.assets import store
    from malaprop.core.catalogue import unknown

    known = store.entries()
    wanted = list(known) if names == ["all"] else names
    for name in wanted:
        if name not in known:
            raise unknown("asset", name, known)
    states = {}
    for name in wanted:
        path = store.fetch(name)
        store.verify(name)
        states[name] = store.state(name)
        if not quiet:
            print(f"{name}: {states[name]} in {path}")
    o.finish({"command": "fetch", "assets": states}, json)
