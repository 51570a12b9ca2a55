"""Recipes for victims whose answers are dear: few queries a text."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Fallback
from malaprop.attacks.candidates.lookup import WordNetSynonyms
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.search.bayes import Bayes
from malaprop.attacks.search.local import LocalSearch


def local(*, each: int = 4, enough: float = 0.1, passes: int = 3, restore: bool = True) -> Attack:
    """Ours, over the synonyms that PWWS has (Ren et al. 2019, the fallback's included): local search for few queries.

    Each word is left out once; in the order of what that does, a word's synonyms are asked `each` at a time until one
    raises the value by `enough`, and the best stays if it gains. Where all words were seen once, `passes` more ask what
    is left. Words that the success does not need are put back (`restore`).
    """
    return Attack(
        name="local",
        candidates=WordNetSynonyms(part="any"),
        constraints=(KeepStopWords(),),
        search=LocalSearch(each=each, enough=enough, passes=passes, restore=restore),
    )


def bayes(*, block: int = 40, batch: int = 2, rounds: int = 40, restore: bool = True, fallback: bool = True) -> Attack:
    """Lee et al. 2022, "Query-efficient and scalable black-box adversarial attacks on discrete sequential data via
    Bayesian optimization".

    Words in blocks of 40; a Gaussian process over the choices of words, the texts of the greatest expected improvement
    asked, and words put back in the end. Differs: WordNet synonyms, as PWWS has them; each word of a block is left out
    once, which says what to expect of it before any synonym was asked; the kernel is a sum over words and its square
    instead of a product, its weights come from that instead of by gradient; two texts are asked at a time. Where this
    fails, `fallback` tries the search of `local`.
    """
    synonyms = WordNetSynonyms(part="any")
    return Attack(
        name="bayes",
        candidates=synonyms,
        constraints=(KeepStopWords(),),
        search=Bayes(block=block, batch=batch, rounds=rounds, restore=restore),
        fallback=Fallback(candidates=synonyms, search=LocalSearch(restore=restore)) if fallback else None,
    )
