"""What can be pre-trained, by name."""

from __future__ import annotations

from malaprop.core.catalogue import Catalogue

KINDS = Catalogue(
    "pretraining",
    {
        "elmo": "malaprop.models.pretrain.elmo:ElmoPlan",
        "roberta": "malaprop.models.pretrain.masked:roberta",
        "albert": "malaprop.models.pretrain.masked:albert",
        "mlm-head": "malaprop.models.pretrain.heads:HeadPlan",
    },
)
