"""The defence `purify`: a spelling checker or a masked language model cleans a text before the victim reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from malaprop.core.ask import Cloze
from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, word_pattern
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.features.defending.smooth import Vote, check_vote, poll
from malaprop.features.defending.spellcheck import Doubt
from malaprop.frame.runs.defended import Counters, cut_up

By = Literal["spell", "mlm"]
_BY = ("spell", "mlm")
# Logarithms of chances, chosen on validation texts of MR.
_LIKELIER = 2.0  # by how much an alternative must be likelier, where the model sees neither
_TURNS = 3  # words of a text are hidden in so many turns, every third word at a time


class _Refill(NamedTuple):
    """A text and what a masked language model expects in each of its slots."""

    text: Text
    words: list[Ints]  # ids of the text's table, the likeliest first; none where nothing fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Purify:
    """The victim's answer to the text as it was probably meant.

    `spell` takes out what nobody sees, writes look-alike letters of other scripts as Latin ones, and corrects words
    that are one edit, or a known misspelling, away from one far more frequent. Of several corrections a masked language
    model takes the one that fits; with `context=false`, which needs no model, it is the most frequent. With
    `real_words` a word that is spelt rightly gives way too, where the model, which does not see it, finds one an edit
    away far likelier, as tale for tail. It draws nothing: every attack meets all of it.

    `mlm` hides `share` of the words, lets a masked language model refill them from the `likely` words it expects, and
    takes the vote over `copies` such copies (after RSMI, Moon et al. 2023, and Text Purification, Li et al. 2023;
    neither is followed to the letter). `model` is a masked language model by folder or hub name; empty: the packaged.
    """

    by: By = "spell"
    context: bool = True
    real_words: bool = True
    copies: int = 8
    share: float = 0.3
    likely: int = 5
    vote: Vote = "logits"
    model: str = ""
    kind: ClassVar[str] = "purify"

    def __post_init__(self) -> None:
        if self.by not in _BY:
            raise SettingError(f"purify is by spell or mlm, got {self.by!r}; write purify:spell(VICTIM)")
        if self.copies < 1 or not 0 < self.share <= 1 or self.likely < 1:
            raise SettingError(
                f"purify:mlm needs copies >= 1, 0 < share <= 1 and likely >= 1, got {self.copies}, {self.share} and "
                f"{self.likely}"
            )
        check_vote(self.vote, "purify: vote")

    @property
    def samples(self) -> int:
        return 1 if self.by == "spell" else self.copies

    @property
    def steady(self) -> bool:
        return self.by == "spell"

    @property
    def discrete(self) -> bool:
        return self.by == "mlm" and self.vote == "majority"

    def check(self, victim: Victim) -> None:
        """Accept any victim: it reads finished texts."""

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> list[Any]:
        if self.by == "mlm":
            return self._refills(texts, victim.device)
        values = [value for text in texts for value in text.values()]
        found = iter(self._restore(values, victim.device))
        cleaned = [tuple(next(found) for _ in text.values()) for text in texts]
        counters.fallbacks += sum(clean == text.values() for clean, text in zip(cleaned, texts, strict=True))
        return cleaned

    def answers(
        self, victim: Victim, prepared: list[Any], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        if self.by == "spell":
            return _ask(victim, prepared, counters, exact=exact)
        drawn = [self._draw(refill, seed) for refill, seed in zip(prepared, seeds, strict=True)]
        of = np.repeat(np.arange(len(drawn)), self.copies)
        scores = _ask(victim, [fields for copies in drawn for fields in copies], counters, exact=exact)
        return poll(scores, of, len(drawn), self.vote)

    def _restore(self, values: Sequence[str], device: str) -> list[str]:
        """Return the texts as they were probably meant; texts that look alike are corrected once."""
        from malaprop.features.defending.spellcheck import make_clean

        return _make_each(lambda clean: self._correct(clean, device), list(map(make_clean, values)))

    def _correct(self, clean: Sequence[str], device: str) -> list[str]:
        """Return the texts with doubtful words corrected, by their context where `context` is set."""
        from malaprop.features.defending.spellcheck import open_speller, put_words

        speller = open_speller()
        doubts = [speller.find_doubts(value) for value in clean]
        first = [put_words(value, [d.options[0] for d in own], own) for value, own in zip(clean, doubts, strict=True)]
        if not self.context:
            return first
        clozes = [cloze for value, own in zip(first, doubts, strict=True) for cloze in _clozes(value, own)]
        logs = iter(_masked_lm(self.model, device).fill(clozes) if clozes else ())
        out = []
        for value, own in zip(clean, doubts, strict=True):
            best = [int(np.argmax(next(logs).logs - np.asarray(doubt.doubts))) for doubt in own]
            out.append(put_words(value, [doubt.options[i] for doubt, i in zip(own, best, strict=True)], own))
        return _make_each(lambda values: self._fit_words(values, device), out) if self.real_words else out

    def _fit_words(self, values: Sequence[str], device: str) -> list[str]:
        """Return the texts with each correctly spelt word that fits badly replaced by a likelier one, a slip away.

        The words are hidden in turns, every third at a time, so that no slip speaks for itself. A word of several
        pieces, of which the model says little, has the chance of its rank.
        """
        from malaprop.features.defending.spellcheck import open_speller, put_words

        speller, model = open_speller(), _masked_lm(self.model, device)
        found = [speller.find_alternatives(value) for value in values]
        mask = str(model.tokenizer.mask_token)
        clozes = [one for value, own in zip(values, found, strict=True) for one in _hide_in_turns(value, own, mask)]
        logs = iter(model.fill(clozes) if clozes else ())
        out = []
        for value, doubts in zip(values, found, strict=True):
            kept: list[tuple[Doubt, str]] = []
            for doubt in doubts:
                own, *others = next(logs).logs.tolist()
                chances = np.nan_to_num(np.asarray(others) - np.asarray(doubt.doubts), nan=-np.inf)
                own = speller.guess_chance(value[doubt.start : doubt.end]) if np.isnan(own) else own
                if chances.max() - own > _LIKELIER:
                    kept.append((doubt, doubt.options[int(chances.argmax())]))
            out.append(put_words(value, [word for _, word in kept], [doubt for doubt, _ in kept]))
        return out

    def _refills(self, texts: Sequence[Text], device: str) -> list[_Refill]:
        clozes, sizes = [], []
        for text in texts:
            values, fields = text.values(), text.field_of_slots().tolist()
            spans = text.spans()
            clozes += [Cloze(values[fields[slot]], *spans[slot], True, self.likely) for slot in range(text.slots)]
            sizes.append(text.slots)
        guesses = iter(_masked_lm(self.model, device).fill(clozes))
        return [
            _Refill(text, [text.table.ids(next(guesses).words) for _ in range(size)])
            for text, size in zip(texts, sizes, strict=True)
        ]

    def _draw(self, refill: _Refill, seed: int) -> list[Fields]:
        """Return copies with a share of the words refilled; the draws depend on the seed and the text alone."""
        text, words = refill
        rng = generator(seed, "purify", *text.values())
        open_slots = [slot for slot in range(text.slots) if len(words[slot])]
        many = min(len(open_slots), max(1, round(self.share * text.slots)))
        out = []
        for _ in range(self.copies):
            copy = text
            if open_slots:
                slots = np.sort(rng.choice(open_slots, many, replace=False))
                fills = np.asarray([words[slot][rng.integers(len(words[slot]))] for slot in slots.tolist()], np.int64)
                filled = text.words.copy()
                filled[slots] = fills
                copy = text.refilled(filled)
            out.append(copy.values())
        return out


def _make_each(make: Callable[[Sequence[str]], Sequence[str]], values: Sequence[str]) -> list[str]:
    """Apply a function to each distinct text once: corrections often make equal texts of an attack's variants."""
    distinct = list(dict.fromkeys(values))
    made = dict(zip(distinct, make(distinct), strict=True))
    return [made[value] for value in values]


