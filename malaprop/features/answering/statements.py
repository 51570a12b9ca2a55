"""Make a misleading sentence of a question, by rules: other names, numbers and antonyms, and an answer of its own.

After AddSent (Jia and Liang 2017). The sentence looks as if it answered the question, and speaks of something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from malaprop.assets.alike import names, numbers, places
from malaprop.core.errors import AssetError

_WH = ("what", "which", "who", "whom", "whose", "where", "when", "why", "how")
_DO = ("do", "does", "did")
_BE = ("is", "are", "was", "were")
_OF = ("city", "country", "state", "town", "village", "river", "island", "month", "province", "county")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_THINGS = (
    "a wooden bridge", "the northern harbour", "green paint", "the old choir", "a salt mine", "the second violin",
    "copper wire", "a walled garden",
)  # fmt: skip
_BEFORE = ("ADP", "PART")  # parts of speech of a preposition; a tagger takes "to" for a particle
_WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*")
Span = tuple[int, int]


def spans_of(question: str) -> list[Span]:
    """Return where the words of a question stand, in order."""
    return [found.span() for found in _WORD.finditer(question)]


@cache
def _antonyms() -> Mapping[str, str]:
    """Return an antonym of each word that has one in WordNet; nothing where WordNet is not there."""
    from malaprop.assets.wordnet import open_wordnet

    try:
        return dict(reversed(open_wordnet().antonyms()))
    except AssetError:
        return {}


def _pick(group: Sequence[str], own: str, rng: np.random.Generator) -> str:
    others = [word for word in group if word != own]
    return others[int(rng.integers(len(others)))]


def _alike(word: str, rng: np.random.Generator) -> str:
    """Return another name of the same kind, or another number; an empty string where the word is neither."""
    for group in (*names(), *places(), *numbers(), _MONTHS):
        if word in group:
            return _pick(group, word, rng)
    if not re.search(r"\d", word):
        return ""
    if re.fullmatch(r"1\d{3}|20\d{2}", word):  # a year
        return str(int(word) - int(rng.integers(3, 90)))
    shift = int(rng.integers(1, 9))
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + shift) % 9 + 1), word)


def change_words(words: Sequence[str], tags: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return a question's words with other names and numbers, and antonyms of its nouns and adjectives."""
    out = []
    for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
        new = _alike(word, rng)
        if not new and place and word[:1].isupper() and word.lower() not in _WH:
            new = _pick(names()[-1], word, rng)
        if not new and tag in ("NOUN", "ADJ"):
            new = _antonyms().get(word.lower(), "")
        out.append(new or word)
    return out


def fake_answer(true: str, question: Sequence[str], rng: np.random.Generator) -> str:
    """Return another answer of the kind of the true one."""
    words = true.split()
    changed = [_alike(word.strip(",.;"), rng) for word in words]
    if any(changed):
        return " ".join(new or word for new, word in zip(changed, words, strict=True))
    asked = {word.lower() for word in question}
    *firsts, families = names()
    if not any(word[:1].isupper() for word in words):
        return _pick(_THINGS, true, rng)
    if asked & {"who", "whom", "whose"}:
        return f"{_pick(firsts[int(rng.integers(len(firsts)))], true, rng)} {_pick(families, true, rng)}"
    if asked & {"where", *_OF}:
        return _pick(places()[-1], true, rng)
    return f"{_pick(families, true, rng)} {_pick(families, true, rng)}"


def make_statement(words: Sequence[str], tags: Sequence[str], answer: str) -> str:
    """Return the statement that answers a question so; an empty string for a question of another form."""
    at = next((i for i, word in enumerate(words) if word.lower() in _WH), -1)
    if at < 0:
        return ""
    verb = next((i for i in range(at + 1, len(words)) if tags[i] in ("AUX", "VERB")), -1)
    if verb < 0:
        return ""
    asks = words[at].lower()
    if asks == "why" or (asks == "how" and words[at + 1].lower() not in ("many", "much")):
        return ""  # the answer is no name, number or thing
    before, asked = list(words[:at]), [word for word in words[at + 1 : verb] if word.lower() not in ("many", "much")]
    filler = _fill(asks, asked, answer)
    rest, marks = list(words[verb:]), list(tags[verb:])
    if rest[0].lower() not in (*_DO, *_BE, "has", "had", "have", "can", "could", "will", "would"):
        found = [*before, filler, *rest]  # who wrote it
    else:
        found = _turn(before, filler, rest, marks, adverb=asks in ("where", "when"))
    text = " ".join(found)
    return text[:1].upper() + text[1:]


def _fill(asks: str, asked: Sequence[str], answer: str) -> str:
    """Return the answer as a part of the sentence, with the noun that the question asks for."""
    if not asked:
        return answer
    noun = " ".join(asked)
    if asks in ("how", "whose"):
        return f"{answer} {noun}"
    return f"the {noun} of {answer}" if asked[-1].lower() in _OF else f"the {noun} {answer}"


def _turn(before: list[str], filler: str, rest: list[str], marks: list[str], *, adverb: bool) -> list[str]:
    """Return the words of a question whose auxiliary stands before its subject, in the order of a statement."""
    auxiliary, tail = rest[0], rest[1:]
    verb = next((i for i, tag in enumerate(marks[1:]) if tag in ("VERB", "AUX")), -1)
    place = ["in", filler] if adverb else [filler]
    if verb == 0:  # who was elected; what has changed
        return [*before, filler, auxiliary, *tail]
    if verb < 0:  # what is the name of the river; where is the bridge
        return [*before, *tail, auxiliary, *place]
    subject, said = tail[:verb], tail[verb:]
    if before:  # in what year did the war end
        return [*subject, auxiliary, *said, *before, filler]
    kinds = marks[1 + verb :]
    stranded = [i for i, kind in enumerate(kinds) if kind in _BEFORE and kinds[i + 1 : i + 2] in ([], ["ADP"])]
    if adverb:
        return [*subject, auxiliary, *said, *place]
    cut = stranded[0] + 1 if stranded else 1
    return [*subject, auxiliary, *said[:cut], *place, *said[cut:]]
