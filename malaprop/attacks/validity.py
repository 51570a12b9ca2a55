"""Guards for attacks whose texts must keep their meaning: which constraints, by where the candidates come from."""

from __future__ import annotations

from malaprop.attacks.attack import WordRule
from malaprop.attacks.constraints.guards import KeepFunctionWords, KeepQuantities, SameForm, SamePolarity
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, OtherLexeme, Related
from malaprop.attacks.constraints.senses import FitsSense
from malaprop.core.catalogue import unknown

KINDS = ("synonyms", "neighbours", "masked")


def guards(kind: str) -> tuple[WordRule, ...]:
    """Return the constraints on words that keep a text's meaning, the cheapest first.

    `kind` says where the candidates come from: `synonyms` of a thesaurus or of a table that holds synonyms alone;
    `neighbours` in a space of vectors; words of a `masked` language model. The last two must share a sense with the
    word, as what is near or likely often means something else.
    """
    if kind not in KINDS:
        raise unknown("kind of candidates", kind, KINDS)
    by_place = (KeepFunctionWords(), KeepQuantities(), KeepNames())
    by_pair = (OtherLexeme(), SameForm(), SamePolarity(), NotOpposed())
    related = () if kind == "synonyms" else (Related(),)
    # what stands beside these is read in its sense, so that rarer words of it may be less likely than `strict` allows
    return (*by_place, *by_pair, *related, FitsSense(unshared=kind == "synonyms"), InContext(times=100, least=1e-5))
