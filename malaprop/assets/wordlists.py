"""Lists of words of many languages, read as data: base forms of words (simplemma) and frequent words (wordfreq)."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Iterator
from functools import cache

from malaprop.assets import store
from malaprop.core.errors import AssetError

_LISTED_AS = {"hr": "sh", "nn": "nb"}  # languages whose words another one's list has
_MAGIC, _REVERSED = b"SMFC1", 1
_SAME, _WHOLE = 254, 255  # in place of a number of bytes to cut: the value before, or a value of its own


@cache
def frequent_words(code: str) -> dict[str, int]:
    """Return the words of a language in lower case, each with its place in a list from the most frequent on."""
    folder, code = store.locate("frequencies"), _LISTED_AS.get(code, code)
    found = (folder / f"{size}_{code}.msgpack.gz" for size in ("large", "small"))
    path = next((path for path in found if path.is_file()), None)
    if path is None:
        return {}
    _, *groups = _read_packed(gzip.decompress(path.read_bytes()))
    return {word: place for place, word in enumerate(word for group in groups for word in group)}


def is_frequent(word: str, code: str, *, most: int | None = None) -> bool:
    """Whether the word is among the `most` frequent ones of the language's list; true where there is no list."""
    listed = frequent_words(code)
    place = min(listed.get(word.lower(), len(listed)), listed.get(word.casefold(), len(listed)))
    return not listed or place < min(len(listed), most or len(listed))


@cache
def has_base_forms(code: str) -> bool:
    """Whether the language has a list of base forms."""
    return (store.locate("lemmas") / f"{'hbs' if code == 'hr' else code}.plzma").is_file()


def _read_packed(data: bytes) -> list[list[str]]:
    """Return the arrays of strings of a msgpack file, with an empty one for the map at its head."""
    try:
        value, _ = _read_value(data, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise AssetError(
            f"a list of words cannot be read ({error}); fetch it again: malaprop fetch frequencies"
        ) from None
    return value


def _read_value(data: bytes, at: int) -> tuple[list[list[str]], int]:
    """Read the outer array: a map of names and numbers, then arrays of strings."""
    many, at = _read_size(data, at, 0x90, 0xDC)
    out: list[list[str]] = []
    for number in range(many):
        if number == 0:
            at = _skip_map(data, at)
            out.append([])
            continue
        words, at = _read_size(data, at, 0x90, 0xDC)
        group = []
        for _ in range(words):
            first = data[at]
            if first & 0xE0 == 0xA0:
                begin, size = at + 1, first & 0x1F
            elif first == 0xD9:
                begin, size = at + 2, data[at + 1]
            else:
                raise IndexError(f"no string at byte {at}")
            at = begin + size
            group.append(data[begin:at].decode())
        out.append(group)
    return out, at


def _read_size(data: bytes, at: int, short: int, long: int) -> tuple[int, int]:
    """Read the head of an array: its size, and where its first value begins."""
    first = data[at]
    if first & 0xF0 == short:
        return first & 0x0F, at + 1
    if first == long:
        return int.from_bytes(data[at + 1 : at + 3]), at + 3
    if first == long + 1:
        return int.from_bytes(data[at + 1 : at + 5]), at + 5
    raise IndexError(f"no array at byte {at}")


def _skip_map(data: bytes, at: int) -> int:
    """Return where a map of short strings to short strings or small numbers ends."""
    if data[at] & 0xF0 != 0x80:
        raise IndexError(f"no map at byte {at}")
    many, at = data[at] & 0x0F, at + 1
    for _ in range(2 * many):
        at += 1 + (data[at] & 0x1F if data[at] & 0xE0 == 0xA0 else 0)
    return at


@cache
def base_forms(code: str) -> dict[str, str]:
    """Return the base form of each listed form of a language; empty where there is no list."""
    path = store.locate("lemmas") / f"{'hbs' if code == 'hr' else code}.plzma"
    if not path.is_file():
        return {}
    try:
        return dict(_read_front_coded(lzma.decompress(path.read_bytes())))
    except (IndexError, ValueError, lzma.LZMAError) as error:
        raise AssetError(f"{path.name} cannot be read ({error}); fetch it again: malaprop fetch lemmas") from None


def _read_front_coded(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a front-coded file: a key begins like the one before, and a value like its key."""
    if not data.startswith(_MAGIC):
        raise ValueError("not a front-coded list")
    backwards = bool(data[len(_MAGIC)] & _REVERSED)
    _, at = _read_number(data, len(_MAGIC) + 1)
    key = value = b""
    end = len(data)
    while at < end:
        shared, at = _read_number(data, at)
        size, at = _read_number(data, at)
        key = key[:shared] + data[at : at + size]
        at += size
        cut, at = data[at], at + 1
        if cut != _SAME:
            size, at = _read_number(data, at)
            rest = data[at : at + size]
            value = rest if cut == _WHOLE else key[: len(key) - cut] + rest
            at += size
        yield (key[::-1].decode(), value[::-1].decode()) if backwards else (key.decode(), value.decode())


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first."""
    found = shift = 0
    while True:
        byte = data[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return found, at
