"""Recipes that put words for words."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Candidates, Constraint, Fallback
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


def pwws(
    *, fallback: bool = True, unknown: str | None = None, ahead: int = 0, proper: bool = False, peer: bool = False
) -> Attack:
    """Ren et al. 2019, "Generating natural language adversarial examples through probability weighted word saliency".

    WordNet synonyms of the same part of speech; each word's best one is fixed first, then words fall in the order of
    softmax(saliency) x gain, whether a step gains or not. Differs: stop words stay, and named entities are left alone
    where the paper swaps them for other entities. Where this fails, `fallback` tries TextAttack's variant, so that no
    text is spared which that breaks. `unknown` stands in a word's place to learn its saliency; None: the victim's own
    word for unknown ones. `ahead` steps are scored along with one (see search.greedy): faster for few texts at a time,
    at the same outcomes. `proper`: proper nouns have the synonyms of nouns, as in the authors' code; if not, they stay.
    `peer`: TextAttack's variant alone: synonyms of any part of speech, words weighed by the value reached instead of
    gained, all synonyms asked again at every step, and a step must gain.
    """
    papers = WordNetSynonyms(proper=proper), Greedy(rank=Saliency(unknown=unknown), always=True, ahead=ahead)
    peers = WordNetSynonyms(part="any"), Greedy(rank=Saliency(peer=True, unknown=unknown), ahead=ahead)
    candidates, search = peers if peer else papers
    return Attack(
        name="pwws",
        candidates=candidates,
        constraints=(KeepStopWords(),),
        search=search,
        fallback=Fallback(candidates=peers[0], search=peers[1]) if fallback and not peer else None,
    )


def textfooler(
    *,
    neighbours: int = 50,
    cosine: float = 0.5,
    similarity: float | str | None = 0.7,
    least: int = 15,
    among: int | None = 4,
    fallback: bool = True,
    peer: bool = False,
) -> Attack:
    """Jin et al. 2019, "Is BERT really robust?".

    Counter-fitted neighbours (50, cosine 0.5), the same part of speech with nouns and verbs exchangeable, sentence
    similarity against the original for texts of at least 15 words, all as in the authors' code; words by what leaving
    them out does; of the four surest replacements that flip the label (`among`; the authors compare all) the most
    similar one. Where this fails, `fallback` goes through the words once more, in the order of what their replacements
    gain. Differs: the vectors are our own counter-fitting; MiniLM stands in for the Universal Sentence Encoder, its
    threshold of 0.7 kept; the whole text is compared, not a window of 15 words; a replacement's part of speech comes
    from WordNet, not from tagging every changed text. similarity=None switches the encoder off; similarity=use asks the
    Universal Sentence Encoder itself (multilingual v3) for the authors' angle of 0.5, and similarity=mpnet or mpnet:0.8
    a larger encoder.
    `peer`: TextAttack's greedy search: words are ranked by the value alone.
    """
    rules: list[Constraint] = [KeepStopWords(), SamePart(nouns_for_verbs=True)]
    encoder, floor = parse_similarity(similarity)
    if floor is not None:
        rules.append(SentenceCosine(floor=floor, least=least))
    near, nearest = NearWords(count=neighbours, floor=cosine), floor is not None
    orders = (LeaveOneOut(shift=True), LeaveOneOut(), Saliency(peer=True))
    authors, peers, by_gain = (Greedy(rank=r, nearest=nearest, least=least, among=among) for r in orders)
    return Attack(
        name="textfooler",
        candidates=near,
        constraints=tuple(rules),
        search=peers if peer else authors,
        fallback=Fallback(candidates=near, search=by_gain) if fallback and not peer else None,
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
    until: bool = True,
    peer: bool = False,
) -> Attack:
    """Alzantot et al. 2018, "Generating natural language adversarial examples".

    Counter-fitted neighbours (8, squared distance 0.5), population 60, 20 generations, at most 20% of the words.
    With `language_model` the 4 likeliest of the 8 are kept, as in the paper; the transfer studies go without it.
    Differs: the vectors are our own counter-fitting, and SmolLM2 stands in for the 1-billion-word model; a member draws
    slots until one gains, as TextAttack has it, and the share is rounded up (`until`; see search.genetic).
    `peer`: TextAttack's variant: weaker parents are likelier, and children may exceed the share.
    """
    near: Candidates = NearWords(count=neighbours, floor=1 - distance / 2)
    return Attack(
        name="genetic",
        candidates=Likely(of=near, keep=max(1, neighbours // 2)) if language_model else near,
        constraints=(KeepStopWords(),) if peer else (KeepStopWords(), MaxShare(share=share, up=until)),
        search=Genetic(size=size, rounds=rounds, share=share, until=until, peer=peer),
    )


def beam(*, width: int = 8, depth: int = 6, share: float = 0.2) -> Attack:
    """A wider net than PWWS over the same synonyms: beam search, at most 20% of the words. Ours, as a reference."""
    return Attack(
        name="beam",
        candidates=WordNetSynonyms(),
        constraints=(KeepStopWords(), MaxShare(share=share)),
        search=Beam(width=width, depth=depth),
    )
