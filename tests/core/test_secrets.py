"""A secret is taken out of a text whatever was done to it, and the rest stays."""

from __future__ import annotations

import html
import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malaprop.core.secrets import scrub, scrub_within, secrets_around

PIECE = 6
PRINTABLE = "".join(map(chr, range(33, 127)))
KEYS = st.one_of(
    st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", min_size=8, max_size=60),
    st.text(PRINTABLE, min_size=8, max_size=40),
)
WAYS = {
    "plain": lambda key: key,
    "upper": str.upper,
    "lower": str.lower,
    "json": lambda key: json.dumps(key)[1:-1],
    "json, all": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "json, some": lambda key: "".join(f"\\u{ord(c):04X}" if i % 2 else c for i, c in enumerate(key)),
    "python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    "url": lambda key: quote(key, safe=""),
    "url, all": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "url, twice": lambda key: quote("".join(f"%{ord(c):02x}" for c in key), safe=""),
    "html": html.escape,
    "html, all": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "html, hexadecimal": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "html in json": lambda key: json.dumps("".join(f"&#{ord(c)};" for c in key))[1:-1],
    "spaced": lambda key: "\n ".join(key),
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a user": lambda key: urlsafe_b64encode(f"me:{key}\n".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
}


def readings(text: str) -> set[str]:
    """What a person with patience could make of a text."""
    seen = {text, "".join(text.split())}
    for _ in range(3):
        for one in list(seen):
            seen |= {html.unescape(one), unquote(one), _unicode(one)}
    for one in list(seen):
        for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", one):
            plain = run.replace("-", "+").replace("_", "/")
            for at in range(4):
                part = plain[at : at + (len(plain) - at) // 4 * 4]
                seen.add(b64decode(part).decode("latin-1"))
        for run in re.findall(r"[0-9a-fA-F]{12,}", one):
            seen |= {bytes.fromhex(run[at:][: (len(run) - at) // 2 * 2]).decode("latin-1") for at in (0, 1)}
    return seen


def _unicode(text: str) -> str:
    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))", lambda m: chr(int(m[1] or m[2], 16)), text)


def shows(text: str, key: str) -> str | None:
    """A piece of the key that can be read in a text."""
    pieces = {key[a : a + PIECE].lower() for a in range(len(key) - PIECE + 1)}
    return next((p for one in readings(text) for p in pieces if p in one.lower()), None)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=30)
@given(key=KEYS, before=st.text(max_size=12), behind=st.text(max_size=12))
def test_nothing_of_the_key_is_left(way, key, before, behind):
    said = f"{before} bad key {WAYS[way](key)} {behind}"
    assert shows(scrub(said, [key]), key) is None


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=30)
@given(key=KEYS, cut=st.tuples(st.integers(0, 200), st.integers(0, 200)))
def test_nor_where_it_was_cut(way, key, cut):
    said = WAYS[way](key)
    start, end = sorted(c % (len(said) + 1) for c in cut)
    assert shows(scrub(f"x {said[start:end]} y", [key]), key) is None


@given(st.text(alphabet="abcdefgh .,;%&\\#", max_size=80))
def test_what_holds_no_secret_stays_as_it_is(text):
    assert scrub(text, ["SK-0123456789"]) == text
    assert scrub(text, []) == text
    assert scrub(text, [""]) == text


def test_the_rest_can_be_read():
    key = "SK-live-0123456789"
    assert scrub(f"Incorrect key {key}: ask for another", [key]) == "Incorrect key ...: ask for another"
    assert scrub("no host is called sk-live-0123456789.example", [key]) == "no host is called ....example"
    assert scrub("your key SK-live*******", [key]) == "your key ...*******"
    assert scrub("abc is short, abd is not", ["abc"]) == "... is short, abd is not"


def test_values_from_json_keep_their_numbers():
    key = "1234567"
    found = scrub_within({"scores": [[0.1234567, 1]], key: [f"is {key}", None, True]}, [key])
    assert found == {"scores": [[0.1234567, 1]], "...": ["is ...", None, True]}


def test_variables_that_are_called_as_secrets_are(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh")
    monkeypatch.setenv("MY_KEYBOARD", "qwertyuiop")
    monkeypatch.setenv("SHORT_TOKEN", "on")
    found = secrets_around()
    assert "sk-abcdefgh" in found
    assert not {"qwertyuiop", "on"} & set(found)
