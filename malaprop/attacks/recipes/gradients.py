"""Recipes that choose words by the victim's gradients, or by the vector that its classifier reads."""

from __future__ import annotations

from typing import Literal

from malaprop.attacks.attack import Attack, Candidates, Constraint
from malaprop.attacks.candidates.lookup import NearWords, WordNetSynonyms
from malaprop.attacks.candidates.masked import MaskedWords
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.gradient.mixture import TokenMixture
from malaprop.attacks.gradient.swaps import SignWalk
from malaprop.attacks.ranking.order import ByGradient, UnknownWord
from malaprop.attacks.search.greedy import Greedy, Projection
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError


def a2t(
    *,
    words: Literal["near", "masked"] = "near",
    count: int = 20,
    cosine: float = 0.8,
    share: float = 0.1,
    least: int = 4,
    similarity: float | str | None = 0.9,
    model: str | None = None,
) -> Attack:
    """Yoo and Qi 2021, "Towards improving adversarial training of NLP models".

    Words in the order of the gradient at them, one pass for all; 20 counter-fitted neighbours of a cosine of at least
    0.8, or what a masked language model expects (`words=masked`, the paper's A2T-MLM); the same part of speech,
    sentence similarity of at least 0.9, at most a tenth of the words or four. Differs: MiniLM stands in for the
    DistilBERT trained on sentence similarity, its threshold kept; a replacement's part of speech comes from WordNet,
    not from tagging every changed text.
    """
    if words not in ("near", "masked"):
        raise SettingError(f"words is near or masked, got {words!r}")
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords(), SamePart(), MaxShare(share=share, up=True, least=least)]
    if floor is not None:
        rules.append(SentenceCosine(floor=floor))
    near: Candidates = NearWords(count=count, floor=cosine)
    return Attack(
        name="a2t",
        candidates=near if words == "near" else MaskedWords(count=count, model=model),
        constraints=tuple(rules),
        search=Greedy(rank=ByGradient(), nearest=floor is not None),
        wants=frozenset({Capability.GRADIENTS}),
        encoder=encoder,
    )


def fd(*, rounds: int = 100, known: bool = True) -> Attack:
    """Papernot et al. 2016, "Crafting adversarial input sequences for recurrent neural networks".

    A word drawn at random is replaced by the WordNet synonym whose difference from it agrees with the gradient in most
    signs, up to 100 times, until the label turns. Differs: the paper draws from the whole vocabulary; synonyms, as
    OpenAttack has them, keep a text readable. Synonyms are those of the original word, not of what came in its place,
    and stop words stay.
    """
    return Attack(
        name="fd",
        candidates=WordNetSynonyms(part="any"),
        constraints=(KeepStopWords(),),
        search=SignWalk(rounds=rounds, known=known),
        wants=frozenset({Capability.GRADIENTS}),
    )


def geometry(*, share: float | None = None) -> Attack:
    """Meng and Wattenhofer 2020, "A geometry-inspired attack for generating natural language adversarial examples".

    The shortest way from the text's vector to the border is found as DeepFool does; word by word the WordNet synonym is
    taken that moves the vector farthest along it, and the way is found anew. Differs: words are ordered once, by what
    an unknown word in their place does, not anew after every replacement; stop words stay; the classifier's own vector
    is read, where OpenAttack takes the mean over the last layer.
    """
    rules: list[Constraint] = [KeepStopWords()]
    if share is not None:
        rules.append(MaxShare(share=share))
    return Attack(
        name="geometry",
        candidates=WordNetSynonyms(part="any"),
        constraints=tuple(rules),
        search=Projection(rank=UnknownWord()),
        wants=frozenset({Capability.EMBEDDINGS}),
    )


def gbda(
    *,
    neighbours: int = 50,
    cosine: float = 0.5,
    rounds: int = 100,
    batch: int = 10,
    samples: int = 100,
    margin: float = 5.0,
    near: float = 2.0,
) -> Attack:
    """Guo et al. 2021, "Gradient-based adversarial attacks against text transformers".

    A distribution over the words of every slot is learnt by gradient descent through Gumbel-softmax, 100 steps of 10
    mixtures, and texts are drawn from it. Differs: a slot's words are its counter-fitted neighbours of the same part of
    speech and not the whole vocabulary, which takes the place of the paper's language model and BERTScore; `near`
    weighs how far a word is from the original one; words of another number of tokens cannot be mixed in.
    """
    return Attack(
        name="gbda",
        candidates=NearWords(count=neighbours, floor=cosine),
        constraints=(KeepStopWords(), SamePart()),
        search=TokenMixture(rounds=rounds, batch=batch, samples=samples, margin=margin, near=near),
        wants=frozenset({Capability.GRADIENTS}),
    )
