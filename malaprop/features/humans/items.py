"""The items of a study: texts sampled evenly over systems, attention checks, raters' lists, and how to show an item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.png import address, is_address, picture_of
from malaprop.core.seeds import generator
from malaprop.features.humans.questions import QUESTIONS, SCALE, SIDES, Question, choices
from malaprop.features.humans.sources import IMAGE, Fields, Sources, StudySource

ORIGINAL = -1  # the system of a control: nobody changed it


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedItem:
    """One item to judge: text i comes from system i of `systems`; `expected` is the answer of an attention check."""

    question: str
    source: str
    label: int
    systems: tuple[int, ...]
    texts: tuple[Fields, ...]
    original: Fields | None = None
    expected: str | None = None
    image: bool = False  # its field `image` is a picture


def draw(question: Question, found: Sources, many: int, seed: int) -> list[RatedItem]:
    """Sample at most `many` items of a question, as evenly over systems as the records allow."""
    _check_fits(question, found)
    order = generator(seed, "draw", question.name).permutation(len(found.sources))
    shuffled = [found.sources[i] for i in order]
    if question.shape == "pair":
        return list(_pairs(question, shuffled, len(found.systems), many))
    controls = () if question.original else (ORIGINAL,)
    systems = (*range(len(found.systems)), *controls)
    # Each text gets a label question once, as a rater who saw the original would know the answer; naturalness is asked
    # of the same texts under every system, so that systems can be compared text by text.
    once = question.shape == "label"
    return list(_singles(question, shuffled, systems, many, once))


def _check_fits(question: Question, found: Sources) -> None:
    if question.shape == "pair" and len(found.systems) < 2:
        (only,) = found.systems
        raise SettingError(
            f"{question.name} compares texts of two recipes or victims, but these runs hold only one ({only.recipe} on "
            f"{only.victim}); add a run of another, or ask label, naturalness or meaning"
        )
    if question.shape == "label" and len(found.labels) < 2:
        raise SettingError("label needs runs with the same two or more labels; export runs of one dataset at a time")


def _text(source: StudySource, system: int) -> Fields | None:
    return source.original if system == ORIGINAL else source.broken.get(system)


def _singles(
    question: Question, shuffled: Sequence[StudySource], systems: Sequence[int], many: int, once: bool
) -> Iterator[RatedItem]:
    # Where each source is used once, those that few systems changed go first, so that these systems get any; else last.
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
            f"{question.name} compares two changed forms of one text, but no two of these runs succeeded on the same "
            "text with different changes; run both on the same examples (same --data, --n and --seed)"
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """An item at its place in a rater's list; `flip` puts the second text of a pair first."""

    item: int
    flip: bool


def count_raters(items: int, each: int, most: int | None) -> int:
    """Return how many raters are needed if `each` judge an item and nobody judges more than `most`."""
    if most is None:
        return each
    if most < 1:
        raise SettingError(f"--per-rater must be at least 1, got {most}")
    return max(each, ceil(items * each / most))


def assign(items: Sequence[RatedItem], each: int, raters: int, seed: int) -> list[list[Turn]]:
    """Return each rater's list of items; checks go to everyone, and items stay grouped by question as they come."""
    judged = [i for i, item in enumerate(items) if item.expected is None]
    everyone = [i for i, item in enumerate(items) if item.expected is not None]
    own: list[list[int]] = [list(everyone) for _ in range(raters)]
    for turn, i in enumerate(judged):
        for step in range(each):
            own[(turn * each + step) % raters].append(i)
    return [_order(items, sorted(mine), generator(seed, "rater", str(number))) for number, mine in enumerate(own)]


def _order(items: Sequence[RatedItem], mine: Sequence[int], rng: np.random.Generator) -> list[Turn]:
    blocks: dict[str, list[int]] = {}
    for i in mine:
        blocks.setdefault(items[i].question, []).append(i)
    return [turn for block in blocks.values() for turn in _block(items, block, rng)]


def _block(items: Sequence[RatedItem], block: Sequence[int], rng: np.random.Generator) -> list[Turn]:
    order = [block[i] for i in rng.permutation(len(block))]
    if items[order[0]].expected is not None:  # a check in the first place tests nothing: everyone reads the first item
        other = next((n for n, i in enumerate(order) if items[i].expected is None), 0)
        order[0], order[other] = order[other], order[0]
    flips = rng.permutation(np.arange(len(order)) % 2)
    paired = [len(items[i].texts) == 2 for i in order]
    return [Turn(i, bool(flip) and two) for i, flip, two in zip(order, flips, paired, strict=True)]


CHECK = "check"


