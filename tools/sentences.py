"""Checks the prose of README and docs: `python tools/sentences.py [PAGE...]`; exit code 1 where a page needs rewriting.

Three rules. No sentence has more than 40 words, and the sentences of a page have fewer than 20 on average. No page uses
a phrase that tools/words.toml lists as a riddle. A page may use a term of our own only where docs/glossary.md has it.

Code, tables, headings and comments are not prose. Inline code counts as one word, a link as its text, and figures in
brackets, such as (624/1000, 59.4-65.4), as none.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
LONGEST, MEAN = 40, 20

_SPARED = re.compile(  # what is not prose: front matter, comments, code between fences
    r"\A---\n.*?^---$|<!--.*?-->|^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL
)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")  # a list item begins a new block
_OTHER = re.compile(r"^\s*(?:#|\||<|!!!|\?\?\?|===|:::|\[\^?[\w-]+\]:|-{3,}\s*$)")  # headings, tables, HTML, directives
_SHORT = re.compile(r"\b(?:et al|e\.g|i\.e|cf|vs|etc|Fig|Eq|Sec|No|approx|resp|St|Dr|Mr)\.$")
_END = re.compile(r" ·(?= )|[.!?]['\")\]*_]*(?=\s+['\"(\[*_]*[A-Z0-9`])")
_FIGURES = re.compile(r"\([\d\s.,;:%/+±x*^=<>~-]*(?:\bto\b[\d\s.,;:%/+-]*)*\)")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a page, as a reader sees it, and the line it begins on."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return len([part for part in _FIGURES.sub("", self.text).split() if re.search(r"\w", part)])


def _blank(found: re.Match[str]) -> str:
    return "\n" * found.group().count("\n")


def _show(markdown: str) -> str:
    """The text of a paragraph as a reader sees it: code as one word, links and pictures as their text."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "CODE", markdown, flags=re.DOTALL)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)(?:\{[^}]*\})?", r"\1", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    return re.sub(r"<[^>\s][^>]*>|\*+|(?<!\w)_+|_+(?!\w)", "", text)


def blocks(page: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and list items with the line they begin on."""
    start, held = 0, list[str]()
    lines = _SPARED.sub(_blank, page).splitlines()
    for number, line in enumerate([*lines, ""], 1):
        ends = not line.strip() or _OTHER.match(line) or _ITEM.match(line)
        if ends and held:
            yield start, " ".join(held)
            held = []
        if line.strip() and not _OTHER.match(line):
            start = start if held else number
            held.append(_ITEM.sub("", line).strip())


def sentences(page: str) -> Iterator[Sentence]:
    """Every sentence of the prose of a page."""
    for line, block in blocks(page):
        text, begin = _show(block), 0
        for end in _END.finditer(text):
            if _SHORT.search(text[begin : end.start() + 1]):
                continue
            yield Sentence(line, text[begin : end.end()].strip())
            begin = end.end()
        if text[begin:].strip():
            yield Sentence(line, text[begin:].strip())


def terms(glossary: str) -> set[str]:
    """The terms that the glossary explains, in small letters: bold at the start of an entry, or in italics within."""
    bold = re.findall(r"^\*\*(.+?)\*\*", glossary, re.MULTILINE)
    explained = re.findall(r"(?<!\*)\*([a-z][a-z ]+)\*(?!\*)", glossary)
    return {term.strip().lower() for entry in (*bold, *explained) for term in entry.split(",")}


def _find(phrase: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}(?:s|es)?\b", text, re.IGNORECASE) is not None


def check(page: str, known: set[str], words: dict[str, dict[str, str]]) -> list[str]:
    """What is wrong with a page, each as `LINE: what`."""
    found = list(sentences(page))
    faults = [f"{s.line}: {s.words} words: {s.text}" for s in found if s.words > LONGEST]
    if found and (mean := sum(s.words for s in found) / len(found)) >= MEAN:
        faults.append(f"1: sentences have {mean:.1f} words on average; at most {MEAN}")
    for one in found:
        faults += [
            f"{one.line}: {riddle!r} is hard to understand; write {better!r}"
            for riddle, better in words["riddles"].items()
            if _find(riddle, one.text)
        ]
        faults += [
            f"{one.line}: {term!r} is our own word ({meaning}); explain it in docs/glossary.md, or use the field's"
            for term, meaning in words["terms"].items()
            if term.lower() not in known and _find(term, one.text)
        ]
    return faults


def main(pages: list[str]) -> int:
    words = tomllib.loads((ROOT / "tools" / "words.toml").read_text(encoding="utf-8"))
    known = terms(GLOSSARY.read_text(encoding="utf-8"))
    paths = [Path(page).resolve() for page in pages] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    failed = False
    for path in paths:
        for fault in check(path.read_text(encoding="utf-8"), known, words):
            print(f"{path.relative_to(ROOT)}:{fault}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
