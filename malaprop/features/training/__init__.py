"""Train or pre-train a model by its name, or all models of the zoo."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "train": Command(".study:Train", "Train a model of the zoo to a folder that --victim takes."),
        "pretrain": Command(".pretrain:Pretrain", "Pre-train a small encoder."),
    },
    python={
        "train": ".study:train",
    },
)
