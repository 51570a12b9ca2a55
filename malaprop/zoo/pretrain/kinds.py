"""What can be pre-trained, by name."""

from __future__ import annotations

from malaprop.core.catalogue import Catalogue

KINDS = Catalogue(
    "pretraining",
    {
        "elmo": "malaprop.zoo.pretrain.elmo:ElmoPlan",
        "roberta": "malaprop.zoo.pretrain.masked:roberta",
        "albert": "malaprop.zoo.pretrain.masked:albert",
        "mlm-head": "malaprop.zoo.pretrain.heads:HeadPlan",
    },
)
