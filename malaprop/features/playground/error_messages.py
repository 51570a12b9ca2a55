"""Error messages that a page may show: without a path, an address or a key of the server."""

from __future__ import annotations

import logging
import re
from pathlib import PurePath
from urllib.parse import urlsplit

from malaprop.core.errors import AssetError, CapabilityError, DataError, MalapropError, SettingError, plain

log = logging.getLogger("malaprop.features.playground")
_OURS = (DataError, SettingError, CapabilityError)  # errors about the client's text and request
_PRIVATE = re.compile(
    r"\b[a-z][a-z0-9+.-]*://\S+|(?<![\w.])(?:~|[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}[\\/]?", re.IGNORECASE
)
_WHERE = "the reason is in the server's log"


class ShownError(MalapropError):
    """An error whose message the page may show as it is."""


class BusyError(ShownError):
    """Too many requests or attacks are waiting."""


class StoppedError(ShownError):
    """The client has left, or has stopped the attack."""


def remove_paths(words: str) -> str:
    """Replace everything that looks like a path or an address."""
    return _PRIVATE.sub("…", words)


def describe_error(error: BaseException, victim: str) -> str:
    """Return the message for the page, and log what the page must not show."""
    if isinstance(error, ShownError):
        return str(error)
    if isinstance(error, _OURS):
        return remove_paths(plain(error))
    log.warning("%s: %s", victim, plain(error))
    if isinstance(error, AssetError):
        return f"a resource that this needs is not on the server; {_WHERE}"
    return f"{victim} did not answer; {_WHERE}"


def shorten_name(name: str) -> str:
    """Return a victim's name without the folder or address that it was loaded from."""
    if "://" in name:
        return urlsplit(name).hostname or "a model behind an address"
    return PurePath(name.replace("\\", "/")).name or name


def distinct(names: list[str]) -> list[str]:
    """Return the names, with a number behind those that repeat."""
    return [name if names.index(name) == i else f"{name} ({names[:i].count(name) + 1})" for i, name in enumerate(names)]
