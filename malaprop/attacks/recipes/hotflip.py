"""HotFlip on characters and on words, and the black-box attacks it is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.candidates.lookup import NearWords
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.constraints.meaning import OtherLexeme
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.words import SamePart, WordCosine
from malaprop.attacks.goals.goal import Confident, Goal, Untargeted
from malaprop.attacks.gradient.flips import FlipBeam
from malaprop.attacks.gradient.swaps import SwapBeam
from malaprop.attacks.search.slips import Slips
from malaprop.core.capability import Capability


def _goal(confidence: float | None) -> Goal:
    return Untargeted() if confidence is None else Confident(floor=confidence)


def _chars(
    name: str, width: int, share: float, operations: Sequence[str] | str, confidence: float | None, **more: Any
) -> Attack:
    listed = tuple(operations.split(",")) if isinstance(operations, str) else tuple(operations)
    return Attack(
        name=name,
        candidates=Own(),
        search=FlipBeam(width=width, share=share, operations=tuple(o.strip() for o in listed), **more),
        goal=_goal(confidence),
        wants=frozenset({Capability.GRADIENTS, Capability.CHARACTERS}),
    )


def hotflip_char(  # noqa: PLR0913 - users set them by name
    *,
    width: int = 10,
    share: float = 0.1,
    operations: Sequence[str] | str = "flip,insert,delete",
    confidence: float | None = None,
    new_words: bool = True,
    once: bool = True,
    closes: str = "word",
    per_word: int | None = None,
    odds: bool = False,
    anchored: bool = False,
    exact: bool = False,
) -> Attack:
    """Ebrahimi et al. 2018, "HotFlip: white-box adversarial examples for text classification".

    Beam search of width 10 over flips, insertions and deletions of characters, scored by the sum of their derivatives,
    within 10% of the characters; an edited word must be new to the victim. Differs: a word is edited once, or, with
    closes=character, which is how the paper's bound can be read, a character is; marks and spaces stay, and no mark is
    put into a word, because the victim's tokenizer would cut it there.
    """
    return _chars(
        "hotflip-char",
        width,
        share,
        operations,
        confidence,
        new_words=new_words,
        once=once,
        closes=closes,
        per_word=per_word,
        odds=odds,
        anchored=anchored,
        exact=exact,
    )


def hotflip_char_greedy(
    *,
    share: float = 0.1,
    operations: Sequence[str] | str = "flip,insert,delete",
    confidence: float | None = None,
    new_words: bool = True,
    once: bool = True,
    closes: str = "word",
    odds: bool = False,
    exact: bool = False,
) -> Attack:
    """Ebrahimi et al. 2018, the greedy search: at each step the one edit with the largest derivative."""
    more = {"new_words": new_words, "once": once, "closes": closes, "odds": odds, "exact": exact}
    return _chars("hotflip-char-greedy", 1, share, operations, confidence, **more)


def _slips(name: str, to: Literal["near", "any"], share: float, draws: int, confidence: float | None) -> Attack:
    return Attack(name=name, candidates=Own(), search=Slips(to=to, share=share, draws=draws), goal=_goal(confidence))


def key(*, share: float = 0.1, draws: int = 10, confidence: float | None = None) -> Attack:
    """Belinkov and Bisk 2018, "Key" noise, as the greedy black-box adversary of Ebrahimi et al. 2018.

    Ten random slips to a neighbouring key are asked at each step and the best is kept if it gains. The papers do not
    say how many are asked; ten are as many queries as a beam of ten.
    """
    return _slips("key", "near", share, draws, confidence)


def key_star(*, share: float = 0.1, draws: int = 10, confidence: float | None = None) -> Attack:
    """Ebrahimi et al. 2018, Key*: as `key`, but a character may become any letter or digit."""
    return _slips("key*", "any", share, draws, confidence)


def hotflip_word(
    *,
    cosine: float = 0.8,
    words: int = 2,
    width: int = 10,
    tries: int = 10,
    neighbours: int = 100,
    vectors: str = "counter-fitted",
    known: bool = True,
    exact: bool = False,
) -> Attack:
    """Ebrahimi et al. 2018, section 5: at most two words change, chosen by the derivative of the loss.

    A replacement has a cosine of at least 0.8 with the word, is of its part of speech, and is another lexeme; stop
    words stay. Differs: the ten best replacements of a step by derivative are asked, and the best by the victim's own
    answer are kept; words are compared in counter-fitted space, not by the victim's own vectors.
    """
    return Attack(
        name="hotflip-word",
        candidates=NearWords(count=neighbours, floor=-1.0, vectors=vectors),
        constraints=(
            KeepStopWords(),
            WordCosine(floor=cosine, vectors=vectors),
            OtherLexeme(),
            SamePart(),
            MaxWords(count=words),
        ),
        search=SwapBeam(width=width, depth=words, tries=tries, known=known, exact=exact),
        wants=frozenset({Capability.GRADIENTS}),
    )
