"""SWITCH (Mein et al. 2021, Figure 1): generate other wordings of a text that should keep its label.

The most important words of a text give way to words drawn from their nearest neighbours in counter-fitted space, of the
same part of speech. Where we differ:
- sentence similarity is MiniLM's in place of the Universal Sentence Encoder's.
- draws are from all `candidates` neighbours, as the paper says; the authors' code ignores that setting.
- importance is by the victim's own gradient, not by that of a second model, unless another is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from malaprop.attacks.candidates.lookup import WORDNET_PART, recase
from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.settings import call
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim
from malaprop.frame.runs.defended import Counters, cut_up
from malaprop.papers.firebert.important import Side, WeighedWords, weigh

if TYPE_CHECKING:
    from malaprop.assets.vectors import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """The augmenter `switch`: other wordings by SWITCH, with words ranked by the victim."""

    switch: Switch
    needs_victim: bool = True

    def copies_of(self, texts: Sequence[Fields], victim: Victim | None, seed: int) -> list[list[Fields]]:
        assert victim is not None
        return self.switch.alternatives_of(texts, victim, seed=seed)


def read_switched(given: Mapping[str, Any], copies: int) -> Switched:
    """Make the augmenter from its settings as typed: switch, or switch:words=3."""
    return Switched(switch=call(Switch, {"alternatives": copies, **given}, "augment switch"))


_WIDE = 100  # neighbours of a word among which those of its part of speech are looked for
_MANY = 4096  # alternatives of a text, before similarity takes some away


@dataclass(frozen=True, slots=True, eq=False)
class SwitchChoice:
    """The candidates of one text: its slots, most important first, and the words that may replace each."""

    weighed: WeighedWords
    slots: Ints
    words: list[Ints]  # ids of the text's table, nearest first

    @property
    def text(self) -> Text:
        return self.weighed.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The settings of SWITCH; the defaults are the paper's for co-tuned MNLI: 9 words, 10 candidates, 4 alternatives.

    `multiplier` times `alternatives` are drawn before similarity ranks them (`rank`: the most similar first) or takes
    some away (`filter`: those below `floor`); with `off` none is compared and as many are drawn as are asked for.
    `part` says whether a candidate must be of the word's part of speech; `side` which field of a pair is perturbed.
    """

    words: int = 9
    candidates: int = 10
    alternatives: int = 4
    multiplier: int = 3
    similarity: Literal["off", "rank", "filter"] = "filter"
    floor: float = 0.0
    part: Literal["same", "any"] = "same"
    side: Side = "last"
    vectors: str = "counter-fitted"

    def __post_init__(self) -> None:
        for name in ("words", "candidates", "alternatives", "multiplier"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise SettingError(f"Switch.{name} must be a whole number of at least 1, got {value!r}")
        if self.candidates > _WIDE:
            raise SettingError(f"Switch.candidates: {_WIDE} neighbours of a word are known, got {self.candidates}")
        if self.alternatives * self.multiplier > _MANY:
            raise SettingError(
                f"{self.alternatives} alternatives times {self.multiplier} of a text do not fit in memory side by "
                f"side; keep their product to {_MANY}"
            )
        for name, known in (("similarity", ("off", "rank", "filter")), ("part", ("same", "any")),
                            ("side", ("last", "all"))):  # fmt: skip
            if getattr(self, name) not in known:
                raise SettingError(f"Switch.{name} must be {', '.join(known)}, got {getattr(self, name)!r}")
        if not -1 <= self.floor <= 1:
            raise SettingError(f"Switch.floor is a cosine from -1 to 1, got {self.floor}")

    @property
    def count(self) -> int:
        """Return how many alternatives to sample for each text, before the similarity filter."""
        return self.alternatives * (1 if self.similarity == "off" else self.multiplier)

    def but(self, **settings: Any) -> Switch:
        return replace(self, **settings)

    def alternatives_of(
        self, texts: Sequence[Fields], victim: Victim, *, seed: int = 0, counters: Counters | None = None
    ) -> list[list[Fields]]:
        """Return other wordings of each text, at most `alternatives`; none if no word can be switched."""
        choices = self.choices(victim, cut_up(texts), counters or Counters())
        return [
            [text.values() for text in variants.texts()]
            for variants in self.draw(choices, [seed] * len(choices), device=victim.device)
        ]

    def choices(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> list[SwitchChoice]:
        """Return the candidates of each text; they depend on no seed."""
        from malaprop.assets.vectors import open_neighbours
        from malaprop.frame.runs.services import tags

        near = open_neighbours(self.vectors, _WIDE)
        weighed = weigh(victim, texts, counters, side=self.side)
        parts = tags(texts) if self.part == "same" else [[""] * text.slots for text in texts]
        return [self._choice(near, one, tag) for one, tag in zip(weighed, parts, strict=True)]

    def _choice(self, near: Neighbours, weighed: WeighedWords, tags: list[str]) -> SwitchChoice:
        text, slots, words = weighed.text, list[int](), list[Ints]()
        strings = text.strings
        for slot in weighed.slots.tolist():
            tag = WORDNET_PART.get(tags[slot], "-") if self.part == "same" else ""
            found = replacements(near, strings[slot], tag, self.candidates)
            if found:
                slots.append(slot)
                words.append(text.table.ids(found))
                if len(slots) == self.words:
                    break
        return SwitchChoice(weighed, np.asarray(slots, np.int64), words)

    def draw(self, choices: Sequence[SwitchChoice], seeds: Sequence[int], *, device: str = "cpu") -> list[Variants]:
        """Draw alternatives of each text by its seed and its own words, and filter or rank them by similarity."""
        drawn = [self._draw_one(choice, seed) for choice, seed in zip(choices, seeds, strict=True)]
        return drawn if self.similarity == "off" else self._compare(drawn, device)

    def _draw_one(self, choice: SwitchChoice, seed: int) -> Variants:
        many, slots = len(choice.slots), choice.slots
        if not many:
            return Variants.between(choice.text, [])
        rng = generator(seed, "switch", *choice.text.values())
        sizes = np.fromiter(map(len, choice.words), np.int64, many)
        picks = rng.integers(0, sizes, size=(self.count, many)) + (np.cumsum(sizes) - sizes)
        put = np.concatenate(choice.words)[picks]
        return Variants(
            choice.text, np.tile(slots, self.count), put.ravel(), np.repeat(np.arange(self.count), many), self.count
        )

    def _compare(self, drawn: list[Variants], device: str) -> list[Variants]:
        some = [variants for variants in drawn if variants.count]
        texts = [[str(text) for text in (variants.base, *variants.texts())] for variants in some]
        flat = list(dict.fromkeys(string for strings in texts for string in strings))
        place = {string: number for number, string in enumerate(flat)}
        vectors = encoder(device).encode(flat) if flat else None
        kept = []
        for variants, strings in zip(some, texts, strict=True):
            assert vectors is not None
            rows = vectors[[place[string] for string in strings]]
            kept.append(self._keep_similar(variants, rows[1:] @ rows[0]))
        found = iter(kept)
        return [next(found) if variants.count else variants for variants in drawn]

    def _keep_similar(self, variants: Variants, cosines: Any) -> Variants:
        """Keep the alternatives above the floor, or, with `rank`, the most similar ones, most similar first."""
        if self.similarity == "filter":
            return variants.keep(cosines >= self.floor - 1e-6).first(self.alternatives)
        from malaprop.core.score import ranked

        texts = variants.texts()
        order = ranked(np.asarray(cosines, np.float32), slack=1e-5)[: self.alternatives]
        return Variants.between(variants.base, [texts[i] for i in order.tolist()])


@cache
def encoder(device: str) -> Any:
    """Return the sentence encoder on the victim's device."""
    from malaprop.models.encoders.encoder import open_encoder

    return open_encoder(device=device)


@lru_cache(maxsize=1 << 17)
def replacements(near: Neighbours, word: str, part: str, count: int) -> tuple[str, ...]:
    """Return the nearest words of a part of speech (n, v, a, r; empty: any), cased like the word; none if unknown."""
    from malaprop.assets.wordnet import PARTS

    row = near.vectors.index.get(word.lower())
    if row is None or part == "-":
        return ()
    others = near.table[row]
    kept = near.whole[others]
    if part:
        kept &= (near.parts[others] & (1 << PARTS.index(part))) > 0
    words = (near.vectors.words[other] for other in others[kept][: count + 1].tolist())
    return tuple(dict.fromkeys(made for made in (recase(w, word) for w in words) if made != word))[:count]
