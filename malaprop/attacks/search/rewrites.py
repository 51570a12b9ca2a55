"""Rewrites: changes of one word or several, from small tables, that keep the meaning of a text about the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Scored, ranked
from malaprop.core.text import Text
from malaprop.core.variants import Variants

Kind = Literal["contractions", "names", "places", "numbers"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_TABLES = ("names", "places", "numbers")
_LONGEST = 3  # the most words of a name: Rio de Janeiro
_DIGITS = 9  # the most digits of a number
_NUMBERS = 41  # the most numbers among which replacements are drawn
Edit = dict[int, str]  # the new word of each slot; an empty word deletes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrites:
    """Queries all rewrites of a text and applies them by gain until the goal is reached (Ribeiro et al. 2020).

    They are the paper's invariance tests; a word changes once. Contractions are written out, and the other way round;
    names of people, names of places, and numbers become others of their kind, `each` of them drawn by the seed; numbers
    at most `spread` of themselves away. With `everywhere` a name changes in all its places. With `again` the remaining
    rewrites are queried again after each step, and the best is applied whether it gains or not.
    """

    kinds: tuple[Kind, ...] = _KINDS
    each: int = 3
    spread: float = 0.2
    everywhere: bool = True
    again: bool = False

    def __post_init__(self) -> None:
        if not self.kinds or any(kind not in _KINDS for kind in self.kinds):
            raise SettingError(f"Rewrites.kinds takes some of {', '.join(_KINDS)}, got {self.kinds}")
        if self.each < 1:
            raise SettingError(f"Rewrites.each must be at least 1, got {self.each}")
        if not 0 < self.spread <= 1:
            raise SettingError(f"Rewrites.spread must lie in (0, 1], got {self.spread}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now, left = start, self.list_edits(trial, space.slots.tolist())
        if not left:
            return trial.held or start
        (first,) = yield from trial.score([_vary(now.text, left)])
        (found,) = yield from trial.choose([first], [None])
        if not self.again:
            left = _order(first, left)
        while found is not None:
            now = found
            changed = {*now.text.changed(trial.origin).tolist()}
            left = [edit for edit in left if not changed & edit.keys()]
            if now.reached or not left:
                break
            (scored,) = yield from trial.score([_vary(now.text, left if self.again else left[:1])])
            (found,) = yield from trial.choose([scored], [None if self.again else now.value])
            if found is None and not self.again:
                found, left = now, left[1:]
        return trial.held or start

    def list_edits(self, trial: Trial, slots: Sequence[int]) -> list[Edit]:
        """Return every rewrite of the original that changes these slots alone, each once."""
        code = trial.language.code
        phrases = list(_phrases(trial.origin, slots, code))
        found: list[Edit] = []
        if not phrases:
            return found
        if "contractions" in self.kinds:
            found += _contract(phrases, code)
        if "numbers" in self.kinds:
            found += self._renumber(trial, phrases)
        cased = any(map(str.isupper, trial.shown(trial.origin)))
        for kind in ("names", "places"):
            if kind in self.kinds:
                found += self._rename(trial, phrases, kind, cased=cased)
        return found

    def _renumber(self, trial: Trial, phrases: Sequence[_Phrase]) -> Iterator[Edit]:
        for slots, phrase in phrases:
            if len(slots) > 1:
                continue
            others = _near_numbers(phrase, self.spread) or _groups("numbers", trial.language.code).get(
                phrase.lower(), ()
            )
            drawn = self._draw(trial, others, "numbers", str(slots[0]))
            yield from ({slots[0]: recase(other, phrase)} for other in drawn)

    def _rename(self, trial: Trial, phrases: Sequence[_Phrase], kind: str, *, cased: bool) -> Iterator[Edit]:
        """Yield exchanges of each name in all its places; in a text with capitals, a lower-case word is not a name."""
        groups, held = _groups(kind, trial.language.code), dict[tuple[str, int], list[tuple[Sequence[int], str]]]()
        taken: set[int] = set()
        for slots, phrase in sorted(phrases, key=lambda one: -len(one[0])):
            name, owner = _split_owner(phrase)
            if name.lower() in groups and (not cased or name[:1].isupper()) and not taken & {*slots}:
                key = (name.lower(), 0 if self.everywhere else slots[0])
                held.setdefault(key, []).append((slots, owner))
                taken |= {*slots}
        for (name, at), spots in sorted(held.items()):
            for other in self._draw(trial, groups[name], kind, name, str(at)):
                written = other if cased else other.lower()
                edit: Edit = {}
                for slots, owner in spots:
                    edit |= {slots[0]: written + owner, **dict.fromkeys(slots[1:], "")}
                yield edit

    def _draw(self, trial: Trial, others: Sequence[str], *names: str) -> list[str]:
        """Draw `each` of the others by a random generator of these names; return all where they are no more."""
        if len(others) <= self.each:
            return list(others)
        rng = trial.generator("rewrites", *names)
        return [others[i] for i in sorted(rng.choice(len(others), self.each, replace=False).tolist())]


_Phrase = tuple[Sequence[int], str]  # adjacent slots, and their words


def _phrases(text: Text, slots: Sequence[int], code: str) -> Iterator[_Phrase]:
    """Yield runs of one to three open words, separated by white space alone, that may be in one of the tables."""
    strings, gaps = text.strings, [text.table.strings[i] for i in text.parts[0::2].tolist()]
    open_slots = {*slots}
    for slot in slots:
        if not _may_begin(strings[slot], code):
            continue
        for end in range(slot + 1, slot + 1 + _LONGEST):
            row = range(slot, end)
            if not {*row} <= open_slots or not all(gaps[s].isspace() for s in row[1:]):
                break
            yield row, " ".join(strings[s] for s in row)


@lru_cache(maxsize=1 << 14)
def _may_begin(word: str, code: str) -> bool:
    """Whether a phrase of a table, or a number, can begin with this word; few words do."""
    low = _straighten(word)
    first = _first_words(code)
    return low in first or _split_owner(low)[0] in first or (low.isascii() and low.isdigit())


@cache
def _first_words(code: str) -> frozenset[str]:
    """Return the first word of each phrase in the tables of a language."""
    longer, shorter = _contractions(code)
    phrases = [*longer, *shorter, *(one for kind in _TABLES for one in _groups(kind, code))]
    return frozenset(word for one in phrases for word in one.split()[:1])


def _straighten(phrase: str) -> str:
    """Return a phrase in lower case, with the apostrophe that the tables have."""
    return phrase.lower().replace("’", "'")  # noqa: RUF001


@cache
def _contractions(code: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the long form of each contraction, and the contraction of each long form."""
    from malaprop.assets.alike import contractions

    longer = contractions(code)
    return longer, {long: short for short, long in longer.items()}


