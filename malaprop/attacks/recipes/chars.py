"""Recipes that change characters."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.attacks.attack import Attack, Candidates, Constraint, Fallback, Own
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs, Kind
from malaprop.attacks.candidates.combined import Union
from malaprop.attacks.candidates.lookup import Misspellings, NearWords, WordNetSynonyms
from malaprop.attacks.candidates.unseen import Deletions, InvisibleCharacters, Reorderings
from malaprop.attacks.constraints.edits import MaxCharacters, MaxShare, MaxWords
from malaprop.attacks.constraints.positions import KeepStopWords, LongWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.goals.goal import LabelOnly
from malaprop.attacks.ranking.order import LeaveOneOut, Saliency, UnknownWord
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.differential import DifferentialEvolution
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.noise import VisualNoise
from malaprop.core.errors import SettingError


def deepwordbug(*, max_edits: int = 30, stop_words: bool = False, fallback: bool = True) -> Attack:
    """Gao et al. 2018, "Black-box generation of adversarial text sequences to evade deep learning classifiers".

    One random swap, drop, insertion and substitution a word, at most 30 character edits. Differs: words are ranked by
    putting an unknown word in their place, not by the combined head and tail score; of the four edits the one that
    gains most is taken; stop words stay unless `stop_words` lets them change. Where this fails, `fallback` tries again
    with eight edits of each kind.
    """
    kinds: tuple[Kind, ...] = ("swap", "drop", "insert", "substitute")
    search = Greedy(rank=UnknownWord(), fetch="there")
    limits = (MaxCharacters(count=max_edits),)
    return Attack(
        name="deepwordbug",
        candidates=CharEdits(kinds=kinds, each=1),
        constraints=limits if stop_words else (KeepStopWords(), *limits),
        search=search,
        fallback=Fallback(candidates=CharEdits(kinds=kinds, each=8), search=search) if fallback else None,
    )


def typos(*, share: float = 0.5) -> Attack:
    """Misspellings that people have really made (collected by Belinkov and Bisk 2018), in at most half of the words."""
    return Attack(
        name="typos",
        candidates=Misspellings(),
        constraints=(MaxShare(share=share),),
        search=Greedy(rank=UnknownWord()),
    )


def keyboard(*, share: float = 0.5, least: int = 4) -> Attack:
    """One slip to a neighbouring key inside a word of four letters or more, in at most half of the words.

    After the "key" noise of Belinkov and Bisk 2018, but searched for instead of drawn.
    """
    return Attack(
        name="keyboard",
        candidates=CharEdits(kinds=("keyboard",), inner=True),
        constraints=(LongWords(least=least), MaxShare(share=share)),
        search=Greedy(rank=UnknownWord()),
    )


def homoglyph(*, share: float = 0.5) -> Attack:
    """Letters of other alphabets that look the same: one of a word, or all of it (cf. Boucher et al. 2022)."""
    return Attack(
        name="homoglyph",
        candidates=Homoglyphs(),
        constraints=(MaxShare(share=share),),
        search=Greedy(rank=UnknownWord()),
    )


def textbugger(
    *, neighbours: int = 5, similarity: float | str | None = 0.8, stop_words: bool = False, peer: bool = False
) -> Attack:
    """Li et al. 2019, "TextBugger: generating adversarial text against real-world applications".

    Five kinds of bugs: a space inside a word, an inner letter dropped, two inner letters swapped, a letter put for a
    digit that looks like it or for a neighbouring key, and the five nearest words; words in the order of what leaving
    them out does, each takes the bug that lowers the true label most, as long as the sentence stays similar. Differs:
    words of the whole text are ranked at once, not sentence by sentence; stop words stay; the nearest words come from
    counter-fitted vectors, not from GloVe; MiniLM stands in for the Universal Sentence Encoder, whose threshold of 0.8
    is kept. `peer`: TextAttack's variant: look-alike letters of other alphabets at every place, no keys and no digits,
    a bug must gain, and of those that turn the label the most similar text is taken.
    """
    encoder, floor = parse_similarity(similarity)
    drawn: tuple[Kind, ...] = ("space", "drop", "swap")
    bugs = (CharEdits(kinds=drawn, each=1, inner=True), CharEdits(kinds=("digit", "keyboard"), each=1))
    peers = (bugs[0], Homoglyphs(whole=False, most=1))
    rules: list[Constraint] = [] if stop_words else [KeepStopWords()]
    if floor is not None:
        rules.append(SentenceCosine(floor=floor))
    return Attack(
        name="textbugger",
        candidates=Union(of=(*(peers if peer else bugs), NearWords(count=neighbours))),
        constraints=tuple(rules),
        search=Greedy(rank=LeaveOneOut(), always=not peer, nearest=peer and floor is not None, fetch="there"),
        encoder=encoder,
    )


def pruthi(*, words: int = 1, least: int = 4, stop_words: bool = False, peer: bool = False) -> Attack:
    """Pruthi et al. 2019, "Combating adversarial misspellings with robust word recognition".

    One character of one word (or of as many as `words` says): two inner letters swapped, one dropped, one added, or one
    put for a neighbouring key; never the first or the last, and only in words of four letters or more. All of them are
    asked, the best is taken, and the next follows from there. Differs: stop words stay. `peer`: TextAttack's variant:
    one random letter is added at each place, not each of the alphabet, and keys that touch at a corner are neighbours.
    """
    kinds: tuple[Kind, ...] = ("swap", "drop", "insert", "keyboard")
    kept: tuple[Constraint, ...] = () if stop_words else (KeepStopWords(),)
    return Attack(
        name="pruthi",
        candidates=CharEdits(kinds=kinds, inner=True, wide=peer, single=peer),
        constraints=(LongWords(least=least), *kept, MaxWords(count=words)),
        search=Beam(width=1, depth=words),
    )


_KINDS: dict[str, Candidates] = {
    "invisible": InvisibleCharacters(),
    "homoglyphs": Homoglyphs(whole=False),
    "reorderings": Reorderings(),
    "deletions": Deletions(),
}


def bad_characters(
    *,
    kinds: Sequence[str] | str = "invisible,homoglyphs,reorderings,deletions",
    most: int = 5,
    size: int = 32,
    rounds: int = 10,
    greedy: bool = False,
) -> Attack:
    """Boucher et al. 2022, "Bad characters: imperceptible NLP attacks".

    Characters of no width, look-alikes of other alphabets, letters stored in another order than they are drawn in, and
    characters followed by a backspace: at most five in a text, found by differential evolution (population 32, ten
    generations) with one at first, then two, and so on. Differs: a word takes one of them, and the gaps between words
    none; at each place one character drawn by the seed is put before a backspace, not each of 94; it ends when the goal
    is reached. `kinds` are some of invisible, homoglyphs, reorderings, deletions. `greedy`: ours, word by word in the
    order of what an unknown word in its place does; fewer queries, and the same at any seed but for deletions.
    """
    named = kinds.split(",") if isinstance(kinds, str) else kinds
    wanted = tuple(kind.strip() for kind in named)
    if not wanted or any(kind not in _KINDS for kind in wanted):
        raise SettingError(f"kinds takes some of {', '.join(_KINDS)}, got {kinds!r}")
    sources = tuple(_KINDS[kind] for kind in wanted)
    evolution = DifferentialEvolution(most=most, size=size, rounds=rounds)
    return Attack(
        name="bad-characters",
        candidates=sources[0] if len(sources) == 1 else Union(of=sources),
        constraints=(MaxWords(count=most),),
        search=Greedy(rank=UnknownWord()) if greedy else evolution,
    )


def viper(*, share: float = 0.3, draws: int = 120, near: int = 12) -> Attack:
    """Eger et al. 2019, "Text processing like humans do: visually attacking and shielding NLP systems" (VIPER).

    Every letter becomes one that looks much like it with probability 0.3; at most 120 texts are drawn, and the first
    that turns the label is the answer. It sees labels alone. Differs: the neighbours of a letter are derived from
    Unicode's decompositions and from look-alikes of other alphabets, not from images or descriptions of characters;
    the 12 nearest are in the place of its DCES, and `near`=1, an accent alone, of its ECES.
    """
    return Attack(
        name="viper",
        candidates=Own(),
        search=VisualNoise(share=share, draws=draws, near=near),
        goal=LabelOnly(),
    )


def _change_chinese(name: str, kind: Kind, share: float) -> Attack:
    return Attack(
        name=name,
        candidates=CharEdits(kinds=(kind,)),
        constraints=(KeepStopWords(), MaxShare(share=share)),
        search=Greedy(rank=UnknownWord()),
    )


def zh_phonetic(*, share: float = 0.5) -> Attack:
    """Chinese: replace a character of a word by one that sounds like it, in at most half of the words.

    People mistype such characters, as they choose them by their pinyin. Common characters alone are offered. Ours,
    after the homophones of Li et al. 2019's TextBugger in its Chinese versions.
    """
    return _change_chinese("zh-phonetic", "homophone", share)


def zh_glyph(*, share: float = 0.5) -> Attack:
    """Chinese: replace a character of a word by one that looks like it, in at most half of the words.

    Characters look alike that differ in one part, such as 清 and 请, or in a stroke, such as 未 and 末. Ours.
    """
    return _change_chinese("zh-glyph", "homoglyph", share)


def zh_split(*, share: float = 0.5) -> Attack:
    """Chinese: a character of two parts side by side written as these parts, such as 好 as 女子. Ours.

    People write so to evade filters; readers join the parts again. At most half of the words change.
    """
    return _change_chinese("zh-split", "parts", share)


def zh_mixed(*, share: float = 0.5) -> Attack:
    """Chinese: a synonym, or a character that sounds or looks alike, whichever does most; at most half of the words.

    Ours, of the same parts as TextAttack's ChineseRecipe: words fall in the order of softmax(saliency) x gain, as Ren
    et al. 2019 have it. Differs: no masked language model; our lists stand in for HowNet and its tables of characters.
    """
    return Attack(
        name="zh-mixed",
        candidates=Union(of=(WordNetSynonyms(part="any"), CharEdits(kinds=("homophone", "homoglyph")))),
        constraints=(KeepStopWords(), MaxShare(share=share)),
        search=Greedy(rank=Saliency(peer=True)),
    )
