"""Recipes that replace words."""

from __future__ import annotations

from malaprop.attacks.attack import Attack, Candidates, Constraint, Fallback, Own
from malaprop.attacks.candidates.lookup import NearWords, WordNetSynonyms
from malaprop.attacks.candidates.masked import Likely
from malaprop.attacks.constraints.edits import MaxShare, OncePerSlot
from malaprop.attacks.constraints.language import LikelyInPlace, LikelyNext
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import MeanVector, SamePart
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.goals.goal import Confident, Doubtful, Goal, Kept
from malaprop.attacks.ranking.order import LeaveOneOut, Saliency
from malaprop.attacks.search.bayes import Bayes
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.local import LocalSearch
from malaprop.attacks.search.reduction import Reduction
from malaprop.attacks.search.swarm import Swarm


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


def input_reduction(
    *, width: int = 5, pace: int = 20, share: float = 0.5, stop_words: bool = True, peer: bool = False
) -> Attack:
    """Feng et al. 2018, "Pathologies of neural models make interpretations difficult".

    Words go, the least important first, as long as the victim gives the true label; a beam of five. A success is a text
    that has lost at least half of its words: the victim is sure of what no reader could be. Differs: importance comes
    from leaving each word out, not from gradients, so any victim will do; of a text of more than 20 words several go at
    a step.
    `peer`: TextAttack's variant: places are ranked once, and there is no beam.
    """
    return Attack(
        name="input-reduction",
        candidates=Own(),
        constraints=() if stop_words else (KeepStopWords(),),
        search=Reduction(width=width, pace=pace, share=share, once=peer),
        goal=Kept(),
    )
