"""Constraints on what a replacement means: no antonym, a shared sense, expected in its context; names stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.trial import Trial
from malaprop.core.ask import MASKED_LM, Ask, Cloze, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints, Text, Words

_MOST_CAPITALS = 0.6  # of the words of a text; with more, its capitals mark no names
_ENDS = frozenset(".!?:;\"'([-\u201c\u2018\u2014")  # behind these a sentence, a quotation or a headline begins
_NEGATIONS = frozenset({"no", "not", "never", "nothing", "none", "nobody", "hardly", "barely", "without", "nor"})


def judge_pairs(
    trial: Trial, name: str, slots: Ints, words: Sequence[Ints], fits: Callable[[str, str], bool]
) -> list[Flags]:
    """Flag for each slot the replacements that fit its word; cached in the table, as words repeat."""
    table, here = trial.origin.table, trial.origin.words
    known: dict[tuple[int, int], bool] = table.notes.setdefault(("fits", name), {})
    out = []
    for word, options in zip(here[slots].tolist(), words, strict=True):
        for option in options.tolist():
            if (word, option) not in known:
                known[word, option] = fits(table.strings[word], table.strings[option])
        out.append(np.fromiter((known[word, option] for option in options.tolist()), np.bool_, len(options)))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpposed:
    """The replacement does not say the contrary: no antonym over WordNet's senses and roots, no prefix that negates.

    A replacement of several words, such as an insertion, must not add a negation.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.relations import open_relations

        relations = open_relations()

        def fits(word: str, other: str) -> bool:
            if " " in other:
                return _NEGATIONS.isdisjoint({*other.lower().split()} - {word.lower()})
            return not relations.are_opposed(word, other)

        return judge_pairs(trial, "not-opposed", slots, words, fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The replacement shares a sense with the word in WordNet, or a sense that is similar, or one of the same root.

    Words that are near in a vector space share contexts, not always a meaning, as *formulaic* and *spellbinding* do.
    Insertions beside a word pass.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        from malaprop.assets.relations import open_relations

        relations = open_relations()
        return judge_pairs(trial, "related", slots, words, lambda a, b: " " in b or relations.are_related(a, b))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepNames:
    """Keep names: words tagged as names, words that WordNet only has capitalized, and a noun after one of these.

    So do adjectives of names: *russian*. These and the last two are for texts in lower case: *james bond*. Where most
    words are in lower case, those with a capital inside a sentence are names, too.
    """

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        tags = yield from trial.tags()
        names = _find_names(trial.origin, tags)
        return [np.full(len(options), not names[s], np.bool_) for s, options in zip(slots.tolist(), words, strict=True)]


def _find_names(text: Text, tags: Sequence[str]) -> list[bool]:
    from malaprop.assets.wordnet import open_wordnet

    wordnet = open_wordnet()
    names: list[bool] = []
    for word, tag, capital in zip(text.strings, tags, _find_capitals(text), strict=True):
        sole = tag in ("NOUN", "PROPN") and wordnet.is_name(word)
        behind = bool(names) and names[-1] and tag in ("NOUN", "PROPN")
        names.append(tag == "PROPN" or sole or behind or capital)
    pairs = zip(names, text.strings, tags, strict=True)
    return [name or (tag == "ADJ" and wordnet.is_proper(word)) for name, word, tag in pairs]


def _find_capitals(text: Text) -> list[bool]:
    """Flag the words with a capital inside a sentence; none where capitals say nothing, as in a headline."""
    values, fields, strings = text.values(), text.field_of_slots().tolist(), text.strings
    upper = [word[:1].isupper() for word in strings]
    if sum(upper) > _MOST_CAPITALS * len(upper):
        return [False] * len(upper)
    before = [values[field][:start].rstrip() for field, (start, _) in zip(fields, text.spans(), strict=True)]
    return [up and bool(head) and head[-1] not in _ENDS for up, head in zip(upper, before, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLexeme:
    """The replacement is no other form of the word: by WordNet they share no base form (Ebrahimi et al. 2018)."""

    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        table, here = trial.origin.table, trial.origin.words
        return [
            np.asarray([not (bases(table, int(here[s])) & bases(table, w)) for w in options.tolist()], np.bool_)
            for s, options in zip(slots.tolist(), words, strict=True)
        ]


def bases(table: Words, word: int) -> frozenset[str]:
    """Return the base forms that a word may have, itself included; cached in the table."""
    found: frozenset[str] | None = table.notes.get(("lexeme", word))
    if found is None:
        from malaprop.assets.wordnet import PARTS, open_wordnet

        wordnet, lower = open_wordnet(), table.strings[word].lower()
        found = frozenset({lower, *(base for part in PARTS for base in wordnet.bases(lower, part))})
        table.notes["lexeme", word] = found
    return found


_SLACK = 1e-3  # of the logarithm: a model's rounding with its batch must not choose


@dataclass(frozen=True, slots=True, kw_only=True)
class InContext:
    """A masked language model expects the replacement in its place, in the sense that the word has there.

    Where it does not see the word, it finds the replacement at most `times` less likely than the word itself, words of
    several tokens token by token; where it reads the word, it gives the replacement at least the chance `least`, which
    is asked of words of one token alone; `ambiguous` takes its place, where that is more, if the word has at least four
    senses in use. So *the film's plot* does not become its *conspiracy*. It reads the original around the slot, so that
    each slot is asked once. What is put in beside a word is let through. `several`: so are words of which the second is
    not known, as they or the word have several tokens. `model`: a transformers folder or a hub name; None: the packaged
    one.
    """

    times: float = 50.0
    least: float = 2e-5
    ambiguous: float = 0.0
    several: bool = True
    model: str | None = None
    stage: ClassVar[Literal["word"]] = "word"

    def __post_init__(self) -> None:
        if self.times < 1 or not (0 <= self.least < 1 and 0 <= self.ambiguous < 1):
            raise SettingError(f"InContext needs times >= 1, and least and ambiguous in [0, 1), got {self}")

    @property
    def language(self) -> str:
        """The language that the model reads: English for the packaged one, empty (not known) for any other."""
        return "" if self.model else "en"

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        table = trial.origin.table.strings
        fine = [np.ones(len(options), np.bool_) for options in words]
        single = [np.asarray([" " not in table[w] for w in options.tolist()], np.bool_) for options in words]
        asked = [i for i, flags in enumerate(single) if flags.any()]
        some = [tuple(table[w] for w in words[i][single[i]].tolist()) for i in asked]
        clozes = list(_make_clozes(trial, slots[asked].tolist(), some))
        service = f"{MASKED_LM}:{self.model}" if self.model else MASKED_LM
        guesses = iter((yield Ask(service, clozes)) if clozes else [])
        least = (yield from self._find_least(trial, slots.tolist())) if clozes else []
        for i in asked:
            unseen, seen = next(guesses).logs, next(guesses).logs
            likely = unseen[1:] >= unseen[0] - np.log(self.times) - _SLACK
            floor = np.log(max(least[i], 1e-30)) - _SLACK
            read = ~(seen[1:] < floor) if self.several else seen[1:] >= floor  # nan: not known
            fine[i][single[i]] = likely & read
        return fine

    def _find_least(self, trial: Trial, slots: Sequence[int]) -> Steps[list[float]]:
        """Return for each slot the least chance of a replacement."""
        if self.ambiguous <= self.least:
            return [self.least] * len(slots)
        from malaprop.attacks.candidates.lookup import WORDNET_PART
        from malaprop.attacks.constraints.senses import AMBIGUOUS, list_used

        tags, strings = (yield from trial.tags()), trial.origin.strings
        used = [len(list_used(strings[slot], WORDNET_PART.get(tags[slot], ""))) for slot in slots]
        return [self.ambiguous if many >= AMBIGUOUS else self.least for many in used]


def _make_clozes(trial: Trial, slots: Sequence[int], options: Sequence[tuple[str, ...]]) -> Iterator[Cloze]:
    """Yield two clozes for each slot, with the word hidden and with it visible; the word itself is scored first."""
    origin = trial.origin
    values, spans, fields = origin.values(), origin.spans(), origin.field_of_slots().tolist()
    for slot, some in zip(slots, options, strict=True):
        start, end = spans[slot]
        for hidden in (True, False):
            yield Cloze(values[fields[slot]], start, end, hidden, words=(origin.strings[slot], *some))