def _contract(phrases: Sequence[_Phrase], code: str) -> Iterator[Edit]:
    longer, shorter = _contractions(code)
    for slots, phrase in phrases:
        plain = _straighten(phrase)
        for other in filter(None, (longer.get(plain), shorter.get(plain))):
            yield {slots[0]: _keep_case(other, phrase), **dict.fromkeys(slots[1:], "")}


def _keep_case(other: str, like: str) -> str:
    """Write a phrase in the case of another: I'm becomes I am, i'm becomes i am, CAN'T becomes CANNOT."""
    return other.upper() if like.isupper() and len(like.replace("'", "")) > 2 else recase(other, like[:1])


def _split_owner(phrase: str) -> tuple[str, str]:
    """Split a phrase into a name and the 's behind it, empty where there is none."""
    for mark in ("'s", "’s"):  # noqa: RUF001
        if phrase.lower().endswith(mark):
            return phrase[:-2], phrase[-2:]
    return phrase, ""


def _near_numbers(word: str, spread: float) -> tuple[str, ...]:
    """Return whole numbers within a share of one in digits; none for 2 and 4, which may stand for words."""
    if not (word.isascii() and word.isdigit()) or word[0] == "0" or len(word) > _DIGITS or word in ("2", "4"):
        return ()
    number = int(word)
    step = int(spread * number) + 1
    low, many = max(1, number - step), min(2 * step + 1, _NUMBERS)
    others = {low + i * (number + step - low) // (many - 1) for i in range(many)} - {number}
    return tuple(map(str, sorted(others)))


@cache
def _groups(kind: str, code: str) -> dict[str, tuple[str, ...]]:
    """Return for each name of a language, in lower case, the others of its kind."""
    from malaprop.assets import alike

    tables: dict[str, Callable[[str], tuple[tuple[str, ...], ...]]]
    tables = {"names": alike.names, "places": alike.places, "numbers": alike.numbers}
    groups = tables[kind](code)
    return {one.lower(): tuple(other for other in group if other != one) for group in groups for one in group}


def _order(scored: Scored, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits by their values, best first, without those that a constraint or the budget kept from a query."""
    texts = {text.words.tobytes(): value for text, value in zip(scored.variants.texts(), scored.values, strict=True)}
    made = [text.words.tobytes() for text in _vary(scored.variants.base, edits).texts()]
    known = [i for i, key in enumerate(made) if key in texts]
    values = np.asarray([texts[made[i]] for i in known], np.float32)
    return [edits[known[i]] for i in ranked(values).tolist()] if known else []


def _vary(base: Text, edits: Sequence[Edit]) -> Variants:
    """Return the base with each of these edits, as variants."""
    words = base.table.ids([word for edit in edits for word in edit.values()])
    slots = np.asarray([slot for edit in edits for slot in edit], np.int64)
    rows = np.repeat(np.arange(len(edits)), [len(edit) for edit in edits])
    return Variants(base, slots, words, rows, len(edits))
