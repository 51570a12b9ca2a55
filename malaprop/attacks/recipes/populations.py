"""Recipes that breed or drive many texts at once."""

from __future__ import annotations

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import NearWords, WordNetSynonyms
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.language import LikelyInPlace
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.swarm import Swarm


def faster_genetic(
    *,
    neighbours: int = 8,
    distance: float = 0.5,
    share: float = 0.2,
    size: int = 60,
    rounds: int = 40,
    log_ratio: float = 5.0,
    window: int = 6,
    peer: bool = False,
) -> Attack:
    """Jia et al. 2019, "Certified robustness to adversarial word substitutions".

    The genetic search of Alzantot et al. 2018 with 40 generations, over words that a language model allows: in a window
    of six words on either side, of the original text, none may be more than exp(5) times less likely than the word that
    it replaces. That is asked once, before the search. Differs: the vectors are our own counter-fitting, SmolLM2 stands
    in for the authors' language model, and a member draws slots until one gains.
    `peer`: TextAttack's variant: weaker parents are likelier, and children may exceed the share.
    """
    likely = LikelyInPlace(most=log_ratio, window=window)
    return Attack(
        name="faster-genetic",
        candidates=NearWords(count=neighbours, floor=1 - distance / 2),
        constraints=(KeepStopWords(), likely) if peer else (KeepStopWords(), likely, MaxShare(share=share, up=True)),
        search=Genetic(size=size, rounds=rounds, share=share, until=True, peer=peer),
    )


def iga(
    *,
    neighbours: int = 50,
    distance: float = 0.5,
    share: float = 0.2,
    size: int = 60,
    rounds: int = 20,
    times: int = 5,
    peer: bool = False,
) -> Attack:
    """Wang et al. 2021, "Natural language adversarial defense through synonym encoding", the improved genetic attack.

    The first population has one text for each word, with its best synonym; a child is the beginning of one parent and
    the end of the other; a word may be replaced up to five times, so that no early choice is final. Counter-fitted
    neighbours (squared distance 0.5), at most 20% of the words. Differs: the vectors are our own counter-fitting; a
    member draws words until one gains.
    `peer`: TextAttack's variant: a word replaced again takes a neighbour of the word that stands there by now, weaker
    parents are likelier, and children may exceed the share.
    """
    return Attack(
        name="iga",
        candidates=NearWords(count=neighbours, floor=1 - distance / 2),
        constraints=(KeepStopWords(),) if peer else (KeepStopWords(), MaxShare(share=share, up=True)),
        search=Genetic(size=size, rounds=rounds, share=share, until=True, times=times, chain=peer, peer=peer),
    )


def pso(*, size: int = 60, rounds: int = 20, anew: bool = False, proper: bool = True) -> Attack:
    """Zang et al. 2020, "Word-level textual adversarial attacking as combinatorial optimization".

    Particle swarm search: 60 texts over 20 rounds drift towards the best that each and all of them have seen. Differs:
    WordNet synonyms of the same part of speech stand in for words with the same sememes, as HowNet is not to be had;
    what gains most for a word is asked on the original once, as in the authors' code.
    `anew`: TextAttack's variant: it is asked again for every text that mutates.
    """
    return Attack(
        name="pso",
        candidates=WordNetSynonyms(proper=proper),
        constraints=(KeepStopWords(),),
        search=Swarm(size=size, rounds=rounds, anew=anew),
    )
