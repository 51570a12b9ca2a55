"""Recipes that see the victim's label alone: they begin across the border and come as near as they can."""

from __future__ import annotations

from typing import Literal

from malaprop.attacks.attack import Attack, Candidates, Constraint, Search
from malaprop.attacks.candidates.lookup import NearWords, WordNetSynonyms
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.goals.goal import LabelOnly
from malaprop.attacks.labels.hardgenetic import HardLabelGenetic
from malaprop.attacks.labels.start import RandomStart
from malaprop.attacks.labels.walks import BorderWalk, LeapStep, MatrixStep, TransitionStep
from malaprop.core.errors import SettingError

Source = Literal["near", "wordnet"]


def _labels_alone(
    name: str, search: Search, words: Source, neighbours: int, cosine: float, share: float | None, queries: int | None
) -> Attack:
    if words not in ("near", "wordnet"):
        raise SettingError(f"words is near or wordnet, got {words!r}")
    near: Candidates = NearWords(count=neighbours, floor=cosine)
    rules: list[Constraint] = [KeepStopWords(), *([SamePart()] if words == "near" else [])]
    if share is not None:
        rules.append(MaxShare(share=share))
    return Attack(
        name=name,
        candidates=near if words == "near" else WordNetSynonyms(part="any"),
        constraints=tuple(rules),
        search=search,
        goal=LabelOnly(),
        budget=queries,
    )


def _start(trials: int, share: float | None) -> RandomStart:
    return RandomStart(trials=trials, share=1.0 if share is None else share)


def hlbb(
    *,
    words: Source = "near",
    neighbours: int = 50,
    cosine: float = 0.5,
    share: float | None = None,
    trials: int = 2500,
    size: int = 30,
    rounds: int = 20,
    draws: int = 5,
) -> Attack:
    """Maheshwary et al. 2021, "Generating natural language attacks in a hard label black box setting".

    Random counter-fitted neighbours until the label turns, words put back that it does not need, and a genetic search
    for the most similar of the texts that keep it turned: population 30. Differs: where random texts turn nothing, the
    start finds out which replacements lean towards another label (`Leaning`); words are put back several at a time at
    first; a mutation asks about the original word and 5 drawn replacements, not about all, and takes the one nearest
    to the original word; MiniLM stands in for the Universal Sentence Encoder; stop words stay.
    """
    search = HardLabelGenetic(start=_start(trials, share), size=size, rounds=rounds, draws=draws)
    return _labels_alone("hlbb", search, words, neighbours, cosine, share, None)


def texthoaxer(
    *,
    words: Source = "near",
    neighbours: int = 50,
    cosine: float = 0.5,
    share: float | None = None,
    trials: int = 2500,
    draws: int = 5,
    reach: float = 2.0,
    patience: int = 20,
) -> Attack:
    """Ye, Miao, Wang and Ma 2022, "TextHoaxer: budgeted hard-label adversarial attacks on text".

    Starts as `hlbb`, then moves the matrix of all changed words' vectors down the slope of similarity and of the length
    of the changes, found from the labels of a few texts in random directions; at most 1,000 queries. Differs: a step
    asks 5 directions at once, not one; sparsity comes from putting words back, not from a term of the loss; MiniLM
    stands in for the Universal Sentence Encoder.
    """
    step = MatrixStep(draws=draws, reach=reach)
    search = BorderWalk(step=step, start=_start(trials, share), patience=patience)
    return _labels_alone("texthoaxer", search, words, neighbours, cosine, share, 1000)


def leap(
    *,
    words: Source = "near",
    neighbours: int = 50,
    cosine: float = 0.5,
    share: float | None = None,
    trials: int = 2500,
    draws: int = 5,
    tries: int = 3,
    patience: int = 20,
) -> Attack:
    """Ye, Chen, Miao, Wang and Ma 2022, "LeapAttack: hard-label adversarial attack on text via gradient-based
    optimization".

    Starts as `hlbb`, then takes one changed word at a time: the sides of the border on which 5 drawn replacements lie
    give its slope, and replacements nearer to the original word are asked in that direction; at most 1,000 queries.
    Differs: the step goes straight to replacements, not over a point between them; MiniLM stands in for the Universal
    Sentence Encoder. TextAttack's LEAP is another attack, a particle swarm that sees scores (Xiao et al. 2023).
    """
    search = BorderWalk(step=LeapStep(draws=draws, tries=tries), start=_start(trials, share), patience=patience)
    return _labels_alone("leap", search, words, neighbours, cosine, share, 1000)


def hqa(
    *,
    words: Source = "near",
    neighbours: int = 50,
    cosine: float = 0.5,
    share: float | None = None,
    trials: int = 2500,
    draws: int = 5,
    tries: int = 1,
    patience: int = 20,
) -> Attack:
    """Liu et al. 2023, "HQA-Attack: toward high quality black-box hard-label adversarial attack on text".

    Starts as `hlbb`, then takes one changed word at a time: of 5 drawn replacements those that keep the label turned,
    weighed by similarity, give the direction in which the next one is looked for; at most 1,000 queries. Differs: words
    are put back several at a time at first, not the best of all at each step, which costs the square of their number;
    MiniLM stands in for the Universal Sentence Encoder.
    """
    search = BorderWalk(step=TransitionStep(draws=draws, tries=tries), start=_start(trials, share), patience=patience)
    return _labels_alone("hqa", search, words, neighbours, cosine, share, 1000)
