"""Train or pre-train a model by its name, or all models of the zoo.

- `study.py` (`malaprop train`, `mp.train`) trains one model; other rooms register further kinds of models.
- `zoo_study.py` is `malaprop train all63`: it trains every model of the zoo and tabulates their accuracies.
- `pretrain.py` (`malaprop pretrain`) pre-trains the small encoders that the zoo uses without a model hub.
"""

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