def make_checks(
    question: Question, sources: Sequence[StudySource], labels: Sequence[str], many: int, seed: int
) -> list[RatedItem]:
    """Make `many` attention checks of a question: a text that says what to choose, or a pair with an unreadable text.

    In a study of images the pair is an image beside noise, and the text stands below the image.
    """
    rng = generator(seed, "checks", question.name)
    out = []
    for number in range(many):
        source = sources[int(rng.integers(len(sources)))]
        if question.shape == "pair":
            torn = {name: _tear(name, text, seed, f"{number}.{name}") for name, text in source.original.items()}
            out.append(_item(question, source, (source.original, torn), "a"))
        elif question.shape == "label":
            wanted = int(rng.integers(len(labels)))
            out.append(_item(question, source, (_say(source, labels[wanted]),), str(wanted)))
        else:
            wanted = 1 + int(rng.integers(5))
            out.append(_item(question, source, (_say(source, str(wanted)),), str(wanted)))
    return out


def _item(question: Question, source: StudySource, texts: tuple[Fields, ...], expected: str) -> RatedItem:
    return RatedItem(
        question=question.name,
        source=CHECK,
        label=source.label,
        systems=(),
        texts=texts,
        original=source.original if question.original else None,
        expected=expected,
    )


def _say(source: StudySource, wanted: str) -> Fields:
    """Return the opening of a real text, which a skimming reader takes for an item, then what to choose."""
    name, text = next(iter(source.original.items()))
    told = f"This is a check that you are reading: please choose “{wanted}” here."
    if name == IMAGE and is_address(text):
        return {name: text, "": told}
    return {name: f"{' '.join(text.split()[:8])} ... {told}"}


def _tear(name: str, text: str, seed: int, which: str) -> str:
    """Return the text with its words and letters shuffled, or noise of about the size of an image."""
    if name != IMAGE or not is_address(text):
        return scramble(text, seed, which)
    return address(picture_of(generator(seed, "noise", which).random((1, 28, 28))))


def scramble(text: str, seed: int, name: str) -> str:
    """Shuffle the words of a text and the letters of each word."""
    rng = generator(seed, "scramble", name, text)
    words = text.split()
    return " ".join("".join(rng.permutation(list(words[i]))) for i in rng.permutation(len(words)))


Parts = tuple[tuple[str, str], ...]  # a field's name, empty where there is only one, and its text


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice on the page: `value` is what the form sends, `key` the key to press, `caption` what the rater reads."""

    value: str
    key: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One item on one rater's page; the two texts of a pair are in this rater's order."""

    question: Question
    texts: tuple[Parts, ...]
    original: Parts | None
    choices: tuple[Choice, ...]
    image: bool = False  # the texts are data addresses of images


def show(item: RatedItem, flip: bool, labels: Sequence[str]) -> Shown:
    """Return the item as a page shows it; `flip` swaps the texts of a pair."""
    texts = tuple(map(_parts, item.texts))
    return Shown(
        question=QUESTIONS[item.question].word_for(item.image),
        texts=texts[::-1] if flip else texts,
        original=None if item.original is None else _parts(item.original),
        choices=_choices(QUESTIONS[item.question], labels, "Image" if item.image else "Text"),
        image=item.image,
    )


def _parts(fields: Fields) -> Parts:
    if len(fields) == 1:
        return tuple(("", text) for text in fields.values())
    return tuple(fields.items())


def _choices(question: Question, labels: Sequence[str], what: str) -> tuple[Choice, ...]:
    if question.shape == "label":
        return tuple(Choice(str(n), str(n + 1) if n < 9 else "", name) for n, name in enumerate(labels))
    if question.shape == "scale":
        ends = {SCALE[0]: question.ends[0], SCALE[-1]: question.ends[1]}
        return tuple(Choice(step, step, f"{step}: {ends[step]}" if step in ends else step) for step in SCALE)
    return tuple(Choice(number, number, f"{what} {number}") for number in ("1", "2"))


def to_stored(item: RatedItem, turn: Turn, value: str, labels: Sequence[str]) -> str | None:
    """Return the stored form of a choice, independent of the side; None where the value is not one of the choices."""
    question = QUESTIONS[item.question]
    if question.shape == "pair":
        return SIDES[(value == "2") ^ turn.flip] if value in ("1", "2") else None
    return value if value in choices(question, labels) else None


def to_shown(item: RatedItem, turn: Turn, stored: str) -> str:
    """Return the choice on this rater's page that stands for a stored answer."""
    if QUESTIONS[item.question].shape != "pair":
        return stored
    return str(1 + ((stored == "b") ^ turn.flip))
