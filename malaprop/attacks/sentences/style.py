"""Sentences of a text, and how they are written: as prose for models, and back in the style of the original."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.text import word_pattern

_END = re.compile(r"(?<=[.!?])['\")\]]*\s+(?=\S)|\n+")
_SHORT = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Inc|Corp|Co|Ltd|vs|No|Jr|Sr|Gen|Rep|Sen|Gov)|\b[A-Z]|\.\s?\.)\.$")
_BEFORE = re.compile(r"\s+([,.;:!?%)\]]|n't\b|'(?:s|re|ve|ll|d|m)\b)")
_BEHIND = re.compile(r"([(\[])\s+")
_APART = re.compile(r"(?<=\S)([,;:!?)\]](?!\d)|\.(?=[\s.'\")]|$))")
_MARKS = ".!?"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a field, as characters `start` to `end` of it; `first` and `last` say where it stands there."""

    text: str
    field: str
    start: int
    end: int
    first: bool
    last: bool


def list_sentences(fields: Mapping[str, str], open_fields: Sequence[str], *, whole: bool = False) -> list[Sentence]:
    """Return the sentences of the open fields that hold a word, in order; with `whole` a field is one sentence."""
    out: list[Sentence] = []
    for name in open_fields:
        value = fields[name]
        spans = [(0, len(value))] if whole else list(_cut(value))
        held = []
        for start, end in spans:
            body = value[start:end]
            start += len(body) - len(body.lstrip())
            if word_pattern().search(body):
                held.append((start, start + len(body.strip())))
        out += [
            Sentence(value[a:b], name, a, b, number == 0, number == len(held) - 1) for number, (a, b) in enumerate(held)
        ]
    return out


def _cut(value: str) -> Iterable[tuple[int, int]]:
    begin = 0
    for found in _END.finditer(value):
        if _SHORT.search(value[begin : found.start()]):
            continue
        yield begin, found.end()
        begin = found.end()
    yield begin, len(value)


def put_sentences(value: str, changed: Mapping[Sentence, str]) -> str:
    """Return the string of a field with these of its sentences replaced."""
    for sentence in sorted(changed, key=lambda one: -one.start):
        value = value[: sentence.start] + changed[sentence] + value[sentence.end :]
    return value


def write_as_prose(sentence: str) -> str:
    """Return a sentence as people write it: a capital, and no spaces before marks; models expect that."""
    plain = _BEHIND.sub(r"\1", _BEFORE.sub(r"\1", " ".join(sentence.split())))
    if not any(map(str.isupper, plain)):
        plain = re.sub(r"\bi\b", "I", plain[:1].upper() + plain[1:])
    return plain


def write_like(made: str, original: str) -> str:
    """Return a rewritten sentence in the style of the original: its case, its spaces before marks, its end."""
    text = " ".join(made.split()).strip("\"'`* ") if not original.lstrip().startswith(('"', "'")) else made.strip()
    if not any(map(str.isupper, original)):
        text = text.lower()
    elif original[:1].islower() and text[:2].istitle():
        text = text[:1].lower() + text[1:]
    elif original[:1].isupper():
        text = text[:1].upper() + text[1:]
    end = original.rstrip()[-1:]
    if end not in _MARKS:
        text = text.rstrip(_MARKS + " ")
    elif text.rstrip()[-1:] not in _MARKS:
        text = text.rstrip(" ,;:") + end
    if _is_spaced(original):
        text = re.sub(r"([(\[])(?=\S)", r"\1 ", _APART.sub(r" \1", text))
    return " ".join(text.split())


def _is_spaced(sentence: str) -> bool:
    return re.search(r"\w [.,;:!?](?:\s|$)", sentence) is not None


def list_words(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case."""
    return [found.lower() for found in word_pattern().findall(sentence)]


def keep_rewrites(made: Iterable[str], original: str, *, longest: float = 2.5) -> list[str]:
    """Return the rewrites that can stand for a sentence, in its style, each once.

    Left out: those of the same words, without words, and those that ramble, of more than `longest` times the words.
    """
    here = list_words(original)
    found: dict[str, None] = {}
    for one in made:
        text = write_like(one, original) if one.strip() else ""
        words = list_words(text)
        if words and words != here and len(words) <= longest * len(here) + 3:
            found.setdefault(text)
    return list(found)
