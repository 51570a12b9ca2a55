"""One prefix for many texts."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Together
from malaprop.attacks.candidates.lookup import Vocabulary
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.search.greedy import Greedy


def trigger(*, words: int = 3, vocabulary: int = 300, panel: int = 32, drop: float = 1.0) -> Attack:
    """Wallace et al. 2019, "Universal adversarial triggers for attacking and analyzing NLP".

    One prefix of `words` words that makes a victim err on many texts: it begins as "the the the", and word by word is
    replaced by the one that makes the mean score of the true labels fall most on a panel of texts, until it has fallen
    by `drop`. Differs: the words are tried by asking the victim, not by its gradients, so any victim will do; they are
    the `vocabulary` most frequent ones of English; one prefix is found for all labels.
    """
    return Attack(
        name="trigger",
        candidates=Vocabulary(size=vocabulary),
        search=Greedy(rank=LeftToRight()),
        together=Together(side="prefix", words=words, panel=panel, drop=drop),
    )
