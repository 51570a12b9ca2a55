"""Character and word flips: the paper H.

HotFlip: white-box adversarial examples for text classification. Javid Ebrahimi, Anyi Rao, Daniel Lowd and Dejing Dou.
ACL 2018.

The paper estimates from one gradient how much each replacement of a character would raise the loss, writes insertions
and deletions as replacements too, and searches with a beam. Training on the best flips makes a model more robust. With
constraints the same estimate replaces words.

- `study.py` (`malaprop study hotflip`), `record.py`: attacks on a model that reads characters, and on the
  models hardened by each method.
- `summary.py`: which attacks the study runs, Figure 1 (success against confidence), section 4 (operations), Table 2
  (training), section 3.3 (speed) and Table 4 (nearest words).
- `training.py`: training on flips, section 4.1.
- The attacks themselves are `malaprop.attacks.recipes`: hotflip-char, hotflip-char-greedy and hotflip-word.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "study hotflip": Command(".study:HotFlip", "Attacks on a model that reads characters, and its hardening."),
    },
    records={
        "hotflip": {
            "record": ".record:HotFlipRecord",
            "section": ".record:SECTION",
            "about": "a HotFlip study",
            "again": "run malaprop study again",
        },
    },
    methods={
        "hotflip": ".training:HotFlipTraining",
    },
)
