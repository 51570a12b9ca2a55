"""Which texts are shown: drawn by the seed, as even over systems as the records allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.features.humans.changes import Fields
from malaprop.features.humans.questions import Question
from malaprop.features.humans.sources import Sources, StudySource

ORIGINAL = -1  # the system of a control: nobody changed it


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedItem:
    """One thing to judge: `texts` come from `systems`, number by number; `expected` is set for a check alone."""

    question: str
    source: str
    label: int
    systems: tuple[int, ...]
    texts: tuple[Fields, ...]
    original: Fields | None = None
    expected: str | None = None
    image: bool = False  # its field `image` is a picture


def draw(question: Question, found: Sources, many: int, seed: int) -> list[RatedItem]:
    """At most `many` items of a question."""
    _refuse(question, found)
    order = generator(seed, "draw", question.name).permutation(len(found.sources))
    shuffled = [found.sources[i] for i in order]
    if question.shape == "pair":
        return list(_pairs(question, shuffled, len(found.systems), many))
    controls = () if question.original else (ORIGINAL,)
    systems = (*range(len(found.systems)), *controls)
    # A label is judged once a text, as one who saw the original would know the answer; naturalness is judged of the
    # same texts under every system, so that they can be compared pair by pair.
    once = question.shape == "label"
    return list(_singles(question, shuffled, systems, many, once))


def _refuse(question: Question, found: Sources) -> None:
    if question.shape == "pair" and len(found.systems) < 2:
        (only,) = found.systems
        raise SettingError(
            f"{question.name} compares texts of two recipes or victims, and these runs hold one ({only.recipe} on "
            f"{only.victim}); add a run of another, or ask label, naturalness or meaning"
        )
    if question.shape == "label" and len(found.labels) < 2:
        raise SettingError("label needs runs with the same two or more labels; export runs of one dataset at a time")


def _text(source: StudySource, system: int) -> Fields | None:
    return source.original if system == ORIGINAL else source.broken.get(system)


def _singles(
    question: Question, shuffled: Sequence[StudySource], systems: Sequence[int], many: int, once: bool
) -> Iterator[RatedItem]:
    # Sources that few systems broke go first where each serves once, or their systems find none left; else last.
    ranked = sorted(shuffled, key=lambda s: len(s.broken) if once else -len(s.broken))
    usable = [s for s in ranked if s.broken] if not once else ranked
    queues = {system: iter([s for s in usable if _text(s, system) is not None]) for system in systems}
    counts, used = dict.fromkeys(queues, 0), set[str]()
    while queues and sum(counts.values()) < many:
        system = min(queues, key=lambda s: (counts[s], s == ORIGINAL, s))
        source = next((s for s in queues[system] if s.key not in used), None)
        if source is None:
            del queues[system]
            continue
        if once:
            used.add(source.key)
        text = _text(source, system)
        assert text is not None
        counts[system] += 1
        yield RatedItem(
            question=question.name,
            source=source.key,
            label=source.label,
            systems=(system,),
            texts=(text,),
            original=source.original if question.original else None,
        )


def _pairs(question: Question, shuffled: Sequence[StudySource], systems: int, many: int) -> Iterator[RatedItem]:
    queues = {}
    for pair in combinations(range(systems), 2):
        both = [s for s in shuffled if all(n in s.broken for n in pair) and s.broken[pair[0]] != s.broken[pair[1]]]
        queues[pair] = iter(both)
    counts, empty = dict.fromkeys(queues, 0), True
    while queues and sum(counts.values()) < many:
        pair = min(queues, key=lambda p: (counts[p], p))
        source = next(queues[pair], None)
        if source is None:
            del queues[pair]
            continue
        counts[pair] += 1
        empty = False
        yield RatedItem(
            question=question.name,
            source=source.key,
            label=source.label,
            systems=pair,
            texts=(source.broken[pair[0]], source.broken[pair[1]]),
            original=source.original if question.original else None,
        )
    if empty:
        raise SettingError(
            f"{question.name} compares two changed forms of one text, and no text was broken by two of these runs in "
            "different ways; run both on the same examples (same --data, --n and --seed)"
        )
