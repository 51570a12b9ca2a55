"""Recipes that put words for words."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Candidates, Constraint
from malaprop.attacks.candidates.likely import Likely
from malaprop.attacks.candidates.lookup import NearWords, WordNetSynonyms
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.ranking.order import LeaveOneOut, Saliency
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import Greedy


def pwws(*, ahead: int = 0, peer: bool = False) -> Attack:
    """Ren et al. 2019, "Generating natural language adversarial examples through probability weighted word saliency".

    WordNet synonyms of the same part of speech; each word's best one is fixed first, then words fall in the order of
    softmax(saliency) x gain, whether a step gains or not. Differs: stop words stay, and named entities are left alone
    where the paper swaps them for other entities. `ahead` steps are scored along with one (see search.greedy): faster
    for few texts at a time, at the same outcomes.
    `peer`: as TextAttack has it, for comparison: synonyms of any part of speech, words weighed by the value reached
    instead of gained, all synonyms asked again at every step, and a step must gain.
    """
    return Attack(
        name="pwws",
        candidates=WordNetSynonyms(part="any" if peer else "same"),
        constraints=(KeepStopWords(),),
        search=Greedy(rank=Saliency(peer=peer), always=not peer, ahead=ahead),
    )


def textfooler(
    *, neighbours: int = 50, cosine: float = 0.7, similarity: float | str | None = 0.7, peer: bool = False
) -> Attack:
    """Jin et al. 2019, "Is BERT really robust?".

    Counter-fitted neighbours (50, cosine 0.7), the same part of speech with nouns and verbs exchangeable, sentence
    similarity against the original; words by what leaving them out does; of the replacements that flip the label the
    most similar one. Differs: the vectors are our own counter-fitting; MiniLM stands in for the Universal Sentence
    Encoder, its threshold of 0.7 kept; the whole text is compared, not a window of 15 words; a replacement's part of
    speech comes from WordNet, not from tagging every changed text. similarity=None switches the encoder off;
    similarity=use asks the Universal Sentence Encoder itself (multilingual v3) for the authors' angle of 0.5, and
    similarity=mpnet or mpnet:0.8 a larger encoder.
    `peer`: as the bench runs TextAttack's greedy search: ranked by the value alone and ended with the surest flip.
    """
    rules: list[Constraint] = [KeepStopWords(), SamePart(nouns_for_verbs=True)]
    encoder, floor = parse_similarity(similarity)
    if floor is not None:
        rules.append(SentenceCosine(floor=floor))
    return Attack(
        name="textfooler",
        candidates=NearWords(count=neighbours, floor=cosine),
        constraints=tuple(rules),
        search=Greedy(rank=LeaveOneOut(shift=not peer), nearest=floor is not None and not peer),
        encoder=encoder,
    )


def genetic(
    *,
    language_model: bool = False,
    neighbours: int = 8,
    distance: float = 0.5,
    share: float = 0.2,
    size: int = 60,
    rounds: int = 20,
    peer: bool = False,
) -> Attack:
    """Alzantot et al. 2018, "Generating natural language adversarial examples".

    Counter-fitted neighbours (8, squared distance 0.5), population 60, 20 generations, at most 20% of the words.
    With `language_model` the 4 likeliest of the 8 are kept, as in the paper; the transfer studies go without it.
    Differs: the vectors are our own counter-fitting, and SmolLM2 stands in for the 1-billion-word model.
    `peer`: as TextAttack has it, for comparison (see search.genetic).
    """
    near: Candidates = NearWords(count=neighbours, floor=1 - distance / 2)
    return Attack(
        name="genetic",
        candidates=Likely(of=near, keep=max(1, neighbours // 2)) if language_model else near,
        constraints=(KeepStopWords(),) if peer else (KeepStopWords(), MaxShare(share=share)),
        search=Genetic(size=size, rounds=rounds, share=share, peer=peer),
    )


def beam(*, width: int = 8, depth: int = 6, share: float = 0.2) -> Attack:
    """A wider net than PWWS over the same synonyms: beam search, at most 20% of the words. Ours, as a reference."""
    return Attack(
        name="beam",
        candidates=WordNetSynonyms(),
        constraints=(KeepStopWords(), MaxShare(share=share)),
        search=Beam(width=width, depth=depth),
    )
