"""Hardening BERT with other wordings: the paper F.

FireBERT: hardening BERT-based classifiers against adversarial attack. Gunnar Mein, Kevin Hartman and Andrew Morris.
arXiv 2008.04203, 2020; cited here as Mein et al. 2021.

The paper defends classifiers against TextFooler with other wordings of a text, in which the most important words are
replaced by their neighbours in counter-fitted space. FACT trains on them; FuSE votes over them when a text is
classified; FIVE votes over Gaussian noise on the vectors of the important words instead.

- `switch.py`: SWITCH, the generator of other wordings; also the augmenter `switch`. `important.py` ranks the words.
- `fact.py`, `votes.py` (FuSE, FIVE): the three defences, as a training method and as two wrappers of a victim.
- `neighbourhood.py`: what a victim answers for the neighbours of a word, and for noise around it.

The room has no study of its own: `malaprop study defences` (`malaprop.features.defending`) compares these defences with
others, and its record and report show them.
"""

from malaprop.frame.rooms import Room

ROOM = Room(
    wrappers={
        "fuse": ".votes:Fuse",
        "five": ".votes:Five",
    },
    neighbourhoods={
        "words": ".neighbourhood:look_around",
    },
    methods={
        "fact": ".fact:Fact",
    },
    augmenters={
        "switch": ".switch:read_switched",
    },
)
