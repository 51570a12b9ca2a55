"""Input reduction: how much of a text a victim does not need."""

from __future__ import annotations

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.own import Own
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.goals.kept import Kept
from malaprop.attacks.search.reduction import Reduction


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
