"""What lies around a sentence in the dense space: the paper's table of perturbations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from malaprop.core.seeds import generator
from malaprop.models.tokens.vocab import tokens
from malaprop.papers.natural.models.sentencemodel import SentenceModel
from malaprop.papers.natural.models.sentences import restore_case
from malaprop.papers.natural.search.probe import noise
from malaprop.papers.natural.text_record import SentenceAround

_SHELLS = 12


def perturb_sentence(
    model: SentenceModel,
    sentences: Sequence[str],
    starts: np.ndarray,
    *,
    reach: float,
    samples: int = 64,
    seed: int = 0,
) -> tuple[SentenceAround, ...]:
    """For each sentence, the most frequent new one of each shell on the way from its point to distance `reach`."""
    found = []
    for sentence, start in zip(sentences, starts, strict=True):
        rng = generator(seed, "around", sentence)
        returned = model.generate(start[None])[0]
        seen, near = {tuple(tokens(sentence)), tuple(tokens(returned))}, []
        for shell in range(_SHELLS):
            low, high = reach * shell / _SHELLS, reach * (shell + 1) / _SHELLS
            made = model.generate(start + noise(rng, samples, model.dim, low, high))
            fresh = Counter(item for item in made if item and tuple(tokens(item)) not in seen)
            if fresh:
                best = min(fresh, key=lambda item: (-fresh[item], item))
                seen.add(tuple(tokens(best)))
                near.append((round(high, 4), restore_case(best, sentence)))
        found.append(SentenceAround(original=sentence, returned=restore_case(returned, sentence), near=tuple(near)))
    return tuple(found)
