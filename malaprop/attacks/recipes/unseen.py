"""Recipes whose changes a reader does not see, or hardly."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.attacks.attack import Attack, Candidates
from malaprop.attacks.candidates.chars import Homoglyphs
from malaprop.attacks.candidates.own import Own
from malaprop.attacks.candidates.union import Union
from malaprop.attacks.candidates.unseen import Deletions, InvisibleCharacters, Reorderings
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.goals.goal import LabelOnly
from malaprop.attacks.ranking.order import UnknownWord
from malaprop.attacks.search.differential import DifferentialEvolution
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.noise import VisualNoise
from malaprop.core.errors import SettingError

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
