"""Greedy replacement under a language model and thought vectors."""

from __future__ import annotations

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import NearWords
from malaprop.attacks.constraints.edits import MaxShare, OncePerSlot
from malaprop.attacks.constraints.language import LikelyNext
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.words import MeanVector
from malaprop.attacks.goals.confident import Confident
from malaprop.attacks.goals.goal import Goal
from malaprop.attacks.goals.lowered import Doubtful
from malaprop.attacks.search.beam import Beam


def kuleshov(
    *,
    neighbours: int = 15,
    share: float = 0.5,
    distance: float = 0.2,
    log_ratio: float = 2.0,
    confidence: float = 0.7,
    peer: bool = False,
) -> Attack:
    """Kuleshov et al. 2018, "Adversarial examples for natural language classification problems".

    At each step the replacement that gains most over all words, of the 15 nearest of each: at most half of the words,
    the mean of the word vectors at most 0.2 from the original's, and none more than exp(2) times less likely behind the
    words before it. The goal is another label with a probability of at least 0.7. Differs: the vectors are our own
    counter-fitting, and SmolLM2 stands in for the authors' language model.
    `peer`: TextAttack's variant: success is a probability of the true label below `confidence`, even where the label
    stays.
    """
    goal: Goal = Doubtful(ceiling=confidence) if peer else Confident(floor=confidence)
    return Attack(
        name="kuleshov",
        candidates=NearWords(count=neighbours),
        constraints=(
            KeepStopWords(),
            LikelyNext(most=log_ratio),
            OncePerSlot(),
            MaxShare(share=share),
            MeanVector(most=distance),
        ),
        search=Beam(width=1, depth=1000),
        goal=goal,
    )
