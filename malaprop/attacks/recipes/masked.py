"""Recipes whose words come from a masked language model."""

from __future__ import annotations

from typing import Literal

from malaprop.attacks.attack import Attack, Candidates, Constraint
from malaprop.attacks.candidates.combined import Union
from malaprop.attacks.candidates.masked import MaskedWords, MergedWords
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.ranking.order import LeaveOneOut, UnknownWord
from malaprop.attacks.search.contextual import Contextual
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.ask import Vocabulary
from malaprop.core.errors import SettingError

_SHORT = 15  # words under which TextAttack and the authors' code of CLARE compare no sentences
_MODES = {"r": ("replace",), "i": ("before", "after"), "r+i": ("replace", "before", "after")}


def bae(
    *,
    mode: Literal["r", "i", "r+i"] = "r",
    count: int = 50,
    similarity: float | str | None = 0.8,
    model: str | None = None,
    peer: bool = False,
) -> Attack:
    """Garg and Ramakrishnan 2020, "BAE: BERT-based adversarial examples for text classification".

    Each word in turn, in the order of what leaving it out does, is masked (`mode` r), or a mask is set beside it (i),
    or both are tried (r+i); of the masked language model's 50 likeliest words that keep the part of speech and the
    sentence's meaning the best is taken. Differs: our own masked language model on MiniLM stands in for BERT-base
    (`model`: another by folder or hub name), MiniLM for the Universal Sentence Encoder, whose threshold of 0.8 is kept;
    the paper's BAE-R/I, which takes one of the two for each word, is not offered apart.
    `peer`: TextAttack's variant: the model reads the text as changed so far, pieces of words count as words, nouns and
    verbs may stand for each other, texts under 15 words are not compared, and the most similar success is taken.
    """
    if mode not in _MODES:
        raise SettingError(f"mode is r, i or r+i, got {mode!r}")
    vocabulary: Vocabulary = "tokens" if peer else "words"
    sources = tuple(
        MaskedWords(count=count, place=place, model=model, vocabulary=vocabulary)  # type: ignore[arg-type]
        for place in _MODES[mode]
    )
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords()]
    least = _SHORT if peer else 0
    if mode == "r":
        rules.append(SamePart(nouns_for_verbs=peer))
    if floor is not None:
        rules.append(SentenceCosine(floor=floor, least=least))
    candidates: Candidates = sources[0] if len(sources) == 1 else Union(of=sources)
    nearest = peer and floor is not None
    return Attack(
        name="bae",
        candidates=candidates,
        constraints=tuple(rules),
        search=Greedy(rank=LeaveOneOut(), fetch="anew" if peer else "there", nearest=nearest, least=least),
        encoder=encoder,
    )


def bert_attack(
    *,
    count: int = 48,
    share: float = 0.4,
    similarity: float | str | None = 0.2,
    model: str | None = None,
    peer: bool = False,
) -> Attack:
    """Li et al. 2020, "BERT-ATTACK: adversarial attack against BERT using BERT".

    The masked language model reads the text as it is and offers 48 words for each place; for a word that it cuts into
    pieces, words put together of the likeliest pieces. Words fall in the order of what an unknown word in their place
    does, at most 40% of them. Differs: the words of pieces begin with the beginning of a word and are ranked by the
    mean of their pieces' logarithms, read once; our own masked language model on MiniLM stands in for BERT-base, and
    MiniLM for the Universal Sentence Encoder, whose threshold of 0.2 is kept.
    `peer`: TextAttack's variant: the model reads the text as changed so far; of its likeliest tokens those that are
    words, and of words in pieces the first combinations, ranked or not; the most similar success is taken.
    """
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords(), MaxShare(share=share, up=peer)]
    if floor is not None:
        rules.append(SentenceCosine(floor=floor))
    nearest = peer and floor is not None
    return Attack(
        name="bert-attack",
        candidates=MaskedWords(count=count, hidden=False, model=model, vocabulary="top" if peer else "pieces"),
        constraints=tuple(rules),
        search=Greedy(rank=UnknownWord(), fetch="anew" if peer else "there", nearest=nearest),
        encoder=encoder,
    )


def clare(
    *,
    count: int = 50,
    similarity: float | str | None = 0.7,
    least: float = 5e-4,
    least_merged: float = 5e-3,
    model: str | None = None,
    peer: bool = False,
) -> Attack:
    """Li et al. 2021, "Contextualized perturbation for textual adversarial attack" (CLARE).

    A word is masked and replaced, a mask is set before a word, or two neighbours become one mask; what the masked
    language model finds likely enough (`least`, `least_merged`) and leaves the text similar is a move. The
    best move of each place is kept, and they are made in the order of what they gain until the label turns. Differs:
    our own masked language model on MiniLM stands in for DistilRoBERTa, MiniLM for the Universal Sentence Encoder,
    whose threshold of 0.7 is kept for texts of at least 15 words; at most 50 words a move.
    `peer`: TextAttack's variant: after each move all are asked again, in the text as it is by then, and the best of all
    is made.
    """
    vocabulary: Vocabulary = "tokens" if peer else "words"
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords()]
    if floor is not None:
        rules.append(SentenceCosine(floor=floor, least=_SHORT))
    sources = (
        MaskedWords(count=count, least=least, model=model, vocabulary=vocabulary),
        MaskedWords(count=count, place="before", model=model, vocabulary=vocabulary),
    )
    merge = MergedWords(count=count, least=least_merged, model=model, vocabulary=vocabulary)
    return Attack(
        name="clare",
        candidates=Union(of=sources),
        constraints=tuple(rules),
        search=Contextual(merge=merge, anew=peer),
        encoder=encoder,
    )
