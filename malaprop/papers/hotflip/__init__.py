"""HotFlip (Ebrahimi et al. 2018): flips of characters and words, and training on them."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "study hotflip": Command(".study:HotFlip", "Attacks on a model that reads characters, and its hardening."),
    },
    records={
        "hotflip": {
            "record": ".record:HotFlipRecord",
            "section": ".report:SECTION",
            "about": "a HotFlip study",
            "again": "run malaprop study again",
        },
    },
    methods={
        "hotflip": ".training:HotFlipTraining",
    },
)