def _clozes(first: str, doubts: Sequence[Doubt]) -> Iterator[Cloze]:
    """Yield a gap for each doubtful word, in a text that has the first option of each."""
    shift = 0
    for doubt in doubts:
        start, size = doubt.start + shift, len(doubt.options[0])
        yield Cloze(first, start, start + size, words=doubt.options)
        shift += size - (doubt.end - doubt.start)


def _hide_in_turns(text: str, doubts: Sequence[Doubt], mask: str) -> Iterator[Cloze]:
    """Yield a gap for each doubtful word, in a text where every third of them is hidden."""
    from malaprop.features.defending.spellcheck import put_words

    number = {found.start(): at for at, found in enumerate(word_pattern().finditer(text))}
    turns = [number[doubt.start] % _TURNS for doubt in doubts]
    hidden = [[doubt for doubt, own in zip(doubts, turns, strict=True) if own == turn] for turn in range(_TURNS)]
    texts = [put_words(text, [mask] * len(some), some) for some in hidden]
    shifts = [0] * _TURNS
    for doubt, turn in zip(doubts, turns, strict=True):
        start, word = doubt.start + shifts[turn], text[doubt.start : doubt.end]
        shifts[turn] += len(mask) - len(word)
        # The model reads the mask as it reads any one token, so words of one token alone are scored: others are nan.
        yield Cloze(texts[turn], start, start + len(mask), hidden=False, words=(word, *doubt.options))


def _masked_lm(model: str, device: str) -> Any:
    from malaprop.models.encoders.masked_lm import open_fast_masked_lm

    return open_fast_masked_lm(model, device)


def _ask(victim: Victim, texts: Sequence[Fields], counters: Counters, *, exact: bool) -> Floats:
    """Return the victim's answers, which reads each distinct text once."""
    places: dict[Fields, int] = {}
    back = [places.setdefault(text, len(places)) for text in texts]
    counters.inner += len(places)
    if exact:
        scores = victim.predict(list(places))
    else:
        pool = Pool([Variants.itself(text) for text in cut_up(list(places))])
        scores = victim.finish(victim.begin(pool, np.arange(pool.size)))
    return scores[np.asarray(back, np.int64)]
