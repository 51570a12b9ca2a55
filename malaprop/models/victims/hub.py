"""Names of the hub, told from folders that are not there, before anybody is asked for minutes."""

from __future__ import annotations

import socket
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from malaprop.assets.folders import offline
from malaprop.core.errors import VictimError

PREFIX = "hub:"


def hub_name(typed: str) -> str:
    """The model's name on the hub. Raises where a folder was meant, or where the hub cannot be reached.

    `hub:ORG/NAME` is always of the hub; ORG/NAME is where there is no folder ORG here.
    """
    name = typed.removeprefix(PREFIX)
    if name == typed and Path(name).parent.is_dir():
        raise VictimError(f"no such folder: {typed}{_near(Path(name))}; a model of the hub is written {PREFIX}{name}")
    if offline() or _is_reachable() or _is_cached(name):
        return name
    folder = f"no such folder: {typed}, and " if name == typed else f"{typed}: "
    raise VictimError(f"{folder}the hub cannot be reached from here; give a folder with the model")


def _near(path: Path) -> str:
    """The folders beside it that are called nearly so."""
    there = [one.name for one in path.parent.iterdir() if one.is_dir()]
    near = get_close_matches(path.name, there, n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else ""


def _is_reachable() -> bool:
    from huggingface_hub.constants import ENDPOINT

    if getproxies():  # which may know names that this machine does not
        return True
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, None)
    except OSError:
        return False
    return True


def _is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)
