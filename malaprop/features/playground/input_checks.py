"""What may come from the page and go to it: checks of requests, and error messages without secrets.

Requests: length of texts, known names, numbers in range. Messages: no path, address or key of the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, CapabilityError, DataError, MalapropError, SettingError, plain
from malaprop.core.text import BREAK, Text, Words

VICTIMS = 4  # most victims side by side
WORDS = 2_000  # most words of a text to score or attack
EXPLAINED = 300  # most words of a text to explain: each word costs a query
CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text as a client sent it, with its words."""

    fields: Mapping[str, str]
    words: tuple[str, ...]  # in slots that count through all fields

    @property
    def count(self) -> int:
        return len(self.words)


def text_of(sent: Mapping[str, Any], names: Sequence[str]) -> GivenText:
    """Return the text of a request; raise unless it has exactly these fields and a permitted length."""
    fields = sent.get("fields")
    if (
        not isinstance(fields, dict)
        or list(fields) != list(names)
        or not all(isinstance(v, str) for v in fields.values())
    ):
        raise DataError(f"the request has no text for {' and '.join(names)}; please reload the page")
    length = sum(map(len, fields.values()))
    if length > CHARACTERS:
        raise DataError(f"the text has {length:,} characters; the playground takes at most {CHARACTERS:,}")
    given = GivenText(fields, tuple(Text.of(fields, Words()).strings))
    if given.count > WORDS:
        raise DataError(f"the text has {given.count:,} words; the playground takes at most {WORDS:,}")
    if not given.count:
        raise DataError("the text has no words; please type at least one letter or digit")
    return given


def number_of(sent: Mapping[str, Any], name: str, below: int, default: int | None = None) -> int:
    """Return a whole number of a request, from 0 to below `below`."""
    value = sent.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise SettingError(f"{name} must be a number from 0 to {below - 1}")
    return value


def name_of(sent: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    """Return a name of a request; raise unless it is one of `known`."""
    value = sent.get(name)
    if not isinstance(value, str) or value not in known:
        raise unknown(name, str(value)[:40], known)
    return value


def cut(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Split each field into the characters before its first word and its words with the gaps behind them."""
    text = Text.of(fields, Words())
    parts = text.joined()
    out: list[dict[str, Any]] = []
    names = iter(text.names)
    for place in range(0, len(parts), 2):
        own, *others = parts[place].split(BREAK)
        if not place:
            out.append({"name": next(names), "before": own, "words": []})
        else:
            out[-1]["words"].append({"word": parts[place - 1], "after": own})
        out += [{"name": next(names), "before": other, "words": []} for other in others]
    return out


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
