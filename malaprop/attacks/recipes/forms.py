"""Recipes that write the same in another form: other inflections, names, numbers, contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.candidates.lookup import Inflections
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.rewrites import Rewrites

_ALL = 10_000  # words: more than any text has


def morpheus(*, stop_words: bool = False, peer: bool = False) -> Attack:
    """Tan et al. 2020, "It's morphin' time! Combating linguistic discrimination with inflectional perturbations".

    Nouns, verbs and adjectives from left to right: of all inflections of a word in its part of speech the one that the
    victim takes worst, if it gains, until the label turns. Differs: inflections come from WordNet's irregular forms and
    rules of spelling, not from lemminflect; stop words stay. For translation, where the paper lowers BLEU, `malaprop
    translate attack --goal bleu --replace inflections` takes the same inflections. `peer`: TextAttack's search: all
    inflections of all words are asked at each step, and the best is taken whether it gains or not.
    """
    return Attack(
        name="morpheus",
        candidates=Inflections(),
        constraints=() if stop_words else (KeepStopWords(),),
        search=Beam(width=1, depth=_ALL) if peer else Greedy(rank=LeftToRight()),
    )


def checklist(
    *, kinds: Sequence[str] | str = "contractions,names,places,numbers", each: int = 3, peer: bool = False
) -> Attack:
    """Ribeiro et al. 2020, "Beyond accuracy: behavioral testing of NLP models with CheckList": its invariance tests.

    Contractions written out or the other way round, and names of people, names of places and numbers put for others of
    their kind, three of each drawn by the seed: all are asked, and made in the order of what each gained, as long as
    they gain, until the label turns. Differs: names are found in tables of our own (English, German,
    French, Spanish, Italian, Portuguese, Dutch, Chinese), not by a tagger of entities; a name
    changes wherever it stands in the text. `kinds` are some of contractions, names, places, numbers. `peer`:
    TextAttack's search: what is left is asked again at each step, and the best is made whether it gains or not; each
    place of a name by itself, and numbers up to twice as large.
    """
    named = kinds.split(",") if isinstance(kinds, str) else kinds
    wanted = tuple(kind.strip() for kind in named)
    walk: dict[str, Any] = {"spread": 1.0, "everywhere": False, "again": True} if peer else {}
    return Attack(
        name="checklist",
        candidates=Own(),
        search=Rewrites(kinds=wanted, each=each, **walk),  # type: ignore[arg-type]
    )
