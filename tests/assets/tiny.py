"""A WordNet of a dozen words, written as its database files."""

from __future__ import annotations

from pathlib import Path

from malaprop.assets.wordnet import WordNet, convert

# offset, kind, words, pointers (target offset, kind, from word, to word, and a symbol where it is no antonym)
SYNSETS = {
    "noun": [
        ("00000001", "n", ["film", "movie", "motion_picture"], []),
        ("00000002", "n", ["film", "cinema"], []),
        ("00000003", "n", ["dog"], []),
        ("00000004", "n", ["ox"], []),
        ("00000005", "n", ["Paris", "French_capital"], []),
    ],
    "verb": [("00000001", "v", ["film", "shoot"], []), ("00000002", "v", ["run", "go"], [])],
    "adj": [
        ("00000001", "a", ["good"], [("00000002", "a", 1, 1)]),
        ("00000002", "a", ["bad"], [("00000001", "a", 1, 1)]),
        ("00000003", "s", ["good", "nice(p)"], []),
    ],
    "adv": [("00000001", "r", ["well", "good"], [])],
}
EXCEPTIONS = {"noun": "oxen ox\n", "verb": "went go\nran run\n", "adj": "better good\n", "adv": ""}
COUNTS = "film%1:10:00:: 1 7\nfilm%1:06:00:: 2 2\nfilm%2:36:00:: 1 1\nnice%5:00:00:good:00 1 4\nodd%1:00:00:: 1 9\n"
LICENCE = "  1 This software and database is being provided to you\n"


def files(known: dict[str, list[tuple]] = SYNSETS) -> dict[str, bytes]:
    out = {"cntlist.rev": COUNTS}
    for name, synsets in known.items():
        index: dict[str, list[str]] = {}
        lines = []
        for offset, kind, words, against in synsets:
            named = "".join(f"{word} 0 " for word in words)
            pointers = "".join(
                f"{mark[0] if mark else '!'} {to} {what} {one:02x}{two:02x} " for to, what, one, two, *mark in against
            )
            lines.append(f"{offset} 00 {kind} {len(words):02x} {named}{len(against):03d} {pointers}| a gloss ! 0101")
            for word in words:
                index.setdefault(word.partition("(")[0].lower(), []).append(offset)
        part = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}[name]
        rows = [f"{w} {part} {len(o)} 1 ! {len(o)} 0 {' '.join(o)}  " for w, o in sorted(index.items())]
        out[f"data.{name}"] = LICENCE + "\n".join(lines) + "\n"
        out[f"index.{name}"] = LICENCE + "\n".join(rows) + "\n"
        out[f"{name}.exc"] = EXCEPTIONS[name]
    return {name: text.encode() for name, text in out.items()}


def wordnet(folder: Path, known: dict[str, list[tuple]] = SYNSETS) -> WordNet:
    from io import BytesIO

    convert({name: (lambda data=data: BytesIO(data)) for name, data in files(known).items()}, folder)
    return WordNet(folder)
