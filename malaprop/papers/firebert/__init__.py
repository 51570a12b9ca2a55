"""FireBERT (Mein et al. 2021): SWITCH, FuSE, FIVE and FACT."""

from malaprop.frame.rooms import Room

ROOM = Room(
    wrappers={
        "fuse": ".fuse:Fuse",
        "five": ".five:Five",
    },
    neighbourhoods={
        "words": ".neighbourhood:look_around",
    },
    methods={
        "fact": ".fact:Fact",
    },
    augmenters={
        "switch": ".augment:read_switched",
    },
)
