"""Strings from ordinary words to the corners of Unicode."""

from __future__ import annotations

import random

HOSTILE = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\t\n\r\x0b\x0c\x85\u2028",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈",
    "e\u0301\u0301 \u0301alone",
    "שלום עולם, مرحبا بالعالم",
    "\u202eabc\u202c",
    "\ufeffbom",
    "zero\u200bwidth",
    "...!?--''",
    "' ' '",
    "𝒻𝒶𝓃𝒸𝓎 ﬁ ß İ",
    "\U0010ffff\ue000",
]


def fuzzed(rng: random.Random) -> str:
    """A string of random pieces, from ordinary words to the corners of Unicode."""
    pools = ("abc XYZ  '-.,", "\u0300\u0301\u200d\ufe0f\u0940", "👍🏽👩🚀", "אבג مرح", "\x00\t\n\x7f", "中文字")
    out = []
    for _ in range(rng.randrange(12)):
        kind = rng.randrange(9)
        if kind < 6:
            out.append("".join(rng.choice(pools[kind]) for _ in range(rng.randrange(1, 7))))
        elif kind == 6:
            out.append(rng.choice(HOSTILE))
        else:
            code = rng.randrange(0x110000)
            out.append(chr(code) if not 0xD800 <= code < 0xE000 else "x")
    return "".join(out)
