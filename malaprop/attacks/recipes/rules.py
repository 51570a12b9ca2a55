"""Recipes that change many texts alike: mined replacement rules, and a universal trigger."""

from __future__ import annotations

import bz2
from functools import cache
from importlib.resources import files

from malaprop.attacks.attack import Attack, Together
from malaprop.attacks.candidates.lookup import Vocabulary
from malaprop.attacks.candidates.rules import BySalience, RuleWords
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.rule_files import Rules, parse_rules, read_rules
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.sampling import Blind

PACKAGED = "reviews-rules.csv.bz2"  # packed, for it is the largest file of the package


@cache
def packaged_rules() -> Rules:
    """Rules for the labels negative and positive with a salience of 0.2 or more, mined from the packaged reviews."""
    packed = files("malaprop.attacks.recipes").joinpath(PACKAGED).read_bytes()
    return parse_rules(bz2.decompress(packed).decode("utf-8"), PACKAGED.removesuffix(".bz2"))


def rules(*, file: str | None = None, share: float = 0.3, once: bool = False) -> Attack:
    """Universal word replacement rules: "Generating universal language adversarial examples by understanding and
    enhancing the transferability across neural models" (2021), section 4.2.

    The strongest rule for the true label first, then the next, up to 30% of the words. `file` holds rules that
    `malaprop rules mine` or `rules pmi` wrote, or your own; without it, packaged ones for film reviews. The victim does
    not choose any word: it is asked after each replacement whether the label has fallen, which is how the paper counts
    (on average far fewer words change than may). With `once` it is asked about the finished text alone.
    """
    rank = BySalience()
    return Attack(
        name="rules",
        candidates=RuleWords(rules=packaged_rules() if file is None else read_rules(file)),
        constraints=(MaxShare(share=share),),
        search=Blind(rank=rank) if once else Greedy(rank=rank, always=True),
    )


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
