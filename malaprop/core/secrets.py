"""Remove secrets from text of others: whole or in part, in any case, escaped, in base64 or in hexadecimal digits."""

from __future__ import annotations

import html
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

BLOT = "..."
_PIECE = 6  # characters of a secret in a row that are not shown
_LAYERS = 3  # of escapes within escapes
_ESCAPE = re.compile(
    r"\\u\{?([0-9a-fA-F]{4})\}?|\\x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})|&#[xX]([0-9a-fA-F]{1,6});?|&#([0-9]{1,7});?"
    r"|(&[a-zA-Z]{2,8};)|\\([^ux])"
)
_CALLED = re.compile(r"(?:^|_)(?:key|token|secret|password|passwd)$", re.IGNORECASE)  # variables that hold a secret
_LEAST = 8  # characters of such a variable's value that make it a secret


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reading of a text after some unescaping, without white space: its characters and the span each comes from."""

    characters: str
    spans: Sequence[tuple[int, int]]


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret in a text by three dots.

    Six characters of a secret in a row are taken for it, or all of a shorter secret. White space and unprintable
    characters between them make no difference.
    """
    known = [pieces for secret in secrets if secret for pieces in _disguises(secret)]
    if all(len(text) < size for size, _ in known):
        return text
    hidden = bytearray(len(text))
    reading = _read(text)
    for _ in range(_LAYERS + 1):
        for size, pieces in known:
            _mark(hidden, reading, size, pieces)
        further = _unescape(reading)
        if further.characters == reading.characters:
            break
        reading = further
    return _blot(text, hidden)


def scrub_within(value: Any, secrets: Sequence[str]) -> Any:
    """Replace secrets in every string of a JSON value; numbers stay."""
    if isinstance(value, str):
        return scrub(value, secrets)
    if isinstance(value, list):
        return [scrub_within(one, secrets) for one in value] if any(map(_may_hold_text, value)) else value
    if isinstance(value, dict):
        return {scrub(key, secrets): scrub_within(one, secrets) for key, one in value.items()}
    return value


def secrets_around() -> list[str]:
    """Return the values of environment variables whose names are those of secrets, such as OPENAI_API_KEY."""
    return [value for name, value in os.environ.items() if len(value) >= _LEAST and _CALLED.search(name)]


def _may_hold_text(value: Any) -> bool:
    return isinstance(value, (str, list, dict))


@lru_cache(maxsize=64)
def _disguises(secret: str) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return the substrings to look for, in lower case, by size: of the secret itself and of its encodings."""
    whole = "".join(c for c in secret if _shows(c)).lower()
    if len(whole) <= _PIECE:
        return ((len(whole), frozenset({whole})),) if whole else ()
    data = secret.encode("utf-8", "surrogatepass")
    found = [(whole, _PIECE), (data.hex(), 2 * _PIECE)]
    for before in range(3):  # where in a group of three bytes the secret begins, within what was encoded
        coded = b64encode(b"\0" * before + data).decode()
        first, last = -(-before * 4 // 3), (before + len(data)) * 4 // 3  # characters that the secret alone decides
        own = coded[first:last].lower()
        found += [(one, _PIECE + 1) for one in {own, own.replace("+", "-").replace("/", "_")}]
    return tuple((size, frozenset(one[a : a + size] for a in range(len(one) - size + 1))) for one, size in found)


def _shows(character: str) -> bool:
    return character.isprintable() and not character.isspace()


def _read(text: str) -> _Reading:
    places = [i for i, c in enumerate(text) if _shows(c)]
    return _Reading("".join(text[i] for i in places), [(i, i + 1) for i in places])


def _unescape(reading: _Reading) -> _Reading:
    """Undo one layer of the escapes of JSON, HTML and URLs."""
    out: list[str] = []
    spans: list[tuple[int, int]] = []
    at = 0
    for found in _ESCAPE.finditer(reading.characters):
        start, end = found.span()
        out += reading.characters[at:start]
        spans += reading.spans[at:start]
        at = end
        for character in _meant(found):
            if _shows(character):
                out.append(character)
                spans.append((reading.spans[start][0], reading.spans[end - 1][1]))
    return _Reading("".join(out) + reading.characters[at:], [*spans, *reading.spans[at:]])


def _meant(found: re.Match[str]) -> str:
    """Return the characters that an escape stands for."""
    for digits in (1, 2, 3, 4):
        if found[digits]:
            return _character(int(found[digits], 16))
    if found[5]:
        return _character(int(found[5]))
    return html.unescape(found[6]) if found[6] else found[7]


def _character(number: int) -> str:
    return chr(number) if number < 0x110000 else ""


def _mark(hidden: bytearray, reading: _Reading, size: int, pieces: frozenset[str]) -> None:
    """Mark in `hidden` the characters of the text that show one of the pieces."""
    lower = "".join(c.lower() if c.isascii() else c for c in reading.characters)
    for a in range(len(lower) - size + 1):
        if lower[a : a + size] in pieces:
            start, end = reading.spans[a][0], reading.spans[a + size - 1][1]
            hidden[start:end] = b"\x01" * (end - start)


def _blot(text: str, hidden: bytearray) -> str:
    out, at = [], 0
    for found in re.finditer(rb"\x01+", hidden):
        out += [text[at : found.start()], BLOT]
        at = found.end()
    return "".join([*out, text[at:]])
