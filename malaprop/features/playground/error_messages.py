"""What a page may say about something that went wrong: never a path, an address or a key of this machine."""

from __future__ import annotations

import logging
import re
from pathlib import PurePath
from urllib.parse import urlsplit

from malaprop.core.errors import AssetError, CapabilityError, DataError, MalapropError, SettingError, plain

log = logging.getLogger("malaprop.features.playground")
_OURS = (DataError, SettingError, CapabilityError)  # they speak of the text and of what was asked for
_PRIVATE = re.compile(
    r"\b[a-z][a-z0-9+.-]*://\S+|(?<![\w.])(?:~|[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}[\\/]?", re.IGNORECASE
)
_WHERE = "whoever runs this server finds the reason in its log"


class ShownError(MalapropError):
    """Its words are fit for the page as they are."""


class BusyError(ShownError):
    """More is waiting than makes sense."""


class StoppedError(ShownError):
    """The client has left, or has stopped the attack."""


def remove_paths(words: str) -> str:
    """The words without what looks like a path or an address."""
    return _PRIVATE.sub("…", words)


def describe_error(error: BaseException, victim: str) -> str:
    """Clear words for the page; what else there is to know goes to the log."""
    if isinstance(error, ShownError):
        return str(error)
    if isinstance(error, _OURS):
        return remove_paths(plain(error))
    log.warning("%s: %s", victim, plain(error))
    if isinstance(error, AssetError):
        return f"a resource that this needs is not on the server; {_WHERE}"
    return f"{victim} did not answer; {_WHERE}"


def shorten_name(name: str) -> str:
    """A victim's name without the folder or the address it was loaded from."""
    if "://" in name:
        return urlsplit(name).hostname or "a model behind an address"
    return PurePath(name.replace("\\", "/")).name or name


def distinct(names: list[str]) -> list[str]:
    """The names, numbered where one comes again."""
    return [name if names.index(name) == i else f"{name} ({names[:i].count(name) + 1})" for i, name in enumerate(names)]
